import Glibc
import LockkeeperPlatform
import LockkeeperSimulation
import LockkeeperTestSupport
import Testing

extension RealProcesses {
    @Suite("A packet that ends whoever decodes it does not end everybody (B100, I-12)")
    struct PoisonPacketTests {
        private let folder: TemporaryDirectory
        private var root: String { folder.file("w") }

        init() throws { folder = try TemporaryDirectory() }

        // B100: the same bad item was retried for ever, and those behind it never ran.
        @Test(
            "twenty good packets, an undecodable one and a deadly one: the twenty are applied in order"
        )
        func poison() async throws {
            try await onOwnThread {
                #expect(try tell("add") == "added")
                let good = (1...20).map { "good-\($0)" }
                let packets = good[..<7] + ["undecodable"] + good[7..<14] + ["deadly"] + good[14...]
                #expect(try tell(["receive"] + packets) == "received")
                var deaths = 0
                while try tell("drain", "0") == nil {
                    deaths += 1
                    // What comes before the deadly one is applied by the first that dies of it.
                    #expect(try rows() == Array(good[..<14]))
                    try #require(deaths < 10, "it ends every process")
                }
                // An attempt each, and the sixth process parks it unread and goes on.
                #expect(deaths == 5)
                #expect(try rows() == good)
                #expect(
                    try tell("parked") == "undecodable:too-many-attempts:Undecodable"
                        + " deadly:too-many-attempts:-"
                )
            }
        }

        private func rows() throws -> [String] {
            let words = try #require(try tell("rows")).split(separator: " ").map(String.init)
            return Array(words.dropFirst().prefix { $0 != "waiting" })
        }

        private func tell(_ words: String...) throws -> String? { try tell(words) }

        /// What the tool says; `nil` where it died.
        private func tell(_ words: [String]) throws -> String? {
            let process = try LineProcess.inbox(root, words)
            let answer = Result { try process.hear() }
            let status = try #require(process.end())
            if status == .exited(0) { return try answer.get() }
            #expect(status == .signalled(SIGKILL), "\(words): \(answer)")
            return nil
        }
    }
}
