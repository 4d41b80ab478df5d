package import LockkeeperPlatform

/// Which of an account's database files a distrust word is about.
package enum DistrustedFile: Sendable, Hashable, CaseIterable {
    /// `messages-<n>.db`
    case messages
    /// `settings-<n>.db`
    case settings
}

/// Says that a sync of a database file failed: what the kernel shows of it may never reach the
/// disk, and no later sync, reopening or reading can tell (design 5.2).
package struct Distrust: Sendable, Hashable {
    /// The boot in which the sync failed. After another boot the file is what the disk has, and
    /// the word is void.
    package let bootID: BootID
    /// The number in the file's name. A newer file is trusted.
    package let fileNumber: UInt64

    /// A distrust word.
    package init(bootID: BootID, fileNumber: UInt64) {
        self.bootID = bootID
        self.fileNumber = fileNumber
    }

    /// Whether a file of this number must not be trusted in this boot.
    package func covers(fileNumber: UInt64, bootID: BootID) -> Bool {
        self.fileNumber == fileNumber && self.bootID == bootID
    }
}

/// What processes have left for each other in the lock file, as one look found it.
package struct Notices: Sendable, Hashable {
    /// Whether everybody was asked to leave. It counts only while ENTRY is held exclusively.
    package let isLeaveWordSet: Bool
    private let messages: Distrust?
    private let settings: Distrust?

    init(isLeaveWordSet: Bool, messages: Distrust?, settings: Distrust?) {
        self.isLeaveWordSet = isLeaveWordSet
        self.messages = messages
        self.settings = settings
    }

    /// What is known about a failed sync of one of the account's files.
    package func distrust(of file: DistrustedFile) -> Distrust? {
        switch file {
        case .messages: messages
        case .settings: settings
        }
    }
}
