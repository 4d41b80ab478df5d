/*
 * A helper in plain C: starts, commits one message durably into a database that is there, exits.
 *
 *     lockkeeper-baseline DATABASE NUMBER
 *
 * NUMBER is part of the message's ids, so that each start writes another one. The exit code is that of
 * SQLite, 64 where the arguments are none.
 */

#include <stdlib.h>

#include "CLockkeeperBaseline.h"

int main(int count, char **arguments) {
  if (count != 3) return 64;
  int code = 0;
  lk_baseline *writer = lk_baseline_open(arguments[1], NULL, 5000, atoi(arguments[2]), 1, 1, &code);
  if (!writer) return code & 0xff;
  code = lk_baseline_write(writer, 1, 0);
  lk_baseline_close(writer);
  return code & 0xff;
}
