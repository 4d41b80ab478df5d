// The vocabulary's words stand in the signatures of everything here.
@_exported public import LockkeeperDomain
