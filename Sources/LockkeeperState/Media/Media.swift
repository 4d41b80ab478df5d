public import LockkeeperDomain

/// Names a file of the account's: an attachment, an avatar.
public struct MediaID: ByteIdentifier {
    /// What the identifier names, for error sentences.
    public static let noun = "media id"
    /// The identifier's bytes.
    public let bytes: [UInt8]
    /// Makes an identifier from bytes that are known to be valid.
    public init(unchecked bytes: [UInt8]) { self.bytes = bytes }
}

/// Whether content may be taken away when there is too much of it.
public enum MediaRetention: String, Sendable, Hashable, CaseIterable, Codable {
    /// It stays until somebody evicts it by name, and is in backups.
    case kept
    /// It can be fetched again: the least used go first, and no backup has it.
    case cache
}

/// What is known of a file.
public struct Media: Sendable, Equatable {
    /// Its name.
    public let id: MediaID
    /// How far it is.
    public let state: MediaState
    /// Whether it may be taken away.
    public let retention: MediaRetention
    /// Its size in bytes, or what it is expected to be; `nil` where that is not known.
    public let byteCount: Int?
    /// The SHA-256 of its content, or what it is expected to be; `nil` where that is not known.
    public let digest: [UInt8]?
    /// How often somebody began to fetch it.
    public let attemptCount: Int
    /// Why the last attempt failed.
    public let failure: String?
}

/// Where content comes from.
public enum MediaContent: Sendable {
    /// From memory.
    case bytes([UInt8])
    /// From a file, which is copied piece by piece and left.
    case file(path: String)
}

/// What does not fit together between the database and the folder of media.
public struct MediaSweep: Sendable, Equatable {
    /// Content that nothing refers to, in files and in the database, and what dead processes were
    /// writing.
    public internal(set) var orphanCount = 0
    /// Media that should be here and whose file is missing or of another size.
    public internal(set) var missing: [MediaID] = []
    /// Media whose content is there and is not that of its digest; looked for where it was asked for.
    public internal(set) var damaged: [MediaID] = []
    /// Media that a dead process was fetching.
    public internal(set) var abandoned: [MediaID] = []

    /// Whether there is nothing.
    public var isClean: Bool { self == MediaSweep() }
}

/// A row of `lk_media`.
struct MediaRow: Codable, Sendable, Equatable {
    var mediaID: DataValue
    var state: MediaState
    var retention: MediaRetention
    var byteCount: Int?
    var digest: DataValue?
    var attempts = 0
    var failure: String?
    var claimer: String?
    var used = 0

    private enum CodingKeys: String, CodingKey {
        case mediaID = "media_id"
        case byteCount = "byte_count"
        case state, retention, digest, attempts, failure, claimer, used
    }

    static let table = RecordTable<MediaRow>("lk_media", key: ["media_id"])

    var media: Media {
        Media(
            id: MediaID(unchecked: mediaID.bytes),
            state: state,
            retention: retention,
            byteCount: byteCount,
            digest: digest?.bytes,
            attemptCount: attempts,
            failure: failure
        )
    }

    /// Takes a step, where there is one from here.
    mutating func take(_ step: MediaState.Step) -> Bool {
        guard let next = state.after(step) else { return false }
        state = next
        if next != .downloading { claimer = nil }
        return true
    }
}
