#define _GNU_SOURCE
#include "CLockkeeperHops.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <sqlite3.h>

struct lk_hops {
  sqlite3 *db;
  int socket;
};

static int64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* An unconnected socket and the address that belongs to the path. */
static int make_socket(const char *path, struct sockaddr_un *address) {
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  if (strlen(path) >= sizeof address->sun_path) return -ENAMETOOLONG;
  strcpy(address->sun_path, path);
  int made = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  return made < 0 ? -errno : made;
}

int lk_hops_listen(const char *socket_path) {
  struct sockaddr_un address;
  int listener = make_socket(socket_path, &address);
  if (listener < 0) return listener;
  if (bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener, 2) == 0)
    return listener;
  int code = -errno;
  close(listener);
  return code;
}

int lk_hops_serve(int listener) {
  char frame[128];
  int reader = accept(listener, NULL, NULL);
  int writer = reader < 0 ? -1 : accept(listener, NULL, NULL);
  int code = writer < 0 ? -errno : 0;
  ssize_t count;
  while (code == 0 && (count = read(writer, frame, sizeof frame)) != 0)
    if (count < 0 || send(reader, frame, count, MSG_NOSIGNAL) < 0) code = -errno;
  if (writer >= 0) close(writer);
  if (reader >= 0) close(reader);
  close(listener);
  return code;
}

static int open_database(const char *path, sqlite3 **db) {
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  int code = sqlite3_open_v2(path, db, flags, NULL);
  if (code == SQLITE_OK) code = sqlite3_busy_timeout(*db, 5000);
  if (code == SQLITE_OK)
    code = sqlite3_exec(*db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL", NULL, NULL, NULL);
  return code;
}

int lk_hops_create(const char *database_path) {
  sqlite3 *db = NULL;
  int code = open_database(database_path, &db);
  if (code == SQLITE_OK) code = sqlite3_exec(db, LK_HOPS_TABLE, NULL, NULL, NULL);
  sqlite3_close(db);
  return code;
}

static int connect_to_hub(const char *path) {
  struct sockaddr_un address;
  int connection = make_socket(path, &address);
  if (connection < 0) return connection;
  if (connect(connection, (struct sockaddr *)&address, sizeof address) == 0) return connection;
  int code = -errno;
  close(connection);
  return code;
}

lk_hops *lk_hops_open(const char *database_path, const char *socket_path, int *code) {
  lk_hops *opened = calloc(1, sizeof *opened);
  *code = SQLITE_NOMEM;
  if (!opened) return NULL;
  opened->socket = connect_to_hub(socket_path);
  *code = opened->socket < 0 ? opened->socket : open_database(database_path, &opened->db);
  if (*code == SQLITE_OK) return opened;
  lk_hops_close(opened);
  return NULL;
}

void lk_hops_close(lk_hops *hops) {
  if (hops->socket >= 0) close(hops->socket);
  sqlite3_close(hops->db);
  free(hops);
}

int lk_hops_write(lk_hops *hops, int count, int64_t *sent) {
  static const char notice[] = "{\"commits\":[1,1]}";
  sqlite3_stmt *insert = NULL;
  int code = sqlite3_prepare_v2(hops->db, LK_HOPS_INSERT, -1, &insert, NULL);
  for (int i = 0; code == SQLITE_OK && i < count; i++) {
    struct timespec rest = {.tv_nsec = 1000000 + rand() % 1000000};
    nanosleep(&rest, NULL);
    sqlite3_step(insert);
    code = sqlite3_reset(insert);
    sent[i] = now_ns();
    if (code == SQLITE_OK && send(hops->socket, notice, sizeof notice - 1, MSG_NOSIGNAL) < 0)
      code = -errno;
  }
  sqlite3_finalize(insert);
  return code;
}

int lk_hops_read(lk_hops *hops, int count, int64_t *seen) {
  char frame[128];
  sqlite3_stmt *select = NULL;
  int code = sqlite3_prepare_v2(hops->db, LK_HOPS_SELECT, -1, &select, NULL);
  for (sqlite3_int64 last = 0; code == SQLITE_OK && last < count;) {
    ssize_t received = read(hops->socket, frame, sizeof frame);
    if (received <= 0) code = received < 0 ? -errno : -EPIPE;
    sqlite3_bind_int64(select, 1, last);
    while (code == SQLITE_OK && last < count && sqlite3_step(select) == SQLITE_ROW)
      seen[(last = sqlite3_column_int64(select, 0)) - 1] = now_ns();
    int ended = sqlite3_reset(select);
    if (code == SQLITE_OK) code = ended;
  }
  sqlite3_finalize(select);
  return code;
}
