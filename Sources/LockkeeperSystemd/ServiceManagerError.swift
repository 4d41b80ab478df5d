/// Thrown when the service manager that started this process cannot be reached.
package struct ServiceManagerError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The system's error number.
    package let errorNumber: Int32

    /// The problem as a sentence, with what to do.
    package var description: String {
        "the service manager at NOTIFY_SOCKET cannot be told (error \(errorNumber)): check the"
            + " unit's NotifyAccess and that the socket is reachable from its sandbox"
    }
}
