#include "CLockkeeperBaseline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sqlite3.h>

enum { BEGIN, COMMIT, ROLLBACK, CONVERSATION, MESSAGE, EFFECT, SUMMARY, STATEMENT_COUNT };

static const char *const sql[STATEMENT_COUNT] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [ROLLBACK] = "ROLLBACK",
    [CONVERSATION] = "INSERT INTO lk_conversation (conversation_id) VALUES (?1)"
                     " ON CONFLICT (conversation_id) DO UPDATE SET conversation_id = conversation_id"
                     " RETURNING id",
    [MESSAGE] = "INSERT INTO lk_message (conversation, message_id, state, version, seq, sender,"
                " sent_at, body) VALUES (?1, ?2, 1, 1, ?3, ?4, ?5, ?6)"
                " ON CONFLICT (conversation, message_id) DO NOTHING",
    /* The product decides once per message that comes in whether somebody is to be told of it (M-11),
     * and that decision is a row. What it writes for search is not here: its index is behind the
     * commits, and not in them. */
    [EFFECT] = "INSERT INTO lk_effect (message) VALUES (?1) ON CONFLICT DO NOTHING",
    [SUMMARY] = "UPDATE lk_conversation SET last_message = ?2, last_place = ?3, last_at = ?4,"
                " top_seq = ?3 WHERE id = ?1 AND ifnull(last_place, 0) < ?3",
};

struct lk_baseline {
  sqlite3 *db;
  sqlite3_stmt *statements[STATEMENT_COUNT];
  int writer;
  int effects;
  int64_t seq;
  char body[LK_BASELINE_BODY_BYTES];
};

/* A conversation as a batch knows it. */
typedef struct touched {
  sqlite3_int64 id;
  sqlite3_int64 message;
  int64_t seq;
} touched;

/* When a message says that it was sent: a second apart, in November 2026. */
static sqlite3_int64 sent_at(int64_t seq) { return 1796000000000 + 1000 * seq; }

static int open_database(const char *path, const char *vfs, int flags, int busy_timeout_ms,
                         int durable, sqlite3 **db) {
  const char *pragmas = durable ? "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL"
                                : "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL";
  int code = sqlite3_open_v2(path, db, flags | SQLITE_OPEN_NOMUTEX, vfs);
  if (code == SQLITE_OK) code = sqlite3_busy_timeout(*db, busy_timeout_ms);
  if (code == SQLITE_OK)
    code = sqlite3_exec(*db, pragmas, NULL, NULL, NULL);
  return code;
}

int lk_baseline_create(const char *path, const char *vfs, const char *schema) {
  sqlite3 *db = NULL;
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  int code = open_database(path, vfs, flags, 5000, 1, &db);
  if (code == SQLITE_OK) code = sqlite3_exec(db, schema, NULL, NULL, NULL);
  sqlite3_close(db);
  return code;
}

lk_baseline *lk_baseline_open(const char *path, const char *vfs, int busy_timeout_ms, int writer,
                              int durable, int effects, int *code) {
  lk_baseline *opened = calloc(1, sizeof *opened);
  *code = SQLITE_NOMEM;
  if (!opened) return NULL;
  opened->writer = writer;
  opened->effects = effects;
  memset(opened->body, 'x', sizeof opened->body);
  *code = open_database(path, vfs, SQLITE_OPEN_READWRITE, busy_timeout_ms, durable, &opened->db);
  for (int i = 0; *code == SQLITE_OK && i < STATEMENT_COUNT; i++)
    *code = sqlite3_prepare_v3(opened->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT,
                               &opened->statements[i], NULL);
  if (*code == SQLITE_OK) return opened;
  lk_baseline_close(opened);
  return NULL;
}

void lk_baseline_close(lk_baseline *writer) {
  for (int i = 0; i < STATEMENT_COUNT; i++) sqlite3_finalize(writer->statements[i]);
  sqlite3_close(writer->db);
  free(writer);
}

/* Runs a statement that gives no rows. */
static int run(sqlite3_stmt *statement) {
  int code = sqlite3_step(statement);
  sqlite3_reset(statement);
  return code == SQLITE_DONE ? SQLITE_OK : code;
}

static int find_conversation(lk_baseline *writer, int conversation, touched *found) {
  char text[32];
  snprintf(text, sizeof text, "c%d-%d", writer->writer, conversation);
  sqlite3_stmt *statement = writer->statements[CONVERSATION];
  sqlite3_bind_text(statement, 1, text, -1, SQLITE_STATIC);
  int code = sqlite3_step(statement);
  if (code == SQLITE_ROW) found->id = sqlite3_column_int64(statement, 0);
  sqlite3_reset(statement);
  return code == SQLITE_ROW ? SQLITE_OK : code;
}

static int write_message(lk_baseline *writer, int64_t seq, touched *conversation) {
  char text[32];
  snprintf(text, sizeof text, "m%d-%lld", writer->writer, (long long)seq);
  sqlite3_stmt *statement = writer->statements[MESSAGE];
  sqlite3_bind_int64(statement, 1, conversation->id);
  sqlite3_bind_text(statement, 2, text, -1, SQLITE_STATIC);
  sqlite3_bind_int64(statement, 3, seq);
  sqlite3_bind_text(statement, 4, "u2", 2, SQLITE_STATIC);
  sqlite3_bind_int64(statement, 5, sent_at(seq));
  sqlite3_bind_text(statement, 6, writer->body, sizeof writer->body, SQLITE_STATIC);
  int code = run(statement);
  conversation->message = sqlite3_last_insert_rowid(writer->db);
  conversation->seq = seq;
  return code;
}

static int write_summary(lk_baseline *writer, const touched *conversation) {
  sqlite3_stmt *statement = writer->statements[SUMMARY];
  sqlite3_bind_int64(statement, 1, conversation->id);
  sqlite3_bind_int64(statement, 2, conversation->message);
  sqlite3_bind_int64(statement, 3, conversation->seq);
  sqlite3_bind_int64(statement, 4, sent_at(conversation->seq));
  return run(statement);
}

static int write_effect(lk_baseline *writer, sqlite3_int64 message) {
  sqlite3_stmt *statement = writer->statements[EFFECT];
  sqlite3_bind_int64(statement, 1, message);
  return run(statement);
}

static int write_batch(lk_baseline *writer, int count) {
  touched conversations[LK_BASELINE_CONVERSATIONS] = {{0}};
  for (int i = 1; i <= count; i++) {
    int64_t seq = writer->seq + i;
    int number = (int)(seq % LK_BASELINE_CONVERSATIONS);
    touched *conversation = &conversations[number];
    int code = SQLITE_OK;
    if (!conversation->id) code = find_conversation(writer, number, conversation);
    if (code == SQLITE_OK) code = write_message(writer, seq, conversation);
    if (code == SQLITE_OK && writer->effects) code = write_effect(writer, conversation->message);
    if (code != SQLITE_OK) return code;
  }
  for (int i = 0; i < LK_BASELINE_CONVERSATIONS; i++) {
    if (!conversations[i].seq) continue;
    int code = write_summary(writer, &conversations[i]);
    if (code != SQLITE_OK) return code;
  }
  return SQLITE_OK;
}

static void hold(uint32_t hold_us) {
  struct timespec rest = {.tv_sec = hold_us / 1000000, .tv_nsec = hold_us % 1000000 * 1000L};
  while (hold_us && nanosleep(&rest, &rest) == -1 && errno == EINTR) {
  }
}

int lk_baseline_write(lk_baseline *writer, int count, uint32_t hold_us) {
  int code = run(writer->statements[BEGIN]);
  if (code != SQLITE_OK) return code;
  code = write_batch(writer, count);
  hold(hold_us);
  if (code == SQLITE_OK) code = run(writer->statements[COMMIT]);
  if (code == SQLITE_OK)
    writer->seq += count;
  else
    run(writer->statements[ROLLBACK]);
  return code;
}

int64_t lk_baseline_count(const char *path, const char *vfs) {
  sqlite3 *db = NULL;
  sqlite3_stmt *select = NULL;
  int64_t count = -1;
  int code = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, vfs);
  if (code == SQLITE_OK)
    code = sqlite3_prepare_v2(db, "SELECT count(*) FROM lk_message", -1, &select, NULL);
  if (code == SQLITE_OK && sqlite3_step(select) == SQLITE_ROW)
    count = sqlite3_column_int64(select, 0);
  sqlite3_finalize(select);
  sqlite3_close(db);
  return count;
}
