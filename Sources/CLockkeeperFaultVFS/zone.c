/*
 * Zones: what is set for a folder, what happened in it, and who stands still there.
 *
 * Lock rules
 * 1. `zones_lock` guards the list and the reference counts, a zone's own lock everything else of it.
 *    They are never held together.
 * 2. Nothing of SQLite is called under either, and nobody sleeps under either but in the condition.
 */
#include "zone.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What is set for one kind of call on one kind of file, in counts of calls since the beginning. */
typedef struct fault {
  uint64_t calls;
  uint64_t first;
  uint64_t last;
  lk_fault_failure failure;
  int byte_count;
} fault;

/* A path that some record or file names; the list only grows. */
typedef struct path_name {
  struct path_name *next;
  char text[];
} path_name;

typedef struct record_list {
  lk_fault_record *items;
  size_t count;
  size_t capacity;
  int is_recording;
} record_list;

/* At most one pause is asked for. A call that comes to it takes a ticket and stands until that
 * ticket is released; so the next pause can be asked for before the first call has gone on. */
typedef struct pause_point {
  int is_asked;
  /* Whether any change counts, after so many more; otherwise one call on one kind of file. */
  int is_any_change;
  uint64_t skip;
  lk_fault_call call;
  lk_fault_file file;
  uint64_t ticket;
  uint64_t released;
} pause_point;

struct lk_fault_zone {
  lk_fault_zone *next;
  size_t references;
  char *folder;
  size_t folder_length;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  uint32_t sync_delay_us;
  fault faults[LK_FAULT_CALL_COUNT][LK_FAULT_FILE_COUNT];
  pause_point pause;
  record_list records;
  path_name *paths;
};

static pthread_mutex_t zones_lock = PTHREAD_MUTEX_INITIALIZER;
static lk_fault_zone *zones;

/* ---- Life ---- */

lk_fault_zone *lk_fault_zone_make(const char *folder) {
  lk_fault_zone *zone = calloc(1, sizeof *zone);
  if (!zone) return NULL;
  zone->folder = strdup(folder);
  if (!zone->folder) {
    free(zone);
    return NULL;
  }
  zone->folder_length = strlen(folder);
  zone->references = 1;
  pthread_mutex_init(&zone->lock, NULL);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&zone->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  pthread_mutex_lock(&zones_lock);
  zone->next = zones;
  zones = zone;
  pthread_mutex_unlock(&zones_lock);
  return zone;
}

static void drop_records(record_list *records) {
  for (size_t i = 0; i < records->count; i++) free((void *)records->items[i].bytes);
  free(records->items);
  memset(records, 0, sizeof *records);
}

static void destroy(lk_fault_zone *zone) {
  drop_records(&zone->records);
  while (zone->paths) {
    path_name *next = zone->paths->next;
    free(zone->paths);
    zone->paths = next;
  }
  pthread_cond_destroy(&zone->changed);
  pthread_mutex_destroy(&zone->lock);
  free(zone->folder);
  free(zone);
}

void lk_zone_release(lk_fault_zone *zone) {
  pthread_mutex_lock(&zones_lock);
  int is_last = --zone->references == 0;
  pthread_mutex_unlock(&zones_lock);
  if (is_last) destroy(zone);
}

void lk_fault_zone_end(lk_fault_zone *zone) {
  pthread_mutex_lock(&zones_lock);
  for (lk_fault_zone **link = &zones; *link; link = &(*link)->next) {
    if (*link != zone) continue;
    *link = zone->next;
    break;
  }
  pthread_mutex_unlock(&zones_lock);
  lk_zone_release(zone);
}

lk_fault_zone *lk_zone_of(const char *path) {
  /* A temporary file has no path. */
  if (!path) return NULL;
  lk_fault_zone *found = NULL;
  pthread_mutex_lock(&zones_lock);
  for (lk_fault_zone *zone = zones; zone; zone = zone->next) {
    size_t length = zone->folder_length;
    if (strncmp(path, zone->folder, length) || path[length] != '/') continue;
    if (!found || length > found->folder_length) found = zone;
  }
  if (found) found->references++;
  pthread_mutex_unlock(&zones_lock);
  return found;
}

const char *lk_zone_path(lk_fault_zone *zone, const char *path) {
  pthread_mutex_lock(&zone->lock);
  path_name *name = zone->paths;
  while (name && strcmp(name->text, path)) name = name->next;
  if (!name) {
    name = malloc(sizeof *name + strlen(path) + 1);
    if (name) {
      strcpy(name->text, path);
      name->next = zone->paths;
      zone->paths = name;
    }
  }
  pthread_mutex_unlock(&zone->lock);
  return name ? name->text : NULL;
}

/* ---- Faults and pauses ---- */

void lk_fault_delay_syncs(lk_fault_zone *zone, uint32_t microseconds) {
  pthread_mutex_lock(&zone->lock);
  zone->sync_delay_us = microseconds;
  pthread_mutex_unlock(&zone->lock);
}

void lk_zone_sleep(lk_fault_zone *zone, lk_fault_file file) {
  if (file != LK_FAULT_DATABASE && file != LK_FAULT_LOG) return;
  pthread_mutex_lock(&zone->lock);
  uint32_t delay_us = zone->sync_delay_us;
  pthread_mutex_unlock(&zone->lock);
  if (!delay_us) return;
  struct timespec rest = {.tv_sec = delay_us / 1000000, .tv_nsec = delay_us % 1000000 * 1000L};
  while (nanosleep(&rest, &rest) == -1 && errno == EINTR) {
  }
}

uint64_t lk_fault_calls(lk_fault_zone *zone, lk_fault_call call, lk_fault_file file) {
  pthread_mutex_lock(&zone->lock);
  uint64_t calls = zone->faults[call][file].calls;
  pthread_mutex_unlock(&zone->lock);
  return calls;
}

void lk_fault_fail(lk_fault_zone *zone, lk_fault_call call, lk_fault_file file, uint64_t skip,
                   uint64_t times, lk_fault_failure failure, int byte_count) {
  pthread_mutex_lock(&zone->lock);
  fault *set = &zone->faults[call][file];
  set->first = set->calls + skip + 1;
  set->last = times ? set->first + times - 1 : UINT64_MAX;
  set->failure = failure;
  set->byte_count = byte_count;
  pthread_mutex_unlock(&zone->lock);
}

void lk_fault_pause(lk_fault_zone *zone, lk_fault_call call, lk_fault_file file) {
  pthread_mutex_lock(&zone->lock);
  zone->pause.is_asked = 1;
  zone->pause.is_any_change = 0;
  zone->pause.call = call;
  zone->pause.file = file;
  pthread_mutex_unlock(&zone->lock);
}

void lk_fault_pause_at_change(lk_fault_zone *zone, uint64_t skip) {
  pthread_mutex_lock(&zone->lock);
  zone->pause.is_asked = 1;
  zone->pause.is_any_change = 1;
  zone->pause.skip = skip;
  pthread_mutex_unlock(&zone->lock);
}

int lk_fault_await_pause(lk_fault_zone *zone, uint32_t milliseconds) {
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_sec += milliseconds / 1000;
  end.tv_nsec += milliseconds % 1000 * 1000000L;
  if (end.tv_nsec >= 1000000000L) {
    end.tv_sec++;
    end.tv_nsec -= 1000000000L;
  }
  pthread_mutex_lock(&zone->lock);
  int waited = 0;
  while (zone->pause.ticket == zone->pause.released && waited != ETIMEDOUT)
    waited = pthread_cond_timedwait(&zone->changed, &zone->lock, &end);
  int stands = zone->pause.ticket != zone->pause.released;
  pthread_mutex_unlock(&zone->lock);
  return stands;
}

void lk_fault_release(lk_fault_zone *zone) {
  pthread_mutex_lock(&zone->lock);
  if (zone->pause.ticket == zone->pause.released) zone->pause.is_asked = 0;
  zone->pause.released = zone->pause.ticket;
  pthread_cond_broadcast(&zone->changed);
  pthread_mutex_unlock(&zone->lock);
}

static int is_change(lk_fault_call call) {
  return call == LK_FAULT_WRITE || call == LK_FAULT_TRUNCATE || call == LK_FAULT_SYNC ||
         call == LK_FAULT_DELETE;
}

/* Whether the pause that is asked for means this call. */
static int is_meant(pause_point *pause, lk_fault_call call, lk_fault_file file) {
  if (!pause->is_any_change) return pause->call == call && pause->file == file;
  if (!is_change(call)) return 0;
  return pause->skip == 0 || pause->skip-- == 0;
}

static void stand_still(lk_fault_zone *zone, lk_fault_call call, lk_fault_file file) {
  pause_point *pause = &zone->pause;
  if (!pause->is_asked || !is_meant(pause, call, file)) return;
  /* Only one call stands at a time, so that one release means one call. */
  if (pause->ticket != pause->released) return;
  pause->is_asked = 0;
  uint64_t ticket = ++pause->ticket;
  pthread_cond_broadcast(&zone->changed);
  while (pause->released < ticket) pthread_cond_wait(&zone->changed, &zone->lock);
}

lk_fault_failure lk_zone_enter(lk_fault_zone *zone, lk_fault_call call, lk_fault_file file,
                               int *byte_count) {
  pthread_mutex_lock(&zone->lock);
  stand_still(zone, call, file);
  fault *set = &zone->faults[call][file];
  set->calls++;
  int is_due = set->calls >= set->first && set->calls <= set->last;
  lk_fault_failure failure = is_due ? set->failure : LK_FAULT_NONE;
  if (failure && byte_count) *byte_count = set->byte_count;
  pthread_mutex_unlock(&zone->lock);
  return failure;
}

/* ---- Records ---- */

static void append(lk_fault_zone *zone, lk_fault_record item, const void *bytes) {
  record_list *records = &zone->records;
  if (records->count == records->capacity) {
    size_t capacity = records->capacity ? 2 * records->capacity : 1024;
    lk_fault_record *items = realloc(records->items, capacity * sizeof *items);
    /* A recording with a hole would prove the wrong thing. */
    if (!items) abort();
    records->items = items;
    records->capacity = capacity;
  }
  if (item.byte_count) {
    uint8_t *copy = malloc(item.byte_count);
    if (!copy) abort();
    memcpy(copy, bytes, item.byte_count);
    item.bytes = copy;
  }
  records->items[records->count++] = item;
}

void lk_zone_record(lk_fault_zone *zone, lk_fault_call call, lk_fault_file file, const char *path,
                    int64_t offset, const void *bytes, size_t byte_count, int code) {
  if (file == LK_FAULT_OTHER) return;
  lk_fault_record item = {.call = call,
                          .file = file,
                          .path = path,
                          .offset = offset,
                          .byte_count = byte_count,
                          .code = code};
  pthread_mutex_lock(&zone->lock);
  if (zone->records.is_recording) append(zone, item, bytes);
  pthread_mutex_unlock(&zone->lock);
}

void lk_fault_record_mark(lk_fault_zone *zone, int64_t number) {
  lk_fault_record item = {.offset = number};
  pthread_mutex_lock(&zone->lock);
  if (zone->records.is_recording) append(zone, item, NULL);
  pthread_mutex_unlock(&zone->lock);
}

void lk_fault_record_begin(lk_fault_zone *zone) {
  pthread_mutex_lock(&zone->lock);
  drop_records(&zone->records);
  zone->records.is_recording = 1;
  pthread_mutex_unlock(&zone->lock);
}

void lk_fault_record_end(lk_fault_zone *zone) {
  pthread_mutex_lock(&zone->lock);
  zone->records.is_recording = 0;
  pthread_mutex_unlock(&zone->lock);
}

size_t lk_zone_recorded(lk_fault_zone *zone) {
  pthread_mutex_lock(&zone->lock);
  size_t count = zone->records.count;
  pthread_mutex_unlock(&zone->lock);
  return count;
}

size_t lk_fault_record_count(lk_fault_zone *zone) { return lk_zone_recorded(zone); }

lk_fault_record lk_fault_record_at(lk_fault_zone *zone, size_t index) {
  pthread_mutex_lock(&zone->lock);
  lk_fault_record item = zone->records.items[index];
  pthread_mutex_unlock(&zone->lock);
  return item;
}
