import CLockkeeperPlatform
import Glibc

/// A Unix stream socket that takes connections at a path.
///
/// Who may listen is decided by a lock, not by the file: a socket file outlives its process.
package final class UnixListener: Sendable {
    private let descriptor: FileDescriptor
    /// The path as it was given.
    package let path: String
    private let identity: FileIdentity?
    /// Whether the file goes with this listener: not where the service manager keeps the socket.
    private let ownsFile: Bool

    /// Listens at a path. The file is made with mode 0600.
    ///
    /// - Parameters:
    ///   - path: At most 107 bytes.
    ///   - replacesLeftover: Whether a socket file that is there may be removed first. The caller
    ///     holds the lock that says that nobody listens there. What is no socket is never removed.
    ///   - backlog: How many connections the kernel keeps before they are accepted.
    ///   - isBlocking: Whether `accept` waits.
    /// - Throws: ``UnixSocketError`` when the path is too long or taken or the kernel refuses.
    package init(
        path: String,
        replacesLeftover: Bool,
        backlog: Int32 = 64,
        isBlocking: Bool = true
    ) throws(UnixSocketError) {
        var address = try UnixAddress(path: path)
        do throws(SystemCallError) {
            if let status = try FileSystem.status(path, followingLinks: false) {
                guard status.kind == .socket, replacesLeftover else {
                    throw SystemCallError(call: .bind, errno: .addressInUse, path: path)
                }
                try FileSystem.remove(path)
            }
            let descriptor = try makeSocket(isBlocking: isBlocking)
            let raw = descriptor.raw
            // The mode set on the unbound socket becomes the file's, masked with the umask. A
            // chmod after the bind would leave a moment in which others could connect, and umask
            // is the whole process's.
            _ = try system(.chmod, path: path) { fchmod(raw, 0o600) }
            _ = try system(.bind, path: path) { address.withPointer { Glibc.bind(raw, $0, $1) } }
            _ = try system(.listen, path: path) { Glibc.listen(raw, backlog) }
            identity = try FileSystem.status(path, followingLinks: false)?.identity
            self.descriptor = descriptor
            ownsFile = true
        } catch {
            throw error.errno == .addressInUse ? .pathTaken(path: path) : .system(error)
        }
        self.path = path
    }

    /// Listens on a socket that the service manager has bound and keeps; accepting does not wait.
    ///
    /// - Parameters:
    ///   - inherited: its descriptor, which stays open.
    ///   - path: where it must be bound.
    /// - Throws: ``UnixSocketError/pathTaken(path:)`` when the path does not lead to that socket;
    ///   what the kernel refuses.
    package init(inheriting inherited: Int32, path: String) throws(UnixSocketError) {
        do throws(SystemCallError) {
            descriptor = FileDescriptor(
                owning: try system(.fcntl) { fcntl(inherited, F_DUPFD_CLOEXEC, 0) }
            )
            let raw = descriptor.raw
            _ = try system(.fcntl) { lk_set_nonblocking(raw) }
            identity = try FileSystem.status(path, followingLinks: false)?.identity
        } catch {
            throw .system(error)
        }
        self.path = path
        ownsFile = false
        guard identity != nil, try boundIdentity() == identity else { throw .pathTaken(path: path) }
    }

    /// The file that the socket was bound to, as its name leads to it now.
    private func boundIdentity() throws(UnixSocketError) -> FileIdentity? {
        var address = sockaddr_un()
        var length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let raw = raw
        do throws(SystemCallError) {
            _ = try system(.getsockname) {
                withUnsafeMutablePointer(to: &address) { pointer in
                    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        getsockname(raw, $0, &length)
                    }
                }
            }
            guard address.sun_family == sa_family_t(AF_UNIX) else { return nil }
            let bound = withUnsafeBytes(of: &address.sun_path) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            return try FileSystem.status(bound, followingLinks: false)?.identity
        } catch {
            throw .system(error)
        }
    }

    /// The descriptor's number, for ``Poll``.
    package var raw: Int32 { descriptor.raw }

    /// Accepts a connection; `nil` where none waits (non-blocking only) or the one that waited has
    /// gone.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses, for example with `EMFILE`.
    package func accept(isBlocking: Bool = true) throws(SystemCallError) -> UnixConnection? {
        let raw = raw
        let flags = lk_socket_cloexec() | (isBlocking ? 0 : lk_socket_nonblock())
        do throws(SystemCallError) {
            let accepted = try system(.accept) { lk_accept4(raw, flags) }
            return UnixConnection(owning: FileDescriptor(owning: accepted))
        } catch {
            if error.errno == .wouldBlock || error.errno == .connectionAborted { return nil }
            throw error
        }
    }

    /// Whether the path still leads here: temporary-file cleaners remove sockets (B107).
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package func isStillAtPath() throws(SystemCallError) -> Bool {
        try FileSystem.status(path, followingLinks: false)?.identity == identity
    }

    /// Removes the socket file if it is still this listener's, and not the service manager's.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package func removeFile() throws(SystemCallError) {
        if ownsFile, try isStillAtPath() { try FileSystem.remove(path) }
    }
}
