#ifndef CLOCKKEEPER_FAULT_VFS_H
#define CLOCKKEEPER_FAULT_VFS_H

/*
 * A SQLite VFS for tests and benchmarks. It stands before the default one and makes a disk slow,
 * failing, forgetful or observable; without a zone it is the default one.
 *
 * A zone is a folder: what SQLite opens in it after the zone was made obeys the zone, for as long as
 * it is open. Several zones exist side by side, so that tests of one process do not disturb each
 * other. Every function may be called from any thread.
 *
 * What the -shm file goes through is not seen: the VFS beneath opens it by itself.
 */

#include <stddef.h>
#include <stdint.h>

/* The name to open files with. It is never the default VFS. */
#define LK_FAULT_VFS "lk-fault"

/* The calls that can be counted, failed and paused at. */
typedef enum lk_fault_call {
  LK_FAULT_OPEN,
  LK_FAULT_DELETE,
  LK_FAULT_READ,
  LK_FAULT_WRITE,
  LK_FAULT_TRUNCATE,
  LK_FAULT_SYNC,
  /* xUnfetch of everything: a checkpoint calls it when it has read the header of the log's index and
   * found it changed since its connection last looked, and before it looks at what is copied
   * already. This is the window of the WAL-reset defect. */
  LK_FAULT_UNFETCH,
  /* xShmLock that asks for the checkpointer's lock, before the lock is tried. */
  LK_FAULT_CHECKPOINT,
  LK_FAULT_CALL_COUNT
} lk_fault_call;

/* Which file of a database. */
typedef enum lk_fault_file {
  LK_FAULT_DATABASE,
  LK_FAULT_LOG,
  /* The rollback journal of a database that has no log. */
  LK_FAULT_JOURNAL,
  /* Temporary files. */
  LK_FAULT_OTHER,
  LK_FAULT_FILE_COUNT
} lk_fault_file;

/* How a call fails. */
typedef enum lk_fault_failure {
  LK_FAULT_NONE,
  /* The disk is broken: SQLite's I/O error of that call. */
  LK_FAULT_IO_ERROR,
  /* The disk is full. */
  LK_FAULT_DISK_FULL,
  /* Only of reads: the file gives fewer bytes than were asked for, and the rest is zeros. */
  LK_FAULT_SHORT_READ
} lk_fault_failure;

typedef struct lk_fault_zone lk_fault_zone;

/* Registers the VFS. Doing it again changes nothing. Returns a SQLite code. */
int lk_fault_register(void);

/* Makes a zone of a folder, given by its canonical path without a slash at its end. The innermost
 * zone of a file governs it. NULL where there is no memory. */
lk_fault_zone *lk_fault_zone_make(const char *folder);

/* Ends a zone: files opened from now on do not belong to it. Those that do keep it alive. */
void lk_fault_zone_end(lk_fault_zone *zone);

/* Each sync of a database or a log takes so much longer. */
void lk_fault_delay_syncs(lk_fault_zone *zone, uint32_t microseconds);

/* How many calls there were. */
uint64_t lk_fault_calls(lk_fault_zone *zone, lk_fault_call call, lk_fault_file file);

/* After `skip` more calls, `times` calls fail (0: all from then on). A failing call does nothing,
 * except that of a write `byte_count` bytes are still written, and of a short read as many read. It takes the place of what was set for
 * the same call before; LK_FAULT_NONE ends it. */
void lk_fault_fail(lk_fault_zone *zone, lk_fault_call call, lk_fault_file file, uint64_t skip,
                   uint64_t times, lk_fault_failure failure, int byte_count);

/* The next such call stands still before it does anything, until it is released. Each pause holds
 * one call; the next one may be asked for while a call stands. */
void lk_fault_pause(lk_fault_zone *zone, lk_fault_call call, lk_fault_file file);

/* Like it, for the call that is about to change a file, whichever call and file it is, after `skip`
 * more changes. Changes are writes, truncations, syncs and deletions. */
void lk_fault_pause_at_change(lk_fault_zone *zone, uint64_t skip);

/* Waits until a call stands still. Returns 0 where none does in time. */
int lk_fault_await_pause(lk_fault_zone *zone, uint32_t milliseconds);

/* Lets the call that stands go on, and takes a pause back that no call has come to. */
void lk_fault_release(lk_fault_zone *zone);

/* One recorded call on a database, its log or its journal. */
typedef struct lk_fault_record {
  lk_fault_call call;
  lk_fault_file file;
  /* The file's path; NULL for a mark. It lives as long as the zone. */
  const char *path;
  /* Of a write: where it begins. Of a truncation: the new size. Of a mark: its number. Of a sync:
   * how many records there were when it began; it covers the file's own among them. */
  int64_t offset;
  /* Of a write: what was written. It lives as long as the record. */
  const uint8_t *bytes;
  size_t byte_count;
  /* What the call answered. A sync that did not answer 0 has synced nothing. */
  int code;
} lk_fault_record;

/* Begins to record opens, writes, truncations, syncs and deletions of databases, logs and
 * journals, in the order in which they ended; what was recorded before is dropped. */
void lk_fault_record_begin(lk_fault_zone *zone);

/* Puts a mark between the records: "acknowledged", for example. */
void lk_fault_record_mark(lk_fault_zone *zone, int64_t number);

/* Ends recording. The records stay until the next beginning. */
void lk_fault_record_end(lk_fault_zone *zone);

/* Reads records, once recording has ended. */
size_t lk_fault_record_count(lk_fault_zone *zone);
lk_fault_record lk_fault_record_at(lk_fault_zone *zone, size_t index);

#endif
