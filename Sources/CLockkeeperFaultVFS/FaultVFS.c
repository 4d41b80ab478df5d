/*
 * The VFS itself: every method hands the call to the file beneath, after it has asked the zone
 * whether to stand still or to fail, and tells the zone what came of it.
 */
#include "zone.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

/* An open file. The VFS beneath has its own file in the same allocation, right behind this one. */
typedef struct fault_file {
  sqlite3_file base;
  lk_fault_zone *zone;
  const char *path;
  lk_fault_file kind;
  sqlite3_file *real;
} fault_file;

/* The default VFS at the time of registration. Set once, before the VFS can be found by its name. */
static sqlite3_vfs *beneath;

static fault_file *of(sqlite3_file *file) { return (fault_file *)file; }
static sqlite3_file *real(sqlite3_file *file) { return of(file)->real; }

/* SQLite's code for a call that fails. */
static int code_of(lk_fault_failure failure, lk_fault_call call) {
  static const int io_errors[LK_FAULT_CALL_COUNT] = {
      [LK_FAULT_OPEN] = SQLITE_CANTOPEN,           [LK_FAULT_DELETE] = SQLITE_IOERR_DELETE,
      [LK_FAULT_READ] = SQLITE_IOERR_READ,         [LK_FAULT_WRITE] = SQLITE_IOERR_WRITE,
      [LK_FAULT_TRUNCATE] = SQLITE_IOERR_TRUNCATE, [LK_FAULT_SYNC] = SQLITE_IOERR_FSYNC,
      [LK_FAULT_UNFETCH] = SQLITE_IOERR_MMAP,      [LK_FAULT_CHECKPOINT] = SQLITE_IOERR_SHMLOCK,
  };
  switch (failure) {
    case LK_FAULT_NONE: return SQLITE_OK;
    case LK_FAULT_DISK_FULL: return SQLITE_FULL;
    case LK_FAULT_IO_ERROR: return io_errors[call];
    case LK_FAULT_SHORT_READ: return SQLITE_IOERR_SHORT_READ;
  }
  return SQLITE_ERROR;
}

/* Stands still or fails as the zone says; SQLITE_OK where the call is to be made. */
static int enter(sqlite3_file *file, lk_fault_call call, int *byte_count) {
  return code_of(lk_zone_enter(of(file)->zone, call, of(file)->kind, byte_count), call);
}

static void record(sqlite3_file *file, lk_fault_call call, sqlite3_int64 offset, const void *bytes,
                   int byte_count, int code) {
  lk_zone_record(of(file)->zone, call, of(file)->kind, of(file)->path, offset, bytes,
                 (size_t)byte_count, code);
}

/* ---- Methods that do more than hand on ---- */

static int fault_close(sqlite3_file *file) {
  int code = real(file)->pMethods->xClose(real(file));
  lk_zone_release(of(file)->zone);
  file->pMethods = NULL;
  return code;
}

static int fault_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
  int kept = 0;
  int failure = enter(file, LK_FAULT_READ, &kept);
  if (failure && failure != SQLITE_IOERR_SHORT_READ) return failure;
  if (failure) {
    /* What SQLite's own VFS does where the file ends early. */
    memset(bytes, 0, (size_t)count);
    if (kept < count) count = kept;
  }
  int code = count > 0 ? real(file)->pMethods->xRead(real(file), bytes, count, offset) : SQLITE_OK;
  return code ? code : failure;
}

static int fault_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
  int kept = 0;
  int failure = enter(file, LK_FAULT_WRITE, &kept);
  if (failure && kept < count) count = kept;
  int code = count > 0 ? real(file)->pMethods->xWrite(real(file), bytes, count, offset) : SQLITE_OK;
  if (code == SQLITE_OK && count > 0)
    record(file, LK_FAULT_WRITE, offset, bytes, count, failure);
  return failure ? failure : code;
}

static int fault_truncate(sqlite3_file *file, sqlite3_int64 size) {
  int code = enter(file, LK_FAULT_TRUNCATE, NULL);
  if (code) return code;
  code = real(file)->pMethods->xTruncate(real(file), size);
  if (code == SQLITE_OK) record(file, LK_FAULT_TRUNCATE, size, NULL, 0, code);
  return code;
}

static int fault_sync(sqlite3_file *file, int flags) {
  int code = enter(file, LK_FAULT_SYNC, NULL);
  /* A sync covers what was written before it began, and nothing of what comes while it runs. */
  size_t covered = lk_zone_recorded(of(file)->zone);
  if (!code) {
    code = real(file)->pMethods->xSync(real(file), flags);
    lk_zone_sleep(of(file)->zone, of(file)->kind);
  }
  record(file, LK_FAULT_SYNC, (sqlite3_int64)covered, NULL, 0, code);
  return code;
}

static int fault_shm_lock(sqlite3_file *file, int offset, int count, int flags) {
  /* WAL_CKPT_LOCK of wal.c; its exclusive lock is the first thing that a checkpoint asks for. */
  enum { CHECKPOINT_LOCK = 1 };
  if (offset == CHECKPOINT_LOCK && count == 1 && flags == (SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE)) {
    int code = enter(file, LK_FAULT_CHECKPOINT, NULL);
    if (code) return code;
  }
  return real(file)->pMethods->xShmLock(real(file), offset, count, flags);
}

static int fault_unfetch(sqlite3_file *file, sqlite3_int64 offset, void *page) {
  if (!page) {
    int code = enter(file, LK_FAULT_UNFETCH, NULL);
    if (code) return code;
  }
  return real(file)->pMethods->xUnfetch(real(file), offset, page);
}

/* ---- Methods that hand on ---- */

static int fault_size(sqlite3_file *file, sqlite3_int64 *size) {
  return real(file)->pMethods->xFileSize(real(file), size);
}
static int fault_lock(sqlite3_file *file, int lock) {
  return real(file)->pMethods->xLock(real(file), lock);
}
static int fault_unlock(sqlite3_file *file, int lock) {
  return real(file)->pMethods->xUnlock(real(file), lock);
}
static int fault_check_reserved(sqlite3_file *file, int *result) {
  return real(file)->pMethods->xCheckReservedLock(real(file), result);
}
static int fault_control(sqlite3_file *file, int operation, void *argument) {
  return real(file)->pMethods->xFileControl(real(file), operation, argument);
}
static int fault_sector_size(sqlite3_file *file) {
  return real(file)->pMethods->xSectorSize(real(file));
}
static int fault_characteristics(sqlite3_file *file) {
  return real(file)->pMethods->xDeviceCharacteristics(real(file));
}
static int fault_shm_map(sqlite3_file *file, int region, int size, int extend,
                         void volatile **address) {
  return real(file)->pMethods->xShmMap(real(file), region, size, extend, address);
}
static void fault_shm_barrier(sqlite3_file *file) { real(file)->pMethods->xShmBarrier(real(file)); }
static int fault_shm_unmap(sqlite3_file *file, int remove) {
  return real(file)->pMethods->xShmUnmap(real(file), remove);
}
static int fault_fetch(sqlite3_file *file, sqlite3_int64 offset, int count, void **page) {
  return real(file)->pMethods->xFetch(real(file), offset, count, page);
}

static const sqlite3_io_methods methods = {
    .iVersion = 3,
    .xClose = fault_close,
    .xRead = fault_read,
    .xWrite = fault_write,
    .xTruncate = fault_truncate,
    .xSync = fault_sync,
    .xFileSize = fault_size,
    .xLock = fault_lock,
    .xUnlock = fault_unlock,
    .xCheckReservedLock = fault_check_reserved,
    .xFileControl = fault_control,
    .xSectorSize = fault_sector_size,
    .xDeviceCharacteristics = fault_characteristics,
    .xShmMap = fault_shm_map,
    .xShmLock = fault_shm_lock,
    .xShmBarrier = fault_shm_barrier,
    .xShmUnmap = fault_shm_unmap,
    .xFetch = fault_fetch,
    .xUnfetch = fault_unfetch,
};

/* ---- The VFS ---- */

static lk_fault_file kind_of(int flags) {
  if (flags & SQLITE_OPEN_MAIN_DB) return LK_FAULT_DATABASE;
  if (flags & SQLITE_OPEN_WAL) return LK_FAULT_LOG;
  if (flags & SQLITE_OPEN_MAIN_JOURNAL) return LK_FAULT_JOURNAL;
  return LK_FAULT_OTHER;
}

static int fault_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags,
                      int *flags_out) {
  (void)vfs;
  lk_fault_zone *zone = lk_zone_of(path);
  /* What nobody watches is opened without anything in between. */
  if (!zone) return beneath->xOpen(beneath, path, file, flags, flags_out);

  fault_file *opened = of(file);
  memset(opened, 0, sizeof *opened);
  opened->zone = zone;
  opened->kind = kind_of(flags);
  opened->real = (sqlite3_file *)(opened + 1);
  int code = code_of(lk_zone_enter(zone, LK_FAULT_OPEN, opened->kind, NULL), LK_FAULT_OPEN);
  if (!code) {
    opened->path = lk_zone_path(zone, path);
    if (!opened->path) code = SQLITE_NOMEM;
  }
  if (!code) {
    opened->real->pMethods = NULL;
    code = beneath->xOpen(beneath, path, opened->real, flags, flags_out);
  }
  if (!code && opened->real->pMethods->iVersion < methods.iVersion) {
    /* The calls that make this VFS useful would have nowhere to go. */
    opened->real->pMethods->xClose(opened->real);
    code = SQLITE_CANTOPEN;
  }
  if (code) {
    lk_zone_release(zone);
    return code;
  }
  opened->base.pMethods = &methods;
  record(file, LK_FAULT_OPEN, 0, NULL, 0, code);
  return SQLITE_OK;
}

static int ends_with(const char *path, const char *end) {
  size_t length = strlen(path), end_length = strlen(end);
  return length > end_length && !strcmp(path + length - end_length, end);
}

/* SQLite deletes rollback journals and logs, never a database. The caller that deletes one is not
 * seen, and an image after a power cut then still has the file. */
static int fault_delete(sqlite3_vfs *vfs, const char *path, int sync_directory) {
  (void)vfs;
  lk_fault_zone *zone = lk_zone_of(path);
  if (!zone) return beneath->xDelete(beneath, path, sync_directory);
  lk_fault_file kind = LK_FAULT_OTHER;
  if (ends_with(path, "-wal")) kind = LK_FAULT_LOG;
  if (ends_with(path, "-journal")) kind = LK_FAULT_JOURNAL;
  const char *kept = lk_zone_path(zone, path);
  int code = SQLITE_NOMEM;
  if (kept) code = code_of(lk_zone_enter(zone, LK_FAULT_DELETE, kind, NULL), LK_FAULT_DELETE);
  if (!code) {
    code = beneath->xDelete(beneath, path, sync_directory);
    if (!code) lk_zone_record(zone, LK_FAULT_DELETE, kind, kept, 0, NULL, 0, code);
  }
  lk_zone_release(zone);
  return code;
}

static sqlite3_vfs fault_vfs;

static void fill_vfs(void) {
  beneath = sqlite3_vfs_find(NULL);
  if (!beneath) return;
  /* The other methods of the VFS beneath look at nothing but their own fields, which are copied. */
  fault_vfs = *beneath;
  fault_vfs.pNext = NULL;
  fault_vfs.zName = LK_FAULT_VFS;
  fault_vfs.szOsFile = (int)sizeof(fault_file) + beneath->szOsFile;
  fault_vfs.xOpen = fault_open;
  fault_vfs.xDelete = fault_delete;
}

int lk_fault_register(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  int code = sqlite3_initialize();
  if (code != SQLITE_OK) return code;
  pthread_once(&once, fill_vfs);
  return beneath ? sqlite3_vfs_register(&fault_vfs, 0) : SQLITE_ERROR;
}
