import Foundation
import Testing

/// The package's own folder, found from this file.
private let root = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

@Suite("What the README and the guides show is what is compiled")
struct SnippetTests {
    @Test("each block of Swift stands, line by line, in a program that the tests build")
    func snippets() throws {
        let compiled = try compiledFiles().map { try lines(of: $0) }
        #expect(compiled.count > 4)
        var count = 0
        for page in try pages() {
            for block in try blocks(of: page) {
                count += 1
                let isThere = compiled.contains { contains($0, block) }
                #expect(isThere, "\(page.lastPathComponent): \(block.joined(separator: "\n"))")
            }
        }
        #expect(count >= 8)
    }

    private func pages() throws -> [URL] {
        let guides = root.appending(path: "Docs/Guides.docc")
        return try FileManager.default.contentsOfDirectory(
            at: guides,
            includingPropertiesForKeys: nil
        )
        .filter { $0.pathExtension == "md" } + [root.appending(path: "README.md")]
    }

    private func compiledFiles() throws -> [URL] {
        let example = root.appending(path: "Docs/Examples/client/Sources")
        let found = FileManager.default.enumerator(at: example, includingPropertiesForKeys: nil)
        return (found?.allObjects as? [URL] ?? []).filter { $0.pathExtension == "swift" }
            + [root.appending(path: "Tests/LockkeeperSimulationTests/GuideSnippets.swift")]
    }

    /// The lines of a file without what they are indented by, which differs between page and program.
    private func lines(of file: URL) throws -> [String] {
        try String(contentsOf: file, encoding: .utf8)
            .split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.trimmingCharacters(in: .whitespaces) }
    }

    private func blocks(of page: URL) throws -> [[String]] {
        var blocks: [[String]] = []
        var open: [String]?
        for line in try lines(of: page) {
            if line == "```swift" {
                open = []
            } else if line == "```", let block = open {
                blocks.append(block)
                open = nil
            } else {
                open?.append(line)
            }
        }
        return blocks
    }

    private func contains(_ lines: [String], _ block: [String]) -> Bool {
        guard let first = block.first, lines.count >= block.count else { return false }
        return lines.indices.dropLast(block.count - 1).contains { start in
            lines[start] == first && lines[start...].starts(with: block)
        }
    }
}
