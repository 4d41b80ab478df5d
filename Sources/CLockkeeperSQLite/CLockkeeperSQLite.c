// The header is all there is; a target of SwiftPM has at least one file to compile.
#include "CLockkeeperSQLite.h"
