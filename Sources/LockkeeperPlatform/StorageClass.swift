/// What the system is to do with a path beside storing it: when it may be read, and whether it is in
/// backups. Linux has neither: nothing is done here. It is said of each path so that a port to a
/// system that has them fills one function.
package struct StorageClass: Sendable, Hashable {
    /// When the content may be read.
    package enum Protection: Sendable, Hashable {
        /// Once the device was unlocked after its start, by helpers that a push wakes too.
        case untilFirstUnlock
        /// While the device is unlocked.
        case whileUnlocked
    }

    /// Whether backups have it.
    package enum Backup: Sendable, Hashable {
        /// It cannot be had again.
        case included
        /// It can be fetched or made again, or must not leave the device.
        case excluded
    }

    /// When the content may be read.
    package let protection: Protection
    /// Whether backups have it.
    package let backup: Backup

    /// Joins the two.
    package init(_ protection: Protection, _ backup: Backup) {
        self.protection = protection
        self.backup = backup
    }

    /// Documents and media that the person made or chose to keep.
    package static let kept = StorageClass(.untilFirstUnlock, .included)
    /// Media that can be fetched again.
    package static let cache = StorageClass(.untilFirstUnlock, .excluded)
    /// Secrets.
    package static let secret = StorageClass(.untilFirstUnlock, .excluded)
}

extension FileSystem {
    /// Makes a folder that only this user may enter, durably, and says of which class what is in it is.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package static func makeFolder(
        _ path: String,
        of storageClass: StorageClass
    ) throws(SystemCallError) {
        if try status(path)?.kind == .directory { return }
        try makeDirectory(path, mode: 0o700)
        try setStorageClass(storageClass, of: path)
        try syncDirectory(directory(of: path))
    }

    /// Tells the system a path's class: nothing on Linux (``StorageClass``).
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package static func setStorageClass(
        _ storageClass: StorageClass,
        of path: String
    ) throws(SystemCallError) {}
}
