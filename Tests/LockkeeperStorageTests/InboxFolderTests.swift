import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperStorage
import LockkeeperTestSupport
import Testing

@Suite("Packets as files: whole or refused, in order, within bounds, on a full disk too (I-9)")
final class InboxFolderTests: Sendable {
    private let directory: TemporaryDirectory
    private var account: String { directory.file("accounts/alice") }
    private var folder: InboxFolder { InboxFolder(account: account) }

    init() throws { directory = try TemporaryDirectory() }

    private func packet(_ text: String, account: AccountID = "alice") -> PacketFile {
        PacketFile(
            account: account,
            birth: Generation(5),
            processName: "push",
            reason: "busy",
            keptAt: 1_700_000_000_000,
            packet: Packet(Array(text.utf8))
        )
    }

    @discardableResult
    private func keep(_ text: String, limits: Limits = Limits()) throws -> InboxFolder.Entry {
        var generator = SystemRandomNumberGenerator()
        return try folder.keep(packet(text), limits: limits, using: &generator)
    }

    private func text(_ name: PacketName) throws -> String? {
        try folder.read(name, byteCountMax: 1_000_000).map {
            String(decoding: $0.packet.bytes, as: UTF8.self)
        }
    }

    @Test("what was kept comes back, for ids of any bytes, an empty packet and long names")
    func roundTrip() throws {
        for id in [[0], [0xFF, 0x2F], [UInt8](repeating: 7, count: 512)] {
            var file = packet("a\u{0}b\n", account: try AccountID(bytes: id))
            #expect(try PacketFile(decoding: file.encoded, path: "x") == file)
            file.packet.bytes = []
            file.packet.format = .ownOfApp
            for after in [nil, "c1"] as [Cursor?] {
                file.packet.page = SyncPage(stream: "s", after: after, next: "c2", done: true)
                #expect(try PacketFile(decoding: file.encoded, path: "x") == file)
            }
            file.attemptCount = 3
            #expect(try PacketFile(decoding: file.encoded, path: "x") == file)
            file.processName = String(repeating: "n", count: 600)
            let cut = try PacketFile(decoding: file.encoded, path: "x")
            #expect(cut.processName.utf8.count == 512)
        }
    }

    // A torn file is found out, never applied in part: the layout has no byte that may differ but the
    // count of attempts.
    @Test("a file that was cut anywhere, grew, or has one other byte, is no packet")
    func torn() throws {
        let bytes = packet("the text of a packet").encoded
        for count in 0..<bytes.count {
            #expect(throws: StorageError.self) {
                try PacketFile(decoding: Array(bytes[..<count]), path: "x")
            }
        }
        #expect(throws: StorageError.self) { try PacketFile(decoding: bytes + [0], path: "x") }
        for index in bytes.indices {
            var other = bytes
            other[index] ^= 1
            let decoded = Result { try PacketFile(decoding: other, path: "x") }
            switch (index, decoded) {
            case (8, .failure(StorageError.packetNewer(_, 0))): break
            case (9, .success(let file)): #expect(file.attemptCount == 1)
            case (_, .failure(StorageError.packetTorn)) where index != 8 && index != 9: break
            default: Issue.record("byte \(index): \(decoded)")
            }
        }
    }

    @Test("packets wait in the order of arrival, and the folder is there only while one does")
    func order() throws {
        #expect(try folder.waitingStamp() == nil)
        let names = try (1...12).map { try keep("packet \($0)").name }
        #expect(try folder.waiting() == names && names == names.sorted())
        #expect(try names.map(text) == (1...12).map { "packet \($0)" })
        #expect(names.allSatisfy { PacketName($0.description) == $0 })
        #expect(try folder.waitingStamp() != nil)
        #expect(try folder.remove(names.dropLast()) == 11)
        #expect(try folder.waiting() == [names[11]])
        #expect(try folder.remove(names) == 1)
        #expect(try folder.waitingStamp() == nil && folder.entries().isEmpty)
        // The number may come again; the name never.
        let next = try keep("next").name
        #expect(next.number == 1 && next != names[0])
    }

    @Test("files are for their user alone")
    func permissions() throws {
        let name = try keep("text").name
        try folder.park(name, because: .torn)
        try keep("more")
        for path in ["", "/inbox", "/inbox/waiting", "/inbox/parked"] {
            let status = try #require(try FileSystem.status(account + path))
            #expect(status.kind == .directory && status.mode == 0o700)
            guard path.contains("/inbox/") else { continue }
            for file in try FileSystem.list(account + path) {
                #expect(try FileSystem.status("\(account)\(path)/\(file)")?.mode == 0o600)
            }
        }
    }

    @Test("at its bounds of packets or bytes the inbox refuses one more, and keeps what it has")
    func bounds() throws {
        var limits = Limits()
        limits.inboxPacketCountMax = 3
        let names = try (1...3).map { try keep("\($0)", limits: limits).name }
        // What is parked counts as well: somebody has to look at it.
        try folder.park(names[0], because: .tooManyAttempts)
        let full = #expect(throws: StorageError.self) { try keep("4", limits: limits) }
        guard case .inboxFull(_, 3, _) = full else {
            Issue.record("not full: \(String(describing: full))")
            return
        }
        #expect(try folder.entries().count == 3)
        limits.inboxPacketCountMax = 100
        let byteCount = try folder.entries().reduce(0) { $0 + $1.byteCount }
        limits.inboxByteCountMax = Int(byteCount) + packet("4").encoded.count
        try keep("4", limits: limits)
        #expect(throws: StorageError.self) { try keep("5", limits: limits) }
    }

    @Test("a packet that is parked waits no more; retried, it waits again with no attempts")
    func parking() throws {
        let name = try keep("text").name
        try folder.note(attempts: 5, of: name)
        #expect(try folder.read(name, byteCountMax: 100)?.attemptCount == 5)
        try folder.park(name, because: .tooManyAttempts)
        #expect(try folder.waiting().isEmpty && folder.isKept(name))
        #expect(try folder.entries().map(\.parked) == [.tooManyAttempts])
        // Another process may have been faster: nothing happens.
        try folder.park(name, because: .torn)
        try folder.note(attempts: 1, of: name)
        #expect(try folder.retry(name))
        #expect(try folder.read(name, byteCountMax: 100)?.attemptCount == 0)
        #expect(try !folder.retry(name))
        #expect(try folder.remove([name]) == 1)
        #expect(try !folder.isKept(name))
    }

    // I-12: whoever dies while it writes leaves a file without a name.
    @Test(
        "a whole file that a dead process did not name is adopted, a torn one removed, one of a living process left alone"
    )
    func leftovers() throws {
        let first = try keep("first").name
        let waiting = account + "/inbox/waiting"
        var generator = SystemRandomNumberGenerator()
        let whole = PacketName(number: 2, using: &generator)
        let half = PacketName(number: 3, using: &generator)
        let bytes = packet("second").encoded
        try FileSystem.replaceFile(at: "\(waiting)/\(whole).77-1.tmp", with: bytes)
        try FileSystem.replaceFile(
            at: "\(waiting)/\(half).78-5.tmp",
            with: Array(bytes.prefix(40))
        )
        #expect(try folder.waiting() == [first])
        try folder.adoptLeftovers(byteCountMax: 1_000) { $0 == 78 }
        #expect(try folder.waiting() == [first, whole])
        #expect(try text(whole) == "second")
        #expect(try FileSystem.list(waiting).count == 3)
        try folder.adoptLeftovers(byteCountMax: 1_000) { _ in false }
        #expect(try folder.waiting() == [first, whole])
        #expect(try FileSystem.list(waiting).count == 2)
    }

    @Test("a hundred threads that keep while others drain lose none, and no name comes twice")
    func keepersAndDrains() async throws {
        let folder = folder
        let found = Monitor<[PacketName]>([])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for thread in 0..<20 {
                group.addTask {
                    try await onOwnThread {
                        for number in 0..<5 { try self.keep("\(thread) \(number)") }
                    }
                }
            }
            for _ in 0..<3 {
                group.addTask {
                    try await onOwnThread {
                        let end = patience()
                        while found.withLock({ $0.count }) < 100 {
                            if end.hasPassed(at: SystemClock().now()) { return }
                            for name in try folder.waiting() {
                                guard try folder.remove([name]) == 1 else { continue }
                                found.withLock { $0.append(name) }
                            }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        let names = found.withLock { $0 }
        #expect(names.count == 100 && Set(names).count == 100)
        #expect(try folder.entries().isEmpty)
    }

    @Test("the reserve takes its space once, and is for its user alone")
    func reserve() throws {
        try FileSystem.makeDirectory(directory.file("accounts"))
        try FileSystem.makeDirectory(account)
        folder.makeReserve(byteCount: 65_536)
        folder.makeReserve(byteCount: 1)
        let status = try #require(try FileSystem.status(account + "/reserve"))
        #expect(status.size == 65_536 && status.mode == 0o600)
    }
}
