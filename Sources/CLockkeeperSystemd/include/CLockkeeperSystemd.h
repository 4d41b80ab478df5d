/* The service manager's library, opened when it is first needed.
 *
 * Linking libsystemd would cost every helper 0.75 ms at start, for something that only a service
 * uses. Without a service manager (NOTIFY_SOCKET or JOURNAL_STREAM not set) nothing is opened at
 * all. */
#ifndef CLOCKKEEPER_SYSTEMD_H
#define CLOCKKEEPER_SYSTEMD_H

#include <stddef.h>

/* Calls sd_notify(3) with newline-separated assignments.
 * Returns a positive number when the service manager was told, 0 when there is none or its library
 * is not installed, and a negative errno otherwise. */
int lk_sd_notify(const char *state);

/* Whether a descriptor is the stream that the manager led to the journal: what JOURNAL_STREAM says
 * of it, systemd.exec(5). */
int lk_sd_is_journal(int descriptor);

/* Calls sd_journal_sendv(3) with at most 16 fields, each "NAME=value". They lie one behind the other.
 * Returns a positive number when they were sent, 0 when the library is not installed, and a negative
 * errno otherwise. */
int lk_sd_journal_send(const char *fields, const size_t *sizes, int count);

#endif
