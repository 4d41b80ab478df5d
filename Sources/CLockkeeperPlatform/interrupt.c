#define _GNU_SOURCE
#include "CLockkeeperPlatform.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

static pthread_once_t choice_once = PTHREAD_ONCE_INIT;
static int chosen_signal;

static void do_nothing(int signal) { (void)signal; }

/* Whether nobody else has a use for a signal. One that is ignored may be made one that does
   nothing: the program sees no difference. */
static int is_free(int signal) {
    struct sigaction action;
    if (sigaction(signal, NULL, &action) == -1 || (action.sa_flags & SA_SIGINFO)) return 0;
    return action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN ||
           action.sa_handler == do_nothing;
}

static void choose_signal(void) {
    if (is_free(SIGURG)) {
        chosen_signal = SIGURG;
        return;
    }
    for (int signal = SIGRTMAX; signal >= SIGRTMIN; signal--) {
        if (is_free(signal)) {
            chosen_signal = signal;
            return;
        }
    }
}

static int interruption_signal(void) {
    pthread_once(&choice_once, choose_signal);
    return chosen_signal;
}

void lk_allow_interruption(void) {
    int signal = interruption_signal();
    if (signal == 0) return;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

int lk_interrupt_thread(pthread_t thread) {
    int signal = interruption_signal();
    /* Asked each time: the program may have taken the signal since, or reset it. */
    if (signal == 0 || !is_free(signal)) return EBUSY;
    struct sigaction action = {.sa_handler = do_nothing};
    sigemptyset(&action.sa_mask);
    /* Without SA_RESTART: the call is to end. */
    if (sigaction(signal, &action, NULL) == -1) return errno;
    return pthread_kill(thread, signal);
}
