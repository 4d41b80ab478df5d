import Lockkeeper
import LockkeeperDomain
import LockkeeperState
import LockkeeperTesting
import Testing

@Suite("Records: Codable rows of an app's tables, with a chosen rule for conflicts (R-50)")
struct RecordTests {
    @Test("a record comes back as it was saved, nil as NULL, nested values as bytes")
    func roundTrip() async throws {
        try await withPlaces { database in
            var place = Place(town: "早\0", number: .min, note: "x")
            place.tags = ["a": [1]]
            try await save(place, .refuse, database)
            #expect(try await load("早\0", .min, database) == place)
            place.note = nil
            place.isOpen = false
            try await save(place, .replace, database)
            #expect(try await load("早\0", .min, database) == place)
            let kinds = try await database.read { transaction in
                try transaction.query(
                    "SELECT typeof(town), typeof(isOpen), typeof(since), typeof(tags), typeof(note) FROM place"
                ) { row in (0..<5).map { row.text($0) } }
            }
            #expect(kinds == [["text", "integer", "integer", "blob", "null"]])
            #expect(try await load("other", 1, database) == nil)
        }
    }

    @Test("each rule does what it says where a record of the key is there, and nothing is a change")
    func conflicts() async throws {
        try await withPlaces { database in
            let first = Place(town: "a", number: 1, note: "first", version: 2)
            #expect(try await save(first, .keep, database))
            await expectState(.exists) {
                try await save(Place(town: "a", number: 1), .refuse, database)
            }
            #expect(try await !save(Place(town: "a", number: 1, note: "b"), .keep, database))
            let (older, equal, newer) = (
                Place(town: "a", number: 1, note: "older", version: 1),
                Place(town: "a", number: 1, note: "equal", version: 2),
                Place(town: "a", number: 1, note: "newer", version: 3)
            )
            #expect(try await !save(older, .newest(by: "version"), database))
            #expect(try await !save(equal, .newest(by: "version"), database))
            #expect(try await load("a", 1, database) == first)
            #expect(try await save(newer, .newest(by: "version"), database))
            #expect(try await save(older, .replace, database))
            #expect(try await load("a", 1, database) == older)
            // What is there already is no change, and so no commit and no range.
            let again = try await database.write {
                try Self.table.save(older, onConflict: .replace, in: $0)
            }
            #expect(!again.value && again.receipt.commit == nil)
        }
    }

    @Test("pages go by key: what is saved meanwhile neither repeats nor hides a record")
    func pages() async throws {
        try await withPlaces { database in
            for number in stride(from: 0, to: 20, by: 2) {
                try await save(Place(town: "t\(number % 4)", number: number), .refuse, database)
            }
            var seen: [Place] = []
            var last: [SQLValue]?
            while true {
                let page = try await database.read { [last] in
                    try Self.table.page(after: last, limit: 3, in: $0)
                }
                guard let end = page.last else { break }
                seen += page
                last = try Self.table.key(of: end)
                // Before and after where the page ended.
                try await save(Place(town: "a", number: seen.count), .keep, database)
            }
            #expect(seen.map(\.number) == [0, 4, 8, 12, 16, 2, 6, 10, 14, 18])
            let deleted = try await database.write {
                try Self.table.delete("t0", 4, in: $0) && !Self.table.delete("t0", 4, in: $0)
            }
            #expect(deleted.value)
        }
    }

    @Test("names that SQL would take for something else are names, and values are never text of it")
    func names() async throws {
        struct Odd: Codable, Sendable, Equatable {
            enum CodingKeys: String, CodingKey { case key = "a\"b", value = "select" }
            var key: String
            var value: String?
        }
        try await withPlaces { database in
            try await database.write {
                try $0.execute(#"CREATE TABLE "ta""ble" ("a""b" TEXT PRIMARY KEY, "select" TEXT)"#)
            }
            let table = RecordTable<Odd>("ta\"ble", key: ["a\"b"])
            let odd = Odd(key: "'; DROP TABLE place; --", value: "\"")
            try await database.write { try table.save(odd, onConflict: .replace, in: $0) }
            #expect(try await database.read { try table.page(limit: 9, in: $0) } == [odd])
        }
    }

    @Test(
        "a type that does not fit is an error that names the table, and a rule of a missing column too"
    )
    func misfits() async throws {
        struct Wrong: Codable, Sendable { var town: Int; var number: Int }
        struct Extra: Codable, Sendable { var town = "a"; var number = 1; var unknown = 1 }
        try await withPlaces { database in
            try await save(Place(town: "a", number: 1), .refuse, database)
            let error = await expectState(.wrongType) {
                _ = try await database.read {
                    try RecordTable<Wrong>("place", key: ["town", "number"]).page(limit: 1, in: $0)
                }
            }
            #expect(error?.subject == "table place")
            await expectState(.statement) {
                try await database.write {
                    try RecordTable<Extra>("place", key: ["town", "number"])
                        .save(Extra(), onConflict: .keep, in: $0)
                }
            }
            await expectState(.statement) {
                try await save(Place(town: "b", number: 1), .newest(by: "nothing"), database)
            }
        }
    }

    @Test("records, messages of the same transaction and nothing else commit together")
    func atomic() async throws {
        struct Stop: Error {}
        try await withPlaces { database in
            await #expect(throws: Stop.self) {
                try await database.write {
                    try Self.table.save(Place(town: "a", number: 1), onConflict: .keep, in: $0)
                    throw Stop()
                }
            }
            let stored = try await load("a", 1, database)
            #expect(stored == nil)
        }
    }

    private static let table = RecordTable<Place>("place", key: ["town", "number"])

    @discardableResult
    private func save(
        _ place: Place,
        _ rule: ConflictRule,
        _ database: AccountDatabase
    ) async throws -> Bool {
        try await database.write { try Self.table.save(place, onConflict: rule, in: $0) }.value
    }

    private func load(
        _ town: String,
        _ number: Int,
        _ database: AccountDatabase
    ) async throws -> Place? {
        try await database.read {
            try Self.table.record(SQLValue(town), SQLValue(number), in: $0)
        }
    }

    private func withPlaces(_ body: (AccountDatabase) async throws -> Void) async throws {
        try await withAlice { _, _, alice in
            try await alice.database.write {
                try $0.execute(
                    """
                    CREATE TABLE place (town TEXT NOT NULL, number INTEGER NOT NULL, note TEXT,
                        isOpen INTEGER NOT NULL, since INTEGER NOT NULL, version INTEGER NOT NULL,
                        scale REAL NOT NULL, tags BLOB, PRIMARY KEY (town, number))
                    """
                )
            }
            try await body(alice.database)
        }
    }
}

private struct Place: Codable, Sendable, Equatable {
    var town: String
    var number: Int
    var note: String?
    var isOpen = true
    var since = DateValue(millisecondsSince1970: 5)
    var version = 1
    var scale = 2.0
    var tags: [String: [Int]]?

    init(town: String, number: Int, note: String? = nil, version: Int = 1) {
        (self.town, self.number, self.note, self.version) = (town, number, note, version)
    }
}
