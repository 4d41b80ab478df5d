#include "CLockkeeperPages.h"

#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

struct lk_pages {
  sqlite3 *db;
  sqlite3_stmt *conversation;
  sqlite3_stmt *page;
  sqlite3_stmt *list;
};

static const char find_conversation[] =
    "SELECT id FROM lk_conversation WHERE conversation_id = ?1";

/* The columns that a list shows. */
static const char read_page[] =
    "SELECT message_id, seq, sender, sent_at, body, kind, incoming, state, edited_at FROM lk_message"
    " WHERE conversation = ?1 AND (place, message_id) < (?2, '') AND state IN (1, 2)"
    " ORDER BY place DESC, message_id DESC LIMIT ?3";

/* The columns that a list of conversations shows; none is pinned. */
static const char read_list[] =
    "SELECT c.conversation_id, c.id, c.read_seq, c.unread, c.unread_mentions, c.clear_seq, c.top_seq,"
    " c.title, c.kind, c.muted, c.pinned, c.archived, c.marked_unread, c.parent, c.last_at,"
    " c.last_preview, c.last_is_cut, m.message_id, m.seq, m.sender, m.sent_at, m.server_at, m.version,"
    " m.recall_version, m.kind, m.incoming, m.state, m.edited_at, m.expires_at,"
    " typeof(m.attachments) <> 'null'"
    " FROM lk_conversation c LEFT JOIN lk_message m ON m.id = c.last_message"
    " WHERE ifnull(c.pinned, 0) = 0 AND c.last_at < ?1"
    " AND (c.clear_seq IS NULL OR c.last_message IS NOT NULL)"
    " ORDER BY c.last_at DESC, c.conversation_id LIMIT ?2";

lk_pages *lk_pages_open(const char *path, int *code) {
  lk_pages *opened = calloc(1, sizeof *opened);
  *code = SQLITE_NOMEM;
  if (!opened) return NULL;
  *code = sqlite3_open_v2(path, &opened->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
  if (*code == SQLITE_OK)
    *code = sqlite3_db_config(opened->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
  if (*code == SQLITE_OK) *code = sqlite3_exec(opened->db, "PRAGMA query_only=1", NULL, NULL, NULL);
  if (*code == SQLITE_OK)
    *code = sqlite3_prepare_v3(opened->db, find_conversation, -1, SQLITE_PREPARE_PERSISTENT,
                               &opened->conversation, NULL);
  if (*code == SQLITE_OK)
    *code = sqlite3_prepare_v3(opened->db, read_page, -1, SQLITE_PREPARE_PERSISTENT, &opened->page,
                               NULL);
  if (*code == SQLITE_OK)
    *code = sqlite3_prepare_v3(opened->db, read_list, -1, SQLITE_PREPARE_PERSISTENT, &opened->list,
                               NULL);
  if (*code == SQLITE_OK) return opened;
  lk_pages_close(opened);
  return NULL;
}

void lk_pages_close(lk_pages *pages) {
  sqlite3_finalize(pages->conversation);
  sqlite3_finalize(pages->page);
  sqlite3_finalize(pages->list);
  sqlite3_close(pages->db);
  free(pages);
}

/* Adds up the row's numbers and the bytes of its texts. */
static int64_t look_at(sqlite3_stmt *row) {
  int64_t sum = 0;
  int count = sqlite3_column_count(row);
  for (int i = 0; i < count; i++) {
    if (sqlite3_column_type(row, i) != SQLITE_TEXT) {
      sum += sqlite3_column_int64(row, i);
      continue;
    }
    const unsigned char *text = sqlite3_column_text(row, i);
    int length = sqlite3_column_bytes(row, i);
    for (int k = 0; k < length; k++) sum += text[k];
  }
  return sum;
}

/* Reads a statement's rows to their end; how many there were, or a negative SQLite code. */
static int read_rows(sqlite3_stmt *rows, int64_t *sum) {
  int code, count = 0;
  while ((code = sqlite3_step(rows)) == SQLITE_ROW) {
    *sum += look_at(rows);
    count++;
  }
  sqlite3_reset(rows);
  return code == SQLITE_DONE ? count : -code;
}

int lk_pages_read(lk_pages *pages, const char *conversation, int64_t before, int limit,
                  int64_t *sum) {
  sqlite3_stmt *find = pages->conversation, *page = pages->page;
  sqlite3_bind_text(find, 1, conversation, -1, SQLITE_STATIC);
  int code = sqlite3_step(find);
  sqlite3_int64 id = code == SQLITE_ROW ? sqlite3_column_int64(find, 0) : 0;
  sqlite3_reset(find);
  if (code != SQLITE_ROW) return code == SQLITE_DONE ? 0 : -code;
  sqlite3_bind_int64(page, 1, id);
  sqlite3_bind_int64(page, 2, before);
  sqlite3_bind_int(page, 3, limit);
  return read_rows(page, sum);
}

int lk_pages_list(lk_pages *pages, int64_t before, int limit, int64_t *sum) {
  sqlite3_bind_int64(pages->list, 1, before);
  sqlite3_bind_int(pages->list, 2, limit);
  return read_rows(pages->list, sum);
}
