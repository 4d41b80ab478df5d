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
        } catch {
            throw error.errno == .addressInUse ? .pathTaken(path: path) : .system(error)
        }
        self.path = path
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

    /// Removes the socket file if it is still this listener's.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package func removeFile() throws(SystemCallError) {
        if try isStillAtPath() { try FileSystem.remove(path) }
    }
}
