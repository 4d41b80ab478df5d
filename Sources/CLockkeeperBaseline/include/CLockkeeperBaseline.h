#ifndef CLOCKKEEPER_BASELINE_H
#define CLOCKKEEPER_BASELINE_H

/*
 * What a careful engineer writes without Lockkeeper: SQLite in plain C with WAL, synchronous=FULL,
 * busy_timeout, BEGIN IMMEDIATE and prepared statements, on the product's own tables. The benchmark
 * measures Lockkeeper against it.
 *
 * A writer belongs to one thread. Functions that can fail return a SQLite code.
 */

#include <stdint.h>

/* What it costs at the least to tell another process. */
#include "CLockkeeperHops.h"
/* What a page of a conversation costs at the least. */
#include "CLockkeeperPages.h"

typedef struct lk_baseline lk_baseline;

/* Makes a database. `schema` is the SQL of the product's tables; `vfs` may be NULL. */
int lk_baseline_create(const char *path, const char *vfs, const char *schema);

/* Opens a writer of a database that is there; NULL where that fails, with the code in `code`.
 *
 * writer    its number: part of every id that it writes
 * durable   whether each commit is synced: synchronous=FULL, else NORMAL
 * effects   whether each message also gets the row by which somebody is told of it */
lk_baseline *lk_baseline_open(const char *path, const char *vfs, int busy_timeout_ms, int writer,
                              int durable, int effects, int *code);

/* Writes the next `count` messages in one transaction that lasts `hold_us` longer than it
 * needs. SQLITE_BUSY where the busy timeout was over first; nothing was written then, and the same
 * messages come with the next call. */
int lk_baseline_write(lk_baseline *writer, int count, uint32_t hold_us);

/* The messages in the database; -1 where they cannot be counted. */
int64_t lk_baseline_count(const char *path, const char *vfs);

void lk_baseline_close(lk_baseline *writer);

/* The shape of the traffic, which Lockkeeper's side shares. */
enum { LK_BASELINE_CONVERSATIONS = 10, LK_BASELINE_BODY_BYTES = 200 };

#endif
