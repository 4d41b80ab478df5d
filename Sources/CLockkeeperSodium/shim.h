// The parts of libsodium that Lockkeeper uses. libsodium is the field's library for digests and
// sealed boxes; nothing of the kind is written here.
#ifndef LOCKKEEPER_SODIUM_SHIM_H
#define LOCKKEEPER_SODIUM_SHIM_H
#include <sodium.h>
#endif
