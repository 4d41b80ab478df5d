/*
 * What a zone is told by the files in it. Every function may be called from any thread.
 */
#ifndef LK_FAULT_ZONE_H
#define LK_FAULT_ZONE_H
#include "CLockkeeperFaultVFS.h"

/* The innermost zone of a path, with a reference for the caller; NULL where there is none. */
lk_fault_zone *lk_zone_of(const char *path);

/* Gives a reference back. */
void lk_zone_release(lk_fault_zone *zone);

/* A path as the zone keeps it; NULL where there is no memory. */
const char *lk_zone_path(lk_fault_zone *zone, const char *path);

/* Counts a call, stands still where a pause is set for it, and answers how it must fail.
 * `byte_count`, where given, is set to how much a failing write still writes. */
lk_fault_failure lk_zone_enter(lk_fault_zone *zone, lk_fault_call call, lk_fault_file file,
                               int *byte_count);

/* Notes a call that was made, where the zone records. */
void lk_zone_record(lk_fault_zone *zone, lk_fault_call call, lk_fault_file file, const char *path,
                    int64_t offset, const void *bytes, size_t byte_count, int code);

/* How many records there are. */
size_t lk_zone_recorded(lk_fault_zone *zone);

/* Sleeps for as long as a sync of such a file takes in this zone. */
void lk_zone_sleep(lk_fault_zone *zone, lk_fault_file file);
#endif
