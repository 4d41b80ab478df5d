#ifndef CLOCKKEEPER_PAGES_H
#define CLOCKKEEPER_PAGES_H

/*
 * What a page of a conversation, or of the list of conversations, costs at the least: the same rows of
 * the same file, by the same index, with a prepared statement in plain C. The benchmark measures
 * Lockkeeper's pages against it.
 *
 * A reader belongs to one thread. It only reads, and leaves the file's log as it is when it closes.
 */

#include <stdint.h>

typedef struct lk_pages lk_pages;

/* Opens a reader of a store's database; NULL where that fails, with the SQLite code in `code`. */
lk_pages *lk_pages_open(const char *path, int *code);

/* Reads the `limit` messages of a conversation that stand before a place, newest first, and adds up
 * what they hold in `sum`, as a caller that looks at each of them would.
 *
 * Returns how many there were, or a negative SQLite code. */
int lk_pages_read(lk_pages *pages, const char *conversation, int64_t before, int limit,
                  int64_t *sum);

/* Reads the `limit` conversations whose last message came before an instant in milliseconds, newest
 * first, with that message, as lk_pages_read does. None of them is pinned. */
int lk_pages_list(lk_pages *pages, int64_t before, int limit, int64_t *sum);

void lk_pages_close(lk_pages *pages);

#endif
