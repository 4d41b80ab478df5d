// What of SQLite's interface Swift cannot see: variadic functions, pointer constants and calls
// through a method table. No logic beyond that.
//
// Which engine this is, SQLite or SQLCipher, is decided by the package's traits: they bring its
// folder of headers and its library.
#ifndef LOCKKEEPER_SQLITE_SHIM_H
#define LOCKKEEPER_SQLITE_SHIM_H
#include <sqlite3.h>

#if SQLITE_VERSION_NUMBER < 3035000
#error "This SQLite is older than 3.35. For a build with the trait Encryption run Scripts/install-sqlcipher: Debian 12 packages SQLCipher 3, and SQLCipher 4 is needed."
#endif

// SQLCipher's own, whose header shows it only where a macro is set that Swift cannot set. Called by builds
// with the trait Encryption alone: SQLite has no such function.
int sqlite3_key_v2(sqlite3 *db, const char *name, const void *key, int count);

// SQLITE_STATIC and SQLITE_TRANSIENT are casts, which Swift does not import.
static inline sqlite3_destructor_type lk_sqlite_static(void) { return SQLITE_STATIC; }
static inline sqlite3_destructor_type lk_sqlite_transient(void) { return SQLITE_TRANSIENT; }

// sqlite3_db_config is variadic. All options used here take (int value, int *result).
static inline int lk_sqlite_configure(sqlite3 *db, int option, int value) {
  int result = 0;
  int code = sqlite3_db_config(db, option, value, &result);
  if (code != SQLITE_OK) return code;
  return result == value ? SQLITE_OK : SQLITE_ERROR;
}

// Keeps the write-ahead log and its index when the last connection closes.
static inline int lk_sqlite_keep_log(sqlite3 *db) {
  int on = 1;
  return sqlite3_file_control(db, "main", SQLITE_FCNTL_PERSIST_WAL, &on);
}

// Reads the first bytes of the database file through SQLite's own handle: another descriptor would take
// this process's locks away when it is closed. A file that is shorter gives SQLITE_IOERR_SHORT_READ, with
// zeros in the place of what is missing.
static inline int lk_sqlite_read_head(sqlite3 *db, void *bytes, int count) {
  sqlite3_file *file = 0;
  int code = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (code != SQLITE_OK) return code;
  if (!file || !file->pMethods) return SQLITE_NOTFOUND;
  return file->pMethods->xRead(file, bytes, count, 0);
}

// Syncs the write-ahead log. The connection must have read once: until then it has no log open and
// the answer is SQLITE_NOTFOUND.
static inline int lk_sqlite_sync_log(sqlite3 *db) {
  sqlite3_file *log = 0;
  int code = sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
  if (code != SQLITE_OK) return code;
  if (!log || !log->pMethods) return SQLITE_NOTFOUND;
  return log->pMethods->xSync(log, SQLITE_SYNC_NORMAL);
}

// Has CREATE TABLE describe the b-tree whose first page is given, without a change of the file, while on;
// turned off with a page, it forgets what was described. sqlite3_test_control is variadic.
static inline int lk_sqlite_impostor(sqlite3 *db, int on, int page) {
  return sqlite3_test_control(SQLITE_TESTCTRL_IMPOSTER, db, "main", on, page);
}
#endif
