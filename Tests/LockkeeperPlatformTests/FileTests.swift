import Glibc
import LockkeeperPlatform
import LockkeeperTestSupport
import Testing

@Suite
struct FileTests {
    @Test("reading up to a limit leaves what lies behind it to the next reading")
    func readingInPieces() throws {
        let folder = try TemporaryDirectory()
        let content = (0..<50_000).map { UInt8($0 % 251) }
        try FileSystem.replaceFile(at: folder.path + "/f", with: content)
        let file = try FileDescriptor(opening: folder.path + "/f")
        var pieces: [UInt8] = []
        for limit in [1, 16_385, 20_000, 1 << 20] {
            let piece = try file.readToEnd(limit: limit)
            #expect(piece.count == min(limit, content.count - pieces.count))
            pieces += piece
        }
        #expect(pieces == content)
    }

    @Test("What is written at an offset is read from it, and reading stops at the end")
    func offsets() throws {
        let directory = try TemporaryDirectory()
        let file = try FileDescriptor(opening: directory.file("f"), [.create, .readWrite])
        try bytes("hello").withUnsafeBytes { try file.write($0, at: 10) }
        var buffer = [UInt8](repeating: 1, count: 10)
        let count = try buffer.withUnsafeMutableBytes { try file.read(into: $0, at: 8) }
        #expect(count == 7)
        #expect(Array(buffer[..<count]) == [0, 0] + bytes("hello"))
        let status = try file.status()
        #expect(status.size == 15)
        #expect(status.kind == .regular)
        #expect(status.linkCount == 1)
        #expect(status.userID == Environment.userID)
        try file.truncate(to: 3)
        try file.sync()
        #expect(try file.status().size == 3)
    }

    @Test("Reading stops at its limit")
    func limit() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("f")
        let content = [UInt8](repeating: 7, count: 40_000)
        try FileSystem.replaceFile(at: path, with: content)
        #expect(try FileSystem.contents(of: path) == content)
        #expect(try FileSystem.contents(of: path, limit: 20_000).count == 20_000)
    }

    @Test("A descriptor is closed with its value")
    func closes() throws {
        let directory = try TemporaryDirectory()
        let raw: Int32
        do {
            let file = try FileDescriptor(opening: directory.file("f"), [.create, .readWrite])
            raw = file.raw
            #expect(fcntl(raw, F_GETFD) & FD_CLOEXEC != 0)
        }
        // Another test may have been given the number since: then it is another file.
        let reopened = try? FileSystem.status("/proc/self/fd/\(raw)")
        let path = try FileSystem.status(directory.file("f"))
        #expect(reopened?.identity != path?.identity)
    }

    @Test("Making a directory twice is no error, over a file it is")
    func makeDirectory() throws {
        let directory = try TemporaryDirectory()
        try FileSystem.makeDirectory(directory.file("d"))
        try FileSystem.makeDirectory(directory.file("d"))
        #expect(try FileSystem.status(directory.file("d"))?.mode == 0o700)
        try FileSystem.replaceFile(at: directory.file("f"), with: [])
        let error = #expect(throws: SystemCallError.self) {
            try FileSystem.makeDirectory(directory.file("f"))
        }
        #expect(error?.errno == .notDirectory)
    }

    @Test("Names are listed, renamed and removed; what is missing is no error")
    func names() throws {
        let directory = try TemporaryDirectory()
        try FileSystem.replaceFile(at: directory.file("a"), with: [])
        try FileSystem.replaceFile(at: directory.file("b"), with: [])
        try FileSystem.rename(directory.file("a"), to: directory.file("c"))
        try FileSystem.syncDirectory(directory.path)
        #expect(try FileSystem.list(directory.path).sorted() == ["b", "c"])
        #expect(try FileSystem.remove(directory.file("b")))
        #expect(try !FileSystem.remove(directory.file("b")))
        #expect(try FileSystem.status(directory.file("b")) == nil)
        #expect(try FileSystem.status(directory.file("c/below")) == nil)
    }

    // B27
    @Test("Two names of one file have one canonical path and one identity")
    func canonicalPath() throws {
        let directory = try TemporaryDirectory()
        try FileSystem.makeDirectory(directory.file("d"))
        try #require(symlink(directory.file("d"), directory.file("link")) == 0)
        let one = try FileSystem.canonicalPath(directory.file("link/../d/."))
        let other = try FileSystem.canonicalPath(directory.file("link"))
        #expect(one == other)
        let link = try FileSystem.status(directory.file("link"), followingLinks: false)
        #expect(link?.kind == .symbolicLink)
        let byLink = try FileSystem.status(directory.file("link"))?.identity
        let byName = try FileSystem.status(directory.file("d"))?.identity
        #expect(byLink == byName)
    }

    @Test(
        "The directory of a path is what stands before its last slash",
        arguments: [("/a/b", "/a"), ("/a", "/"), ("a", "."), ("a/b/c", "a/b")]
    )
    func directoryOfPath(path: String, directory: String) {
        #expect(FileSystem.directory(of: path) == directory)
    }

    // B28
    @Test("File systems of other machines are told from this kernel's")
    func fileSystemKinds() throws {
        #expect(try !FileSystem.fileSystemKind(at: "/tmp").isNetwork)
        #expect(try FileSystem.fileSystemKind(at: "/proc").reach == .unknown)
        #expect(FileSystemKind(magic: 0x6969).isNetwork)
        #expect(FileSystemKind(magic: 0xFF53_4D42).name == "cifs")
        #expect(FileSystemKind(magic: 0x6573_5546).reach == .unknownFuse)
        #expect(FileSystemKind(magic: 0x6573_5546).isNetwork)
        #expect(FileSystemKind(magic: 0x1234).name == "0x1234")
        #expect(try FileSystem.freeBytes(at: "/tmp") > 0)
    }
}
