import Foundation
import Testing

/// The package's own folder, found from this file.
private let root = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

/// What each room may import: the floor plan of Docs/ARCHITECTURE.md, beside what the toolchain
/// brings. SwiftPM's import check does not see system modules or Foundation, so this is a test.
private let house: [String: Set<String>] = [
    "LockkeeperDomain": [],
    "LockkeeperPlatform": ["LockkeeperDomain", "CLockkeeperPlatform", "Glibc", "Synchronization"],
    "LockkeeperSQLite": ["LockkeeperDomain", "CLockkeeperSQLite", "Glibc", "Synchronization"],
    "LockkeeperCrypto": ["LockkeeperDomain", "CLockkeeperSodium", "Glibc"],
    "LockkeeperText": ["CLockkeeperUTF8Proc"],
    "LockkeeperSystemd": ["LockkeeperDomain", "CLockkeeperSystemd", "Glibc"],
    "LockkeeperSecretService": ["CLockkeeperSecret"],
    "LockkeeperLocking": ["LockkeeperDomain", "LockkeeperPlatform", "Glibc", "Synchronization"],
    "LockkeeperStorage": [
        "LockkeeperDomain", "LockkeeperPlatform", "LockkeeperSQLite", "LockkeeperCrypto", "Glibc",
        "Synchronization",
    ],
    "LockkeeperNotifier": ["LockkeeperDomain", "LockkeeperPlatform", "Glibc", "Synchronization"],
    "LockkeeperIngest": ["LockkeeperDomain", "Glibc", "Synchronization"],
    "Lockkeeper": [
        "LockkeeperDomain", "LockkeeperPlatform", "LockkeeperSQLite", "LockkeeperCrypto",
        "LockkeeperSystemd", "LockkeeperLocking", "LockkeeperStorage", "LockkeeperNotifier",
        "LockkeeperIngest", "Synchronization",
    ],
    "LockkeeperMessages": [
        "LockkeeperDomain", "LockkeeperPlatform", "LockkeeperSQLite", "LockkeeperCrypto",
        "LockkeeperText", "LockkeeperStorage", "LockkeeperIngest", "Lockkeeper", "Synchronization",
        "Glibc",
    ],
    "LockkeeperState": [
        "LockkeeperDomain", "LockkeeperPlatform", "LockkeeperSQLite", "LockkeeperCrypto",
        "LockkeeperSecretService", "LockkeeperStorage", "Lockkeeper", "Synchronization",
    ],
    "LockkeeperTesting": [
        "LockkeeperDomain", "LockkeeperPlatform", "Lockkeeper", "LockkeeperMessages",
        "CLockkeeperFaultVFS", "Synchronization",
    ],
    "LockkeeperSimulation": [
        "LockkeeperDomain", "LockkeeperPlatform", "LockkeeperCrypto", "LockkeeperText",
        "Lockkeeper", "LockkeeperMessages", "LockkeeperState", "LockkeeperTesting",
        "CLockkeeperBaseline", "Synchronization",
    ],
    "LockkeeperCommand": [
        "LockkeeperDomain", "LockkeeperPlatform", "LockkeeperSystemd", "Lockkeeper",
        "LockkeeperMessages", "LockkeeperState", "LockkeeperSimulation", "Synchronization",
    ],
]

private let swiftFiles: [URL] = {
    let sources = root.appending(path: "Sources")
    let all = FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil)
    return (all?.allObjects as? [URL] ?? []).filter { $0.pathExtension == "swift" }
}()

private func room(of file: URL) -> String {
    let parts = file.pathComponents
    return parts[(parts.lastIndex(of: "Sources") ?? 0) + 1]
}

@Suite("The house: arrows point down only")
struct HouseTests {
    @Test("every file imports only what its room may touch")
    func imports() throws {
        #expect(!swiftFiles.isEmpty)
        let pattern =
            /^\s*(?:@\w+\s+)*(?:(?:public|package|internal|private|fileprivate)\s+)?import\s+(?:(?:struct|class|enum|func|protocol|typealias|let|var)\s+)?(\w+)/
        for file in swiftFiles {
            let room = room(of: file)
            let allowed = try #require(house[room], "\(room) is no room of the house")
            let text = try String(contentsOf: file, encoding: .utf8)
            for line in text.split(separator: "\n") {
                guard let match = try pattern.firstMatch(in: line) else { continue }
                let module = String(match.1)
                #expect(allowed.contains(module), "\(file.path) imports \(module)")
            }
        }
    }

    @Test("no module contains a type of its own name")
    func moduleNames() throws {
        for file in swiftFiles {
            let room = room(of: file)
            let text = try String(contentsOf: file, encoding: .utf8)
            let pattern = try Regex("(class|struct|enum|actor|protocol|typealias) \(room)\\b")
            #expect(text.firstMatch(of: pattern) == nil, "\(file.path)")
        }
    }

    @Test("no file has more than 500 lines, so that each stays one thing")
    func fileLength() throws {
        for file in swiftFiles {
            let lines = try String(contentsOf: file, encoding: .utf8).split(
                separator: "\n",
                omittingEmptySubsequences: false
            )
            #expect(lines.count <= 501, "\(file.path) has \(lines.count) lines")
        }
    }

    @Test("what is unchecked says in a sentence what makes it safe")
    func uncheckedIsExplained() throws {
        for file in swiftFiles {
            let lines = try String(contentsOf: file, encoding: .utf8).split(
                separator: "\n",
                omittingEmptySubsequences: false
            )
            for (number, line) in lines.enumerated() {
                let code = line.prefix(upTo: line.firstRange(of: "//")?.lowerBound ?? line.endIndex)
                let marks = ["@unchecked Sendable", "nonisolated(unsafe)", "try!"]
                guard marks.contains(where: { code.contains($0) }) else { continue }
                let near = lines[max(0, number - 8)...number]
                #expect(
                    near.contains { $0.contains("//") },
                    "\(file.path):\(number + 1) needs a sentence"
                )
            }
        }
    }
}
