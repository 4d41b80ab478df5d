#ifndef CLOCKKEEPER_HOPS_H
#define CLOCKKEEPER_HOPS_H

/*
 * The least that telling another process of a commit can cost: a writer commits one row in plain C
 * and sends a few bytes to a hub, the hub sends them on to a reader, the reader reads the row. Three
 * processes, two socket hops. The benchmark measures Lockkeeper's notices against it.
 *
 * Functions that can fail return 0, or a SQLite code, or a negative errno.
 */

#include <stdint.h>

typedef struct lk_hops lk_hops;

/* Listens at a path; a descriptor, or a negative errno. */
int lk_hops_listen(const char *socket_path);

/* Is the hub: takes two connections, first the reader's, then the writer's, and sends on what the
 * writer sends until it closes. */
int lk_hops_serve(int listener);

/* Makes the database with the table that the rows go into. */
int lk_hops_create(const char *database_path);

/* Connects to the hub and opens the database; NULL where that fails, with the code in `code`. */
lk_hops *lk_hops_open(const char *database_path, const char *socket_path, int *code);

/* Is the writer: commits `count` rows, each after a rest of 1 to 2 ms, and tells the hub. `sent` gets
 * the CLOCK_MONOTONIC nanoseconds at which each COMMIT had returned. */
int lk_hops_write(lk_hops *hops, int count, int64_t *sent);

/* Is the reader: `seen` gets the nanoseconds at which each of `count` rows was read. */
int lk_hops_read(lk_hops *hops, int count, int64_t *seen);

void lk_hops_close(lk_hops *hops);

/* What is written: a row of the size of a short message. */
#define LK_HOPS_TABLE "CREATE TABLE tick (id INTEGER PRIMARY KEY, body BLOB)"
#define LK_HOPS_INSERT "INSERT INTO tick (body) VALUES (zeroblob(200))"
#define LK_HOPS_SELECT "SELECT id FROM tick WHERE id > ?1"

#endif
