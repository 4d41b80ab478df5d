/// The kind of a file system, told by the magic number that `statfs` reports.
///
/// File locks and the shared memory of SQLite's log work only where every process sees the same
/// kernel's pages (B28).
package struct FileSystemKind: Sendable, Hashable {
    /// The name that `mount` shows, or the magic number in hexadecimal.
    package let name: String
    /// Where the file system's pages are.
    package let reach: Reach

    /// Where a file system's pages are.
    package enum Reach: Sendable, Hashable {
        /// In this kernel.
        case local
        /// On other machines too.
        case network
        /// In a process of this machine, which may itself speak to others; it must count as a
        /// network unless somebody says otherwise.
        case unknownFuse
        /// Not known to this program.
        case unknown
    }

    /// Whether it must not hold a store as far as one can tell.
    package var isNetwork: Bool { reach == .network || reach == .unknownFuse }

    /// The kind of a magic number.
    package init(magic: UInt32) {
        guard let (name, reach) = Self.known[magic] else {
            self.name = "0x" + String(magic, radix: 16)
            self.reach = .unknown
            return
        }
        self.name = name
        self.reach = reach
    }

    // The numbers are those of the kernel's `linux/magic.h` and, for the last few, of the file
    // systems' own sources.
    private static let known: [UInt32: (String, Reach)] = [
        0xEF53: ("ext4", .local),
        0x5846_5342: ("xfs", .local),
        0x9123_683E: ("btrfs", .local),
        0xF2F5_2010: ("f2fs", .local),
        0x0102_1994: ("tmpfs", .local),
        0x8584_58F6: ("ramfs", .local),
        0x794C_7630: ("overlay", .local),
        0xF15F: ("ecryptfs", .local),
        0x2FC1_2FC1: ("zfs", .local),
        0xCA45_1A4E: ("bcachefs", .local),
        0x4D44: ("vfat", .local),
        0x2011_BAB0: ("exfat", .local),
        0x7366_746E: ("ntfs3", .local),
        0x6969: ("nfs", .network),
        0x517B: ("smb", .network),
        0xFF53_4D42: ("cifs", .network),
        0xFE53_4D42: ("smb2", .network),
        0x0102_1997: ("9p", .network),
        0x00C3_6400: ("ceph", .network),
        0x5346_414F: ("afs", .network),
        0x6B41_4653: ("afs", .network),
        0x7375_7245: ("coda", .network),
        0x564C: ("ncp", .network),
        0x7461_636F: ("ocfs2", .network),
        0x0116_1970: ("gfs2", .network),
        0x0BD0_0BD0: ("lustre", .network),
        0x786F_4256: ("vboxsf", .network),
        0x6573_5546: ("fuse", .unknownFuse),
    ]
}
