import Glibc

/// How large a terminal is, in characters.
package struct TerminalSize: Sendable, Hashable {
    /// Characters in a line.
    package let columnCount: Int
    /// Lines.
    package let lineCount: Int

    /// The size of the terminal behind a descriptor; 80 by 24 where none says.
    package init(of descriptor: borrowing FileDescriptor) {
        var size = winsize()
        let answered = ioctl(descriptor.raw, UInt(TIOCGWINSZ), &size) == 0
        columnCount = answered && size.ws_col > 0 ? Int(size.ws_col) : 80
        lineCount = answered && size.ws_row > 0 ? Int(size.ws_row) : 24
    }
}

/// A terminal that hands over each key as it is typed and shows none of them, for as long as this value
/// lives. ^C and ^Z are keys too.
package struct UnbufferedTerminal: ~Copyable {
    private let raw: Int32
    private let before: termios

    /// Changes the terminal behind a descriptor, which must outlive this value.
    ///
    /// - Throws: ``SystemCallError`` where there is none.
    package init(_ descriptor: borrowing FileDescriptor) throws(SystemCallError) {
        let terminal = descriptor.raw
        var settings = termios()
        _ = try system(.ioctl) { tcgetattr(terminal, &settings) }
        var changed = settings
        changed.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG)
        // What is typed ahead stays: a `q` that came early is meant.
        _ = try system(.ioctl) { tcsetattr(terminal, TCSADRAIN, &changed) }
        raw = terminal
        before = settings
    }

    /// The terminal is as it was. Where that fails the terminal has gone.
    deinit {
        var settings = before
        tcsetattr(raw, TCSADRAIN, &settings)
    }
}
