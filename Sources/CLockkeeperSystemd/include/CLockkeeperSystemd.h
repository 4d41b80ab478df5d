/* The service manager's library, opened when it is first needed.
 *
 * Linking libsystemd would cost every helper 0.75 ms at start, for something that only a service
 * uses. Without a service manager (NOTIFY_SOCKET not set) nothing is opened at all. */
#ifndef CLOCKKEEPER_SYSTEMD_H
#define CLOCKKEEPER_SYSTEMD_H

/* Calls sd_notify(3) with newline-separated assignments.
 * Returns a positive number when the service manager was told, 0 when there is none or its library
 * is not installed, and a negative errno otherwise. */
int lk_sd_notify(const char *state);

#endif
