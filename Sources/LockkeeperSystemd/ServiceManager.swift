private import CLockkeeperSystemd
private import Glibc

/// Tells the service manager that started this process how it is doing, and takes its sockets.
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
        /// The service lives and holds what it should hold.
        case watchdog
        /// Starting or stopping takes this much longer, counted from now.
        case extendTimeout(Duration)
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

    /// Whether the manager ends this process when it is not told ``Notification/watchdog`` in time.
    package static var wantsWatchdog: Bool {
        guard let microseconds = number("WATCHDOG_USEC"), microseconds > 0 else { return false }
        // Where it is set for another process, an environment was handed on.
        return number("WATCHDOG_PID").map { $0 == Int(getpid()) } ?? true
    }

    /// A socket that the manager has bound and gave to this process under a name (`FileDescriptorName=`
    /// of its unit); `nil` where there is none. It belongs to the process for its life.
    package static func socket(named name: String) -> Int32? {
        guard number("LISTEN_PID") == Int(getpid()), let count = number("LISTEN_FDS"), count > 0
        else { return nil }
        let names = variable("LISTEN_FDNAMES")?.split(
            separator: ":",
            omittingEmptySubsequences: false
        )
        // Who gives one socket without a name, as tools do, means this one.
        guard let index = names?.firstIndex(where: { $0 == name }) ?? (count == 1 ? 0 : nil),
            index < count
        else { return nil }
        let descriptor = firstDescriptor + Int32(index)
        // A program that this one starts must not listen in its place.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        return descriptor
    }

    /// SD_LISTEN_FDS_START of sd_listen_fds(3).
    private static let firstDescriptor: Int32 = 3

    /// The assignment that sd_notify(3) defines.
    static func assignment(for notification: Notification) -> String {
        switch notification {
        case .ready: "READY=1"
        case .status(let text): "STATUS=" + singleLine(text)
        case .watchdog: "WATCHDOG=1"
        case .extendTimeout(let duration):
            "EXTEND_TIMEOUT_USEC=\(max(0, duration.components.seconds) * 1_000_000)"
        case .stopping: "STOPPING=1"
        }
    }

    /// Assignments are separated by newlines: a status that contained one could say "STOPPING=1".
    private static func singleLine(_ text: String) -> String {
        let scalars = text.unicodeScalars.map { $0.value < 0x20 ? " " : $0 }
        return String(String.UnicodeScalarView(scalars))
    }

    private static func number(_ name: String) -> Int? { variable(name).flatMap { Int($0) } }

    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }
}
