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

    /// Writes a file under a temporary name beside another one, synced, for the caller to rename.
    ///
    /// - Returns: its path: "<path>.<pid>-<number>.tmp".
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package static func writeTemporary(
        beside path: String,
        _ bytes: [UInt8],
        mode: UInt32 = 0o600
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

    /// Whether a name is one that ``writeTemporary(beside:_:mode:)`` gives.
    package static func isTemporary(_ name: String) -> Bool { owner(ofTemporary: name) != nil }

    /// Removes temporary files in a folder whose processes are gone.
    ///
    /// - Returns: how many there were.
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    @discardableResult
    package static func removeAbandonedTemporaries(
        in folder: String
    ) throws(SystemCallError) -> Int {
        var count = 0
        for name in try abandonedTemporaries(in: folder) {
            if try remove("\(folder)/\(name)") { count += 1 }
        }
        return count
    }

    /// The names of temporary files in a folder whose processes are gone.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package static func abandonedTemporaries(
        in folder: String
    ) throws(SystemCallError) -> [String] {
        var names: [String] = []
        for name in try list(folder) {
            guard let pid = owner(ofTemporary: name) else { continue }
            // A later process may have the number: then the file stays until that one is gone too.
            if let identity = try ProcessIdentity.read(pid: pid),
                try ![.zombie, .gone].contains(identity.condition())
            {
                continue
            }
            names.append(name)
        }
        return names
    }

    private static func owner(ofTemporary name: String) -> Int32? {
        guard name.hasSuffix(".tmp"),
            let mark = name.dropLast(4).split(separator: ".").last
        else { return nil }
        let numbers = mark.split(separator: "-", omittingEmptySubsequences: false)
        guard numbers.count == 2, UInt64(numbers[1]) != nil else { return nil }
        return Int32(numbers[0])
    }
}
