#define _GNU_SOURCE
#include "CLockkeeperPlatform.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

int lk_open(const char *path, int flags, mode_t mode) { return open(path, flags, mode); }

int lk_exchange(const char *first, const char *second) {
    return renameat2(AT_FDCWD, first, AT_FDCWD, second, RENAME_EXCHANGE);
}

/* One byte of the file; l_pid must be 0 for the open-file-description commands. */
static struct flock byte_lock(short type, int64_t byte) {
    struct flock lock;
    memset(&lock, 0, sizeof lock);
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = byte;
    lock.l_len = 1;
    return lock;
}

int lk_ofd_set_lock(int descriptor, short type, int64_t byte, int waits) {
    struct flock lock = byte_lock(type, byte);
    return fcntl(descriptor, waits ? F_OFD_SETLKW : F_OFD_SETLK, &lock);
}

int lk_ofd_get_lock(int descriptor, short type, int64_t byte) {
    struct flock lock = byte_lock(type, byte);
    if (fcntl(descriptor, F_OFD_GETLK, &lock) == -1) return -1;
    return lock.l_type != F_UNLCK;
}

int lk_set_nonblocking(int descriptor) {
    int flags = fcntl(descriptor, F_GETFL);
    if (flags == -1) return -1;
    return fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
}

int lk_filesystem_magic(const char *path, uint32_t *magic) {
    struct statfs status;
    if (statfs(path, &status) == -1) return -1;
    *magic = (uint32_t)status.f_type;
    return 0;
}

int lk_accept4(int listener, int flags) { return accept4(listener, NULL, NULL, flags); }

int lk_pipe2(int descriptors[2], int flags) { return pipe2(descriptors, flags); }

int lk_eventfd(unsigned int count, int flags) { return eventfd(count, flags); }

int lk_ppoll(struct pollfd *entries, size_t count, int64_t timeout_ns) {
    if (timeout_ns < 0) return ppoll(entries, count, NULL, NULL);
    struct timespec timeout = {timeout_ns / 1000000000, timeout_ns % 1000000000};
    return ppoll(entries, count, &timeout, NULL);
}

int lk_peer_credentials(int socket, pid_t *pid, uid_t *uid, gid_t *gid) {
    struct ucred credentials;
    socklen_t length = sizeof credentials;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == -1) return -1;
    *pid = credentials.pid;
    *uid = credentials.uid;
    *gid = credentials.gid;
    return 0;
}

int lk_socket_cloexec(void) { return SOCK_CLOEXEC; }
int lk_socket_nonblock(void) { return SOCK_NONBLOCK; }

int lk_set_thread_name(const char *name) {
    char kept[16];
    strncpy(kept, name, sizeof kept - 1);
    kept[sizeof kept - 1] = 0;
    return pthread_setname_np(pthread_self(), kept);
}

int lk_wait_exit_code(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }
int lk_wait_signal(int status) { return WIFSIGNALED(status) ? WTERMSIG(status) : -1; }

char **lk_environ(void) { return environ; }
