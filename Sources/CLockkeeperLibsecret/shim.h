// Names libsecret to the package manager, so that CLockkeeperSecret is built and linked with it. Swift
// imports nothing of it.
#ifndef LOCKKEEPER_LIBSECRET_SHIM_H
#define LOCKKEEPER_LIBSECRET_SHIM_H
#endif
