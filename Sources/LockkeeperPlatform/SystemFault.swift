import Synchronization

/// Lets tests make named system calls fail. Off, it costs one atomic load for each call.
package enum SystemFault {
    /// Decides whether a call fails: it is given the call's name and its path and returns the
    /// error, or `nil` to let the call be made.
    package typealias Hook = @Sendable (_ call: SystemCall, _ path: String?) -> Errno?

    private static let isInstalled = Atomic<Bool>(false)
    // A monitor and no `Mutex`, whose contended path the thread sanitizer cannot see into: tests
    // would report races here that are none.
    private static let hook = Monitor<Hook?>(nil)

    /// Installs a hook for the whole process, or removes it with `nil`.
    package static func install(_ newHook: Hook?) {
        hook.withLock { $0 = newHook }
        isInstalled.store(newHook != nil, ordering: .releasing)
    }

    /// The installed error for a call about to be made. The hook runs outside of the lock.
    @inline(__always)
    static func fault(for call: SystemCall, path: () -> String?) -> Errno? {
        guard isInstalled.load(ordering: .acquiring) else { return nil }
        return hook.withLock { $0 }?(call, path())
    }
}
