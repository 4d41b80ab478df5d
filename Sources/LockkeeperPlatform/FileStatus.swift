import Glibc

/// Which file this is: two paths or descriptors with equal identities are the same file.
package struct FileIdentity: Sendable, Hashable {
    /// The device.
    package let device: UInt64
    /// The file's number on the device.
    package let inode: UInt64

    /// The identity of a device and inode number.
    package init(device: UInt64, inode: UInt64) {
        self.device = device
        self.inode = inode
    }
}

/// What the kernel says about a file.
package struct FileStatus: Sendable, Hashable {
    /// The kinds of files.
    package enum Kind: Sendable, Hashable {
        /// A regular file.
        case regular
        /// A directory.
        case directory
        /// A symbolic link, seen only where links are not followed.
        case symbolicLink
        /// A socket.
        case socket
        /// Anything else: a pipe or a device.
        case other
    }

    /// Which file it is.
    package let identity: FileIdentity
    /// What kind of file it is.
    package let kind: Kind
    /// The permission bits.
    package let mode: UInt32
    /// The owner.
    package let userID: UInt32
    /// The size in bytes.
    package let size: Int64
    /// When the content was last changed, in nanoseconds of the wall clock: to be compared for
    /// equality only (I-15).
    package let modified: Int64
    /// How many names the file has; 0 for a file that was removed while it was open.
    package let linkCount: UInt64

    init(_ status: stat) {
        identity = FileIdentity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
        mode = status.st_mode & 0o7777
        userID = status.st_uid
        size = Int64(status.st_size)
        modified =
            Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec)
        linkCount = UInt64(status.st_nlink)
        kind =
            switch status.st_mode & S_IFMT {
            case S_IFREG: .regular
            case S_IFDIR: .directory
            case S_IFLNK: .symbolicLink
            case S_IFSOCK: .socket
            default: .other
            }
    }
}
