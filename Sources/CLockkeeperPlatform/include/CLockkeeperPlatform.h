#ifndef CLOCKKEEPER_PLATFORM_H
#define CLOCKKEEPER_PLATFORM_H

/*
 * What Swift cannot see of the kernel's interface: variadic functions, function-like macros, and
 * what glibc declares only under _GNU_SOURCE. No logic, except for the fork handler in `fork.c`,
 * which must be C because a forked child may run nothing else before it execs.
 *
 * Every function that can fail returns -1 and sets errno, like the call that it stands for.
 */

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

struct pollfd;

/* open(2), whose mode argument is variadic. */
int lk_open(const char *path, int flags, mode_t mode);

/* renameat2(2) with RENAME_EXCHANGE. */
int lk_exchange(const char *first, const char *second);

/* fcntl(2) F_OFD_SETLK, or F_OFD_SETLKW where `waits`; `type` is F_RDLCK, F_WRLCK or F_UNLCK. */
int lk_ofd_set_lock(int descriptor, short type, int64_t byte, int waits);

/* fcntl(2) F_OFD_GETLK: 1 where another description's lock stands in the way, 0 where none does. */
int lk_ofd_get_lock(int descriptor, short type, int64_t byte);

/* fcntl(2) F_SETFL with O_NONBLOCK added. */
int lk_set_nonblocking(int descriptor);

/* statfs(2): the magic number of the file system that holds `path`. */
int lk_filesystem_magic(const char *path, uint32_t *magic);

int lk_accept4(int listener, int flags);
int lk_pipe2(int descriptors[2], int flags);
int lk_eventfd(unsigned int count, int flags);
int lk_ppoll(struct pollfd *entries, size_t count, int64_t timeout_ns);
int lk_peer_credentials(int socket, pid_t *pid, uid_t *uid, gid_t *gid);
int lk_socket_cloexec(void);
int lk_socket_nonblock(void);

/* pthread_setname_np(3) of the calling thread; at most 15 bytes are kept. Returns an errno. */
int lk_set_thread_name(const char *name);

/*
 * Ending another thread's wait for a file lock.
 *
 * Nothing but a handled signal ends F_OFD_SETLKW. The signal is SIGURG, for the reasons for which
 * the Go runtime preempts with it (golang.org/design/24543-non-cooperative-preemption): it is
 * ignored by default, so that one too many harms nobody; debuggers pass it on; the C library has
 * no use for it. Where the program handles it itself, the highest real-time signal is taken that
 * the program does not handle. A handler that does nothing is installed when the first thread is
 * interrupted, and stays. It is the only disposition that this package ever changes.
 */

/* Lets the calling thread be interrupted: unblocks the signal in it. */
void lk_allow_interruption(void);

/*
 * Interrupts a thread: its blocking call, if it is in one, fails with EINTR. Where it is about to
 * enter one, the interruption is lost: repeat it until the thread has answered. Returns an errno;
 * EBUSY where the program has taken the signal for itself.
 */
int lk_interrupt_thread(pthread_t thread);

/* The wait status macros of waitpid(2): exit code or -1, signal number or -1. */
int lk_wait_exit_code(int status);
int lk_wait_signal(int status);

/* environ(7), which Swift 6 refuses as a mutable global. */
char **lk_environ(void);

/*
 * Lock descriptors and fork (I-12).
 *
 * An open-file-description lock lives as long as any descriptor of its description, and fork(2)
 * gives the child one. A child that outlives a killed parent would keep the parent's locks. So
 * every lock descriptor stands in a fixed table, and a pthread_atfork child handler closes them.
 */

/* The largest number of lock descriptors that one process can have open. */
#define LK_LOCK_DESCRIPTOR_COUNT_MAX 4096

/* Opens a lock file and enters the descriptor in the table; EMFILE where the table is full. */
int lk_lock_descriptor_open(const char *path, int flags, mode_t mode);

/* Takes the descriptor out of the table and closes it. */
int lk_lock_descriptor_close(int descriptor);

/* How many forks lie between this process and the one that was started by exec. */
uint32_t lk_fork_count(void);

/*
 * For tests, because Swift refuses fork(2): forks a child that sleeps until it is killed, and
 * returns its pid. The child runs only async-signal-safe code.
 */
pid_t lk_fork_sleeping_child(void);

/*
 * For tests: forks a child that calls `body` and exits with what it returns. Only for a program
 * whose other threads hold no lock at this moment that `body` needs.
 */
pid_t lk_fork_calling(int (*body)(void *), void *context);

#endif
