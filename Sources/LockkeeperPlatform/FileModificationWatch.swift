import Glibc

/// Tells when files are written to, each once: who wants to hear of a file again watches it again.
/// Nothing is opened. Confined to one thread.
package final class FileModificationWatch {
    private let descriptor: FileDescriptor

    /// Names one file's watch until it has told.
    package struct Token: Sendable, Hashable {
        fileprivate let number: Int32
    }

    /// A watch of no file.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses, for example with `EMFILE` where the
    ///   user has as many of them as it allows.
    package init() throws(SystemCallError) {
        let flags = Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK)
        descriptor = FileDescriptor(owning: try system(.inotifyInit) { inotify_init1(flags) })
    }

    /// The descriptor's number, for ``Poll``; readable when ``take()`` gives something.
    package var raw: Int32 { descriptor.raw }

    /// Watches a file until it is written to, cut or removed.
    ///
    /// - Returns: the token; the same one as before where the file is watched already.
    /// - Throws: ``SystemCallError`` when there is no such file or the kernel refuses.
    package func watch(_ path: String) throws(SystemCallError) -> Token {
        let raw = raw
        let mask = UInt32(IN_MODIFY) | UInt32(IN_ONESHOT)
        return Token(
            number: try system(.inotifyAddWatch, path: path) { inotify_add_watch(raw, path, mask) }
        )
    }

    /// The files that were written to; a file may be given twice. Never waits.
    package func take() -> [Token] {
        var tokens: [Token] = []
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
            while true {
                let count = Glibc.read(descriptor.raw, buffer.baseAddress, buffer.count)
                // Nothing more is there.
                if count <= 0 { return }
                var offset = 0
                while offset < count {
                    let event = buffer.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
                    tokens.append(Token(number: event.wd))
                    offset += MemoryLayout<inotify_event>.size + Int(event.len)
                }
            }
        }
        return tokens
    }
}
