import Lockkeeper
import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperTesting
import Testing

@testable import LockkeeperState

@Suite("Documents: whole, versioned, three errors told apart, files kept (R-48)")
struct DocumentTests {
    @Test(
        "a document comes back as it was saved, in another process too, and is replaced and removed"
    )
    func roundTrip() async throws {
        try await withAlice { test, _, alice in
            let documents = try await DocumentStore(alice)
            let other = try await DocumentStore(try await test.process("other").session("alice"))
            try await documents.save(
                Profile(name: "早", tags: ["a": [1, nil].compactMap(\.self)]),
                as: "me"
            )
            let profile = try await other.load(Profile.self, from: "me")
            #expect(profile.name == "早" && profile.tags == ["a": [1]] && profile.pronouns == nil)
            try await other.save(Profile(name: "b", pronouns: "they"), as: "me")
            #expect(try await documents.load(Profile.self, from: "me").pronouns == "they")
            try await documents.save(Profile(name: "c"), as: "a/../b")
            #expect(try await other.names() == ["a/../b", "me"])
            #expect(try await other.remove("me"))
            #expect(try await !documents.remove("me"))
            await expectState(.notFound) { _ = try await documents.load(Profile.self, from: "me") }
            let folder = "\(test.root)/accounts/alice/documents"
            #expect(try FileSystem.status(folder)?.mode == 0o700)
            for name in try FileSystem.list(folder) {
                #expect(try FileSystem.status("\(folder)/\(name)")?.mode == 0o600)
            }
        }
    }

    @Test("a document whose name looks like a temporary file's is not cleared away as one")
    func temporaryName() async throws {
        try await withAlice { _, _, alice in
            let documents = try await DocumentStore(alice)
            try await documents.save(Profile(name: "a"), as: "notes.999999999-1.tmp")
            try await documents.save(Profile(name: "b"), as: "other")
            #expect(try await documents.names() == ["notes.999999999-1.tmp", "other"])
            #expect(
                try await documents.load(Profile.self, from: "notes.999999999-1.tmp").name == "a"
            )
        }
    }

    @Test(
        "what an older program saved is upgraded version by version, and stays as it is until saved"
    )
    func upgrade() async throws {
        try await withAlice { test, _, alice in
            let documents = try await DocumentStore(alice)
            try await documents.save(FirstProfile(fullName: "Ada"), as: "me")
            let path = "\(test.root)/accounts/alice/documents/me"
            let before = try FileSystem.contents(of: path)
            let profile = try await documents.load(Profile.self, from: "me")
            #expect(profile.name == "Ada" && profile.tags == ["upgraded": [1, 2]])
            #expect(try FileSystem.contents(of: path) == before)
        }
    }

    @Test("missing, damaged, newer and of another kind are four errors, and no file is changed")
    func errors() async throws {
        try await withAlice { test, _, alice in
            let documents = try await DocumentStore(alice)
            let path = "\(test.root)/accounts/alice/documents/me"
            await expectState(.notFound) { _ = try await documents.load(Profile.self, from: "me") }
            try await documents.save(Profile(name: "Ada"), as: "me")
            await expectState(.newerSchema) {
                _ = try await documents.load(FirstProfile.self, from: "me")
            }
            await expectState(.wrongType) { _ = try await documents.load(Layout.self, from: "me") }
            let whole = try FileSystem.contents(of: path)
            for index in stride(from: 0, to: whole.count, by: 3) {
                var damaged = whole
                damaged[index] ^= 0x20
                try FileSystem.replaceFile(at: path, with: damaged)
                let error = await #expect(throws: LockkeeperError.self) {
                    try await documents.load(Profile.self, from: "me")
                }
                // A later version of the layout is not judged by this one's digest.
                let isLayout = 8..<10 ~= index
                #expect(error?.code == (isLayout ? .newerSchema : .damaged), "byte \(index)")
                #expect(try FileSystem.contents(of: path) == damaged)
            }
            for count in [0, 1, 55, whole.count - 1] {
                try FileSystem.replaceFile(at: path, with: Array(whole.prefix(count)))
                await expectState(.damaged) {
                    _ = try await documents.load(Profile.self, from: "me")
                }
            }
            // Another document's file in its place is not taken for it.
            try await documents.save(Profile(name: "Eve"), as: "other")
            try FileSystem.rename("\(test.root)/accounts/alice/documents/other", to: path)
            await expectState(.damaged) { _ = try await documents.load(Profile.self, from: "me") }
        }
    }

    @Test("a superseded session saves, loads and removes nothing")
    func superseded() async throws {
        try await withAlice { test, _, alice in
            let documents = try await DocumentStore(alice)
            try await documents.save(Profile(name: "mine"), as: "me")
            let next = try await test.process("other").activate("alice")
            let renewed = try await DocumentStore(next)
            await expectState(.superseded) {
                try await documents.save(Profile(name: "stale"), as: "me")
            }
            await expectState(.superseded) {
                _ = try await documents.load(Profile.self, from: "me")
            }
            await expectState(.superseded) { try await documents.remove("me") }
            #expect(try await renewed.load(Profile.self, from: "me").name == "mine")
            #expect(try FileSystem.list("\(test.root)/accounts/alice/documents") == ["me"])
        }
    }

    @Test("a save that fails leaves the old document and no other file")
    func failing() async throws {
        try await withAlice { test, _, alice in
            let documents = try await DocumentStore(alice)
            try await documents.save(Profile(name: "old"), as: "me")
            // A folder in the way of the renaming.
            let folder = "\(test.root)/accounts/alice/documents"
            try FileSystem.makeDirectory("\(folder)/taken")
            try FileDescriptor(opening: "\(folder)/taken/x", [.writeOnly, .create]).write([1])
            await #expect(throws: LockkeeperError.self) {
                try await documents.save(Profile(name: "new"), as: "taken")
            }
            #expect(try FileSystem.list(folder).sorted() == ["me", "taken"])
            #expect(try await documents.load(Profile.self, from: "me").name == "old")
            try FileSystem.removeTree("\(folder)/taken")
        }
    }

    @Test("documents go with their account, and others' stay")
    func accounts() async throws {
        try await withAlice { test, app, alice in
            try await app.addAccount("bob")
            let bob = try await DocumentStore(try await app.activate("bob"))
            let documents = try await DocumentStore(alice)
            for store in [bob, documents] { try await store.save(Profile(name: "x"), as: "me") }
            try await app.removeAccount("alice")
            await expectState(.accountRemoved) {
                try await documents.save(Profile(name: "y"), as: "me")
            }
            #expect(try FileSystem.list("\(test.root)/accounts/alice") == ["account.locks"])
            #expect(try await bob.load(Profile.self, from: "me").name == "x")
        }
    }

    @Test("every kind of Codable value comes back, and what has no form is refused")
    func coding() throws {
        struct All: Codable, Equatable {
            enum Choice: Codable, Equatable { case plain, loaded(Int, name: String) }
            var flag = true
            var numbers: [Int8] = [-1, 0, 127]
            var large = Int64.max
            var real = 0.1
            var float: Float = 1.5
            var bytes: [UInt8] = [0, 255]
            var date = DateValue(millisecondsSince1970: -5)
            var choices: [Choice] = [.plain, .loaded(1, name: "a")]
            var nested: [String: [String: Int]] = ["a": ["b": 1], "c": [:]]
            var keyed: [Int: String] = [1: "x"]
            var missing: Int?
            var pairs: [[String]] = [[], ["a"]]
        }
        let value = try PropertyValueEncoder().encode(All())
        #expect(try PropertyValueDecoder().decode(All.self, from: value) == All())
        #expect(throws: EncodingError.self) { try PropertyValueEncoder().encode([Int?.none]) }
        #expect(throws: EncodingError.self) { try PropertyValueEncoder().encode(UInt64.max) }
        #expect(throws: DecodingError.self) {
            try PropertyValueDecoder().decode(Int8.self, from: .integer(128))
        }
        #expect(throws: DecodingError.self) {
            try PropertyValueDecoder().decode(Bool.self, from: .integer(1))
        }
    }
}

private struct Profile: Document {
    static let kind = "profile"
    static let version = 3
    var name: String
    var tags: [String: [Int]] = [:]
    var pronouns: String?

    static func upgrade(_ value: PropertyValue, from version: Int) throws -> PropertyValue {
        guard case .dictionary(var members) = value else { return value }
        var steps: [PropertyValue] = []
        if case .dictionary(let tags) = members["tags"], case .array(let known) = tags["upgraded"] {
            steps = known
        }
        steps.append(.integer(Int64(version)))
        members["tags"] = .dictionary(["upgraded": .array(steps)])
        if version == 1 { members["name"] = members.removeValue(forKey: "fullName") }
        return .dictionary(members)
    }
}

private struct FirstProfile: Document {
    static let kind = "profile"
    static let version = 1
    var fullName: String
}

private struct Layout: Document {
    static let kind = "layout"
    static let version = 1
    var columns: [Int]
}
