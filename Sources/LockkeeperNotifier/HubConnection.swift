import LockkeeperDomain
import LockkeeperPlatform

/// One client of the hub: its socket, the line that it has begun, and the line that it has not
/// taken yet. Used by the hub's thread alone. Never waits.
final class HubConnection {
    let id: ConnectionID
    let socket: UnixConnection
    /// Cuts what the client sends.
    var lines: LineBuffer
    /// When a line that has begun must have ended; the first one begins with the connection. A
    /// client that sends a byte now and then holds a place no longer than that (B108).
    var lineDeadline: Deadline?
    /// The client has closed its direction and may still listen, as `socat` does at the end of its
    /// input.
    var isInputEnded = false
    /// It is to be closed at the end of the round.
    var isClosing = false
    private var output: [UInt8] = []
    private var outputOffset = 0

    init(id: ConnectionID, socket: UnixConnection, lineByteCountMax: Int, lineDeadline: Deadline) {
        self.id = id
        self.socket = socket
        self.lines = LineBuffer(byteCountMax: lineByteCountMax)
        self.lineDeadline = lineDeadline
    }

    /// Whether the socket has taken everything that it was given.
    var isDrained: Bool { outputOffset == output.count }

    /// What is to be waited for.
    var interest: Poll.Interest {
        var interest: Poll.Interest = isInputEnded ? [] : .readable
        if !isDrained { interest.insert(.writable) }
        return interest
    }

    /// Sends a line after everything before it was taken, as far as the socket takes it.
    func send(_ line: [UInt8]) {
        precondition(isDrained, "a line is sent when those before it were taken")
        output = line
        outputOffset = 0
        flush()
    }

    /// Sends what the socket did not take before.
    func flush() {
        while !isDrained && !isClosing {
            do {
                let count = try output.withUnsafeBytes { bytes in
                    try socket.send(UnsafeRawBufferPointer(rebasing: bytes[outputOffset...]))
                }
                if count == 0 { return }
                outputOffset += count
            } catch {
                // The client is gone; there is nobody to tell.
                isClosing = true
            }
        }
    }

    /// Says why the hub closes, if the socket takes the whole line at once; what it has not taken
    /// of a line before makes that impossible.
    func close(code: String, reason: String) {
        if isDrained && !isClosing {
            send(NotifierLine.encodeFixed(.error(code: code, reason: reason)))
        }
        isClosing = true
    }
}
