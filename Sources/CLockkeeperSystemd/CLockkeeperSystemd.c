#include "CLockkeeperSystemd.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <systemd/sd-daemon.h>

/* The header gives the prototype; the symbol itself is never linked. */
static __typeof__(&sd_notify) notify_function;
static pthread_once_t notify_once = PTHREAD_ONCE_INIT;

static void find_notify_function(void) {
    /* Kept open for the life of the process: the function may be called at any time. */
    void *library = dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library != NULL) {
        *(void **)&notify_function = dlsym(library, "sd_notify");
    }
}

int lk_sd_notify(const char *state) {
    if (getenv("NOTIFY_SOCKET") == NULL) {
        return 0;
    }
    pthread_once(&notify_once, find_notify_function);
    return notify_function != NULL ? notify_function(0, state) : 0;
}
