import LockkeeperDomain
import LockkeeperPlatform

/// The folder of a run that makes workspaces of its own: one that was named and stays, or one for
/// temporary files that goes.
struct ScratchFolder {
    /// The folder's path.
    let path: String
    private let isKept: Bool

    /// Takes the folder that was named, which must be missing or empty, so that nobody's accounts
    /// become part of a run; else makes one for temporary files.
    ///
    /// - Parameter purpose: what it is for, as one word.
    /// - Throws: ``CommandError`` when it has something in it, `SystemCallError` when it cannot be
    ///   made.
    init(kept path: String?, for purpose: String) throws {
        if let path {
            if try FileSystem.status(path)?.kind == .directory, try !FileSystem.list(path).isEmpty {
                throw CommandError(
                    "not-empty",
                    .cannotCreate,
                    "\(path) is not empty. Give the \(purpose) a folder of its own with --root, or none."
                )
            }
            self.path = path
            isKept = true
            return
        }
        let parent = Environment.variable("TMPDIR") ?? "/tmp"
        let number = String(UInt64.random(in: 0...UInt64.max), radix: 36)
        self.path = "\(parent)/lockkeeper-\(purpose)-\(number)"
        isKept = false
        try FileSystem.makeDirectory(self.path)
    }

    /// Removes the folder, unless it was named. What cannot be removed stays, among other temporary
    /// files.
    func remove() {
        guard !isKept else { return }
        _ = try? Self.removeTree(path)
    }

    private static func removeTree(_ path: String) throws(SystemCallError) {
        for name in try FileSystem.list(path) {
            let entry = "\(path)/\(name)"
            if try FileSystem.status(entry, followingLinks: false)?.kind == .directory {
                try removeTree(entry)
            } else {
                try FileSystem.remove(entry)
            }
        }
        try FileSystem.removeDirectory(path)
    }
}
