/* The Secret Service of the user's session, through libsecret: what Swift cannot see of it.
 *
 * Only a build with the package trait SecretService contains libsecret; without it each call answers
 * LK_SECRET_UNAVAILABLE. Nothing here ever asks a person: what is locked is reported as locked. The
 * calls block on D-Bus and may be made from any thread. */
#ifndef CLOCKKEEPER_SECRET_H
#define CLOCKKEEPER_SECRET_H

#include <stddef.h>
#include <stdint.h>

typedef enum {
    LK_SECRET_OK = 0,
    LK_SECRET_MISSING = 1,
    /* The item is locked, or may be: while the default collection is, nothing found says nothing. */
    LK_SECRET_LOCKED = 2,
    LK_SECRET_DENIED = 3,
    /* No session bus, no service, no collection to store in, or no libsecret in this build. */
    LK_SECRET_UNAVAILABLE = 4,
    LK_SECRET_FAILED = 5,
} lk_secret_result;

/* Bytes that are overwritten when they are freed with lk_secret_free. */
typedef struct {
    uint8_t *bytes;
    size_t count;
} lk_secret_bytes;

/* Looks for the item of a service and account. Reads nothing of the secret: whether it is there, and
 * whether it is locked. */
lk_secret_result lk_secret_find(const char *service, const char *account);

/* Stores an item in the default collection, in the place of the one that is there. */
lk_secret_result lk_secret_store(const char *service, const char *account, const char *label,
                                 const uint8_t *bytes, size_t count);

/* Reads an item. */
lk_secret_result lk_secret_load(const char *service, const char *account, lk_secret_bytes *into);

/* Removes an item. */
lk_secret_result lk_secret_delete(const char *service, const char *account);

/* Calls back with the service of each item of an account; of none while the collection is locked. */
lk_secret_result lk_secret_list(const char *account, void *context,
                                void (*visit)(void *context, const char *service));

void lk_secret_free(lk_secret_bytes *bytes);

#endif
