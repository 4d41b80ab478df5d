import Lockkeeper
import LockkeeperCrypto
import LockkeeperPlatform

/// The folder of an account's large media: `media/<2 digits>/<64 digits>`, the SHA-256 of the content in
/// hexadecimal digits, and `media/incoming/` for what is being written.
struct MediaFolder {
    let path: String

    /// - Parameter account: the account's folder.
    init(_ account: String) { path = "\(account)/media" }

    private var incoming: String { "\(path)/incoming" }

    /// The file of a digest.
    func path(_ digest: [UInt8]) -> String {
        let name = digest.hexadecimal
        return "\(path)/\(name.prefix(2))/\(name)"
    }

    static func digest(of bytes: [UInt8]) -> [UInt8] { SHA256.digest(of: bytes) }

    /// The content of a digest's file; `nil` where there is none.
    func contents(_ digest: [UInt8]) throws -> [UInt8]? {
        do throws(SystemCallError) {
            return try FileSystem.contents(of: path(digest))
        } catch {
            if error.errno == .noSuchFile || error.errno == .notDirectory { return nil }
            throw error
        }
    }

    /// Content that was written and is not anybody's yet.
    struct Placed: Sendable {
        let byteCount: Int
        let digest: [UInt8]
        /// Where it stands; `nil` for content that goes into the database.
        let temporary: String?
        let inline: [UInt8]?
    }

    /// Takes content in: small content into memory, other content into a file, synced.
    ///
    /// - Parameter isEncrypted: whether nothing may come into a file.
    func take(
        _ content: MediaContent,
        inlineByteCountMax: Int,
        isEncrypted: Bool = false
    ) throws -> Placed {
        switch content {
        case .bytes(let bytes):
            let digest = Self.digest(of: bytes)
            if bytes.count <= inlineByteCountMax {
                return Placed(byteCount: bytes.count, digest: digest, temporary: nil, inline: bytes)
            }
            if isEncrypted { throw Self.tooLarge(inlineByteCountMax) }
            try makeFolders()
            return Placed(
                byteCount: bytes.count,
                digest: digest,
                temporary: try FileSystem.writeTemporary(
                    beside: "\(incoming)/content",
                    bytes
                ),
                inline: nil
            )
        case .file(let source):
            let file = try FileDescriptor(opening: source)
            let start = try file.readToEnd(limit: inlineByteCountMax + 1)
            if start.count <= inlineByteCountMax {
                return try take(.bytes(start), inlineByteCountMax: inlineByteCountMax)
            }
            if isEncrypted { throw Self.tooLarge(inlineByteCountMax) }
            return try copy(file, after: start)
        }
    }

    private static func tooLarge(_ byteCountMax: Int) -> LockkeeperError {
        LockkeeperError(
            .invalidInput,
            subject: "media",
            explanation: "media of an encrypted account has at most \(byteCountMax) bytes",
            answer: .fixProgram,
            remedy: "Encrypt it, and store it elsewhere."
        )
    }

    private func copy(_ file: borrowing FileDescriptor, after start: [UInt8]) throws -> Placed {
        try makeFolders()
        let temporary = try FileSystem.writeTemporary(beside: "\(incoming)/content", [])
        do {
            let target = try FileDescriptor(opening: temporary, [.writeOnly, .noFollow])
            var digest = SHA256()
            var (count, piece) = (0, start)
            while !piece.isEmpty {
                try target.write(piece)
                digest.update(piece)
                count += piece.count
                piece = try file.readToEnd(limit: 1 << 20)
            }
            try target.sync()
            return Placed(
                byteCount: count,
                digest: digest.finalize(),
                temporary: temporary,
                inline: nil
            )
        } catch {
            _ = try? FileSystem.remove(temporary)
            throw error
        }
    }

    /// Gives content its name, durably. Its temporary name stays, so that this can be done once more
    /// where somebody found the file to be nobody's and removed it.
    func publish(_ placed: Placed) throws {
        guard let temporary = placed.temporary else { return }
        let path = path(placed.digest)
        let folder = FileSystem.directory(of: path)
        try FileSystem.makeFolder(folder, of: .cache)
        do throws(SystemCallError) {
            try FileSystem.link(temporary, to: path)
        } catch {
            guard error.errno == .fileExists else { throw error }
            // One of this name and size has this content, unless the disk has lost some of it, which
            // the digest tells whoever reads it. One of another size is replaced.
            if try FileSystem.status(path)?.size != Int64(placed.byteCount) {
                try FileSystem.remove(path)
                try FileSystem.link(temporary, to: path)
            }
        }
        try FileSystem.syncDirectory(folder)
    }

    /// Tells the system that content is kept, where it has a file: folders of content are those of a cache.
    func keep(_ placed: Placed) throws {
        guard placed.temporary != nil else { return }
        try FileSystem.setStorageClass(.kept, of: path(placed.digest))
    }

    /// Whether a row's file is there and its bytes are those of its digest; read piece by piece.
    func isWhole(_ row: MediaRow) throws -> Bool {
        guard let expected = row.digest?.bytes, try holds(row) else { return false }
        let file: FileDescriptor
        do throws(SystemCallError) {
            file = try FileDescriptor(opening: path(expected))
        } catch {
            if error.errno == .noSuchFile { return false }
            throw error
        }
        var digest = SHA256()
        var piece = try file.readToEnd(limit: 1 << 20)
        while !piece.isEmpty {
            digest.update(piece)
            piece = try file.readToEnd(limit: 1 << 20)
        }
        return digest.finalize() == expected
    }

    /// Whether a digest's file is there with a size.
    func holds(_ digest: [UInt8], byteCount: Int) throws -> Bool {
        try FileSystem.status(path(digest))?.size == Int64(byteCount)
    }

    /// Whether a row's file is there with its size.
    func holds(_ row: MediaRow) throws -> Bool {
        guard let digest = row.digest?.bytes, let byteCount = row.byteCount else { return false }
        return try holds(digest, byteCount: byteCount)
    }

    private func makeFolders() throws {
        try FileSystem.makeFolder(path, of: .kept)
        try FileSystem.makeFolder(incoming, of: .cache)
        // What processes left that died while they wrote.
        try FileSystem.removeAbandonedTemporaries(in: incoming)
    }

    /// The digests that have a file.
    func digests() throws -> [[UInt8]] {
        guard try FileSystem.status(path) != nil else { return [] }
        return try FileSystem.list(path).sorted().flatMap { name -> [[UInt8]] in
            guard name.utf8.count == 2, [UInt8](hexadecimal: name) != nil else { return [] }
            return try FileSystem.list("\(path)/\(name)").sorted().compactMap {
                [UInt8](hexadecimal: $0).flatMap { $0.count == SHA256.byteCount ? $0 : nil }
            }
        }
    }

    /// The digests that have a file which nobody is about to name in the database: as long as somebody
    /// is, the file has its temporary name as well.
    func settledDigests() throws -> [[UInt8]] {
        try digests().filter { digest in
            try FileSystem.status(path(digest)).map { $0.linkCount == 1 } ?? false
        }
    }

    /// How many files dead processes were writing.
    func abandonedCount() throws -> Int {
        guard try FileSystem.status(incoming) != nil else { return 0 }
        return try FileSystem.abandonedTemporaries(in: incoming).count
    }

    /// Removes what dead processes were writing.
    func removeAbandoned() throws -> Int {
        guard try FileSystem.status(incoming) != nil else { return 0 }
        return try FileSystem.removeAbandonedTemporaries(in: incoming)
    }
}
