import Glibc
import Synchronization

/// Distinguishes the temporary names of one process.
private let replacementCount = Atomic<UInt64>(0)

extension FileSystem {
    /// Replaces a file's content durably and in one act: whoever opens the path, after a power
    /// failure too, finds the old content or the new one.
    ///
    /// The new content goes to a temporary file in the same directory, is synced, renamed over the
    /// old name, and the directory is synced. A crash leaves at most a file
    /// "<name>.<pid>-<number>.tmp" behind.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses. The old content is then still there,
    ///   except when only the directory's sync failed: either may be there then.
    package static func replaceFile(
        at path: String,
        with bytes: [UInt8],
        mode: UInt32 = 0o600
    ) throws(SystemCallError) {
        let temporary = try writeTemporary(beside: path, bytes, mode: mode)
        do throws(SystemCallError) {
            try rename(temporary, to: path)
        } catch {
            // The first error is the one that matters; a leftover does no harm.
            _ = try? remove(temporary)
            throw error
        }
        try syncDirectory(directory(of: path))
    }

    private static func writeTemporary(
        beside path: String,
        _ bytes: [UInt8],
        mode: UInt32
    ) throws(SystemCallError) -> String {
        while true {
            let number = replacementCount.add(1, ordering: .relaxed).newValue
            let temporary = "\(path).\(getpid())-\(number).tmp"
            do throws(SystemCallError) {
                let file = try FileDescriptor(
                    opening: temporary,
                    [.writeOnly, .create, .exclusive, .noFollow],
                    mode: mode
                )
                do throws(SystemCallError) {
                    try file.write(bytes)
                    try file.sync()
                } catch {
                    _ = try? remove(temporary)
                    throw error
                }
                return temporary
            } catch {
                // An earlier process with this pid left the name behind: take the next number.
                if error.errno != .fileExists { throw error }
            }
        }
    }
}
