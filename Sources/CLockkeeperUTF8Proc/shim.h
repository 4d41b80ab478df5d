// The parts of utf8proc that Lockkeeper uses: normal forms and case folding by Unicode's tables, of
// which nothing is written here.
#ifndef LOCKKEEPER_UTF8PROC_SHIM_H
#define LOCKKEEPER_UTF8PROC_SHIM_H
#include <stdlib.h>
#include <utf8proc.h>
#endif
