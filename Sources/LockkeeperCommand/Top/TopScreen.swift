import LockkeeperPlatform
import Synchronization

/// The terminal's other screen, which leaves what stood there before as it was.
final class TopScreen: Sendable {
    private let console: Console
    private let shown = Mutex<Frame?>(nil)

    private struct Frame: Equatable, Sendable {
        var lines: [String]
        var size: TerminalSize
    }

    init(_ console: Console) { self.console = console }

    /// Goes to the other screen and hides the cursor.
    ///
    /// - Throws: ``SystemCallError`` when the terminal takes nothing.
    func begin() throws(SystemCallError) {
        try console.write(Array("\u{1b}[?1049h\u{1b}[?25l".utf8))
    }

    /// Comes back, with the cursor. Where the terminal has gone there is nothing to come back to.
    func end() { try? console.write(Array("\u{1b}[?25h\u{1b}[?1049l".utf8)) }

    /// Shows lines, which fit. What has not changed is not drawn again: over a slow line that is seen.
    ///
    /// - Throws: ``SystemCallError`` when the terminal takes nothing.
    func show(_ lines: [String], _ size: TerminalSize) throws(SystemCallError) {
        let frame = Frame(lines: lines, size: size)
        let isNew = shown.withLock { shown in
            defer { shown = frame }
            return shown != frame
        }
        guard isNew else { return }
        // No line end behind the last one: it would scroll the first one away.
        let text = lines.map { $0 + "\u{1b}[K" }.joined(separator: "\r\n")
        try console.write(Array("\u{1b}[H\(text)\u{1b}[J".utf8))
    }
}
