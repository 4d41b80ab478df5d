#define _GNU_SOURCE
#include "CLockkeeperPlatform.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

/*
 * The table holds descriptor + 1, so that zero-initialised memory is an empty table.
 *
 * Lock rule: `table_mutex` covers open + enter and remove + close. The fork handlers hold it
 * around fork, so that no fork can fall between the two halves and leave the child with a
 * description that the table does not know. Nothing else is taken while it is held. The entries
 * are atomic all the same: the child reads them in a handler where only async-signal-safe code
 * may run.
 */
static pthread_mutex_t table_mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int table[LK_LOCK_DESCRIPTOR_COUNT_MAX];
static atomic_uint fork_count;
static pthread_once_t handlers_once = PTHREAD_ONCE_INIT;
static int handlers_error;

static void before_fork(void) { pthread_mutex_lock(&table_mutex); }

static void after_fork_in_parent(void) { pthread_mutex_unlock(&table_mutex); }

static void after_fork_in_child(void) {
    int saved_errno = errno;
    atomic_fetch_add(&fork_count, 1);
    for (int slot = 0; slot < LK_LOCK_DESCRIPTOR_COUNT_MAX; slot++) {
        int entry = atomic_exchange(&table[slot], 0);
        if (entry != 0) close(entry - 1);
    }
    errno = saved_errno;
    pthread_mutex_unlock(&table_mutex);
}

static void install_handlers(void) {
    handlers_error = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

static int free_slot(void) {
    for (int slot = 0; slot < LK_LOCK_DESCRIPTOR_COUNT_MAX; slot++) {
        if (atomic_load(&table[slot]) == 0) return slot;
    }
    return -1;
}

int lk_lock_descriptor_open(const char *path, int flags, mode_t mode) {
    pthread_once(&handlers_once, install_handlers);
    if (handlers_error != 0) {
        errno = handlers_error;
        return -1;
    }
    pthread_mutex_lock(&table_mutex);
    int descriptor = -1;
    int slot = free_slot();
    if (slot == -1) {
        errno = EMFILE;
    } else {
        descriptor = open(path, flags, mode);
        if (descriptor != -1) atomic_store(&table[slot], descriptor + 1);
    }
    pthread_mutex_unlock(&table_mutex);
    return descriptor;
}

int lk_lock_descriptor_close(int descriptor) {
    pthread_mutex_lock(&table_mutex);
    for (int slot = 0; slot < LK_LOCK_DESCRIPTOR_COUNT_MAX; slot++) {
        int expected = descriptor + 1;
        if (atomic_compare_exchange_strong(&table[slot], &expected, 0)) break;
    }
    int result = close(descriptor);
    int saved_errno = errno;
    pthread_mutex_unlock(&table_mutex);
    errno = saved_errno;
    return result;
}

uint32_t lk_fork_count(void) { return atomic_load_explicit(&fork_count, memory_order_relaxed); }

pid_t lk_fork_sleeping_child(void) {
    pid_t child = fork();
    if (child != 0) return child;
    for (;;) pause();
}

pid_t lk_fork_calling(int (*body)(void *), void *context) {
    pid_t child = fork();
    if (child != 0) return child;
    _exit(body(context));
}
