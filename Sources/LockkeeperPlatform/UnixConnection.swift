import CLockkeeperPlatform
import Glibc

/// Who is at the other end of a connection, as the kernel saw it when the connection was made.
package struct PeerCredentials: Sendable, Hashable {
    /// The process.
    package let pid: Int32
    /// Its user.
    package let userID: UInt32
    /// Its group.
    package let groupID: UInt32
}

/// A connected Unix stream socket, closed with the last reference to it.
///
/// Sending never raises SIGPIPE (B103). One thread may send while another receives.
package final class UnixConnection: Sendable {
    private let descriptor: FileDescriptor

    /// What a call of `receive` found.
    package enum Received: Sendable, Hashable {
        /// So many bytes.
        case bytes(Int)
        /// Nothing yet; non-blocking connections only.
        case nothing
        /// The peer has closed.
        case end
    }

    /// Takes over a connected socket.
    package init(owning descriptor: consuming FileDescriptor) { self.descriptor = descriptor }

    /// Connects to a listener. A full backlog refuses a non-blocking connection with `EAGAIN`.
    ///
    /// - Throws: ``UnixSocketError`` when the path is too long or nobody listens.
    package static func connect(
        to path: String,
        isBlocking: Bool = true
    ) throws(UnixSocketError) -> UnixConnection {
        var address = try UnixAddress(path: path)
        do throws(SystemCallError) {
            let descriptor = try makeSocket(isBlocking: isBlocking)
            let raw = descriptor.raw
            _ = try system(.connect, path: path) {
                address.withPointer { Glibc.connect(raw, $0, $1) }
            }
            return UnixConnection(owning: descriptor)
        } catch {
            throw .system(error)
        }
    }

    /// Two connections, each the other's peer.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package static func pair(
        isBlocking: Bool = true
    ) throws(SystemCallError) -> (UnixConnection, UnixConnection) {
        var raw: (Int32, Int32) = (-1, -1)
        let type = socketType(isBlocking: isBlocking)
        _ = try system(.socketpair) {
            withUnsafeMutableBytes(of: &raw) { buffer in
                socketpair(AF_UNIX, type, 0, buffer.assumingMemoryBound(to: Int32.self).baseAddress)
            }
        }
        return (
            UnixConnection(owning: FileDescriptor(owning: raw.0)),
            UnixConnection(owning: FileDescriptor(owning: raw.1))
        )
    }

    /// The descriptor's number, for ``Poll``.
    package var raw: Int32 { descriptor.raw }

    /// Who is at the other end.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package func peer() throws(SystemCallError) -> PeerCredentials {
        var pid: pid_t = 0
        var userID: uid_t = 0
        var groupID: gid_t = 0
        let raw = raw
        _ = try system(.getsockopt) { lk_peer_credentials(raw, &pid, &userID, &groupID) }
        return PeerCredentials(pid: pid, userID: userID, groupID: groupID)
    }

    /// Sends what the socket takes.
    ///
    /// - Returns: How many bytes it took; 0 where it takes none now (non-blocking only).
    /// - Throws: ``SystemCallError`` when the peer is gone (`EPIPE`, `ECONNRESET`).
    package func send(_ bytes: UnsafeRawBufferPointer) throws(SystemCallError) -> Int {
        if bytes.isEmpty { return 0 }
        let raw = raw
        do throws(SystemCallError) {
            return try system(.send) {
                Glibc.send(raw, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
            }
        } catch {
            if error.errno == .wouldBlock { return 0 }
            throw error
        }
    }

    /// Receives up to the buffer's size.
    ///
    /// - Throws: ``SystemCallError`` when the connection was broken (`ECONNRESET`).
    package func receive(
        into buffer: UnsafeMutableRawBufferPointer
    ) throws(SystemCallError) -> Received {
        precondition(!buffer.isEmpty, "an empty buffer cannot be told from the end")
        let raw = raw
        do throws(SystemCallError) {
            let count = try system(.receive) { recv(raw, buffer.baseAddress, buffer.count, 0) }
            return count == 0 ? .end : .bytes(count)
        } catch {
            if error.errno == .wouldBlock { return .nothing }
            throw error
        }
    }

    /// Ends both directions: the peer, and threads that wait in `receive` here, see the end. The
    /// descriptor stays open until the last reference goes, so that its number is not reused
    /// under them.
    package func shutDown() {
        // ENOTCONN says that the peer was faster.
        _ = shutdown(descriptor.raw, Int32(SHUT_RDWR))
    }
}

/// The type argument of `socket` for a stream.
func socketType(isBlocking: Bool) -> Int32 {
    Int32(SOCK_STREAM.rawValue) | lk_socket_cloexec() | (isBlocking ? 0 : lk_socket_nonblock())
}

/// An unconnected stream socket.
func makeSocket(isBlocking: Bool) throws(SystemCallError) -> FileDescriptor {
    let type = socketType(isBlocking: isBlocking)
    return FileDescriptor(owning: try system(.socket) { socket(AF_UNIX, type, 0) })
}

/// A path as the socket calls want it.
struct UnixAddress {
    private var address = sockaddr_un()

    init(path: String) throws(UnixSocketError) {
        let byteCount = path.utf8.count
        guard byteCount <= UnixSocketError.pathByteCountMax else {
            throw .pathTooLong(path: path, byteCount: byteCount)
        }
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    }

    mutating func withPointer(
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
