private import CLockkeeperSystemd

/// Tells the service manager that started this process how it is doing.
///
/// Without one, or without its library, every call does nothing: a program behaves the same on a
/// terminal. Only a service pays for opening the library.
package enum ServiceManager {
    /// What the service manager is told.
    package enum Notification: Sendable, Hashable {
        /// The service serves; units that wait for it may start.
        case ready
        /// One line for people, shown by `systemctl status`.
        case status(String)
        /// The service has begun to shut down.
        case stopping
    }

    /// Sends one notification; it never waits for the manager to read it.
    ///
    /// - Returns: Whether there was a service manager to tell.
    /// - Throws: ``ServiceManagerError`` when there is one and it cannot be reached.
    @discardableResult
    package static func notify(_ notification: Notification) throws(ServiceManagerError) -> Bool {
        let result = lk_sd_notify(assignment(for: notification))
        guard result >= 0 else { throw ServiceManagerError(errorNumber: -result) }
        return result > 0
    }

    /// The assignment that sd_notify(3) defines.
    static func assignment(for notification: Notification) -> String {
        switch notification {
        case .ready: "READY=1"
        case .status(let text): "STATUS=" + singleLine(text)
        case .stopping: "STOPPING=1"
        }
    }

    /// Assignments are separated by newlines: a status that contained one could say "STOPPING=1".
    private static func singleLine(_ text: String) -> String {
        let scalars = text.unicodeScalars.map { $0.value < 0x20 ? " " : $0 }
        return String(String.UnicodeScalarView(scalars))
    }
}
