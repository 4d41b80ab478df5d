#include "CLockkeeperSystemd.h"

#define SD_JOURNAL_SUPPRESS_LOCATION
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>

enum { FIELD_COUNT_MAX = 16 };

/* The headers give the prototypes; the symbols themselves are never linked. */
static __typeof__(&sd_notify) notify_function;
static __typeof__(&sd_journal_sendv) journal_function;
static pthread_once_t library_once = PTHREAD_ONCE_INIT;

static void open_library(void) {
    /* Kept open for the life of the process: the functions may be called at any time. */
    void *library = dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library != NULL) {
        *(void **)&notify_function = dlsym(library, "sd_notify");
        *(void **)&journal_function = dlsym(library, "sd_journal_sendv");
    }
}

int lk_sd_notify(const char *state) {
    if (getenv("NOTIFY_SOCKET") == NULL) {
        return 0;
    }
    pthread_once(&library_once, open_library);
    return notify_function != NULL ? notify_function(0, state) : 0;
}

int lk_sd_is_journal(int descriptor) {
    const char *stream = getenv("JOURNAL_STREAM");
    unsigned long long device, inode;
    struct stat status;
    return stream != NULL && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
           fstat(descriptor, &status) == 0 && status.st_dev == device && status.st_ino == inode;
}

int lk_sd_journal_send(const char *fields, const size_t *sizes, int count) {
    struct iovec parts[FIELD_COUNT_MAX];
    if (count > FIELD_COUNT_MAX) {
        return -E2BIG;
    }
    pthread_once(&library_once, open_library);
    if (journal_function == NULL) {
        return 0;
    }
    for (int i = 0; i < count; i++) {
        parts[i] = (struct iovec){.iov_base = (void *)fields, .iov_len = sizes[i]};
        fields += sizes[i];
    }
    int result = journal_function(parts, count);
    return result < 0 ? result : 1;
}
