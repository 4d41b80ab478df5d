import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperTestSupport
import Testing

@testable import LockkeeperLocking

@Suite("Syncs that are under way")
struct SyncLaneTests {
    @Test(
        "A sync is seen by others for as long as its result was not looked at, and not by oneself"
    )
    func underWay() throws {
        let directory = try TemporaryDirectory()
        let one = try makeMembership(directory)
        let other = try makeMembership(directory)
        #expect(try other.unfinishedSyncs().isEmpty)
        try one.whileSyncing {
            let first = try other.unfinishedSyncs()
            #expect(first.count == 1)
            #expect(try one.unfinishedSyncs().isEmpty)
            try one.whileSyncing { () throws in #expect(try other.unfinishedSyncs().count == 2) }
            #expect(try other.unfinishedSyncs() == first)
            // A lane of the living is not taken from them.
            try other.forget(first[0])
            #expect(try other.unfinishedSyncs() == first)
        }
        #expect(try other.unfinishedSyncs().isEmpty)
        let earlier = try one.whileSyncing { try other.unfinishedSyncs() }
        try one.whileSyncing { () throws in #expect(try other.unfinishedSyncs() != earlier) }
    }

    @Test("A sync that throws is looked at as well")
    func failed() throws {
        struct Failed: Error {}
        let directory = try TemporaryDirectory()
        let one = try makeMembership(directory)
        let other = try makeMembership(directory)
        #expect(throws: Failed.self) { try one.whileSyncing { throw Failed() } }
        #expect(try other.unfinishedSyncs().isEmpty)
    }

    @Test("What somebody died in stays, whoever comes into the slot, until it is forgotten")
    func orphaned() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("account.locks")
        var one: LockFileMembership? = try makeMembership(directory)
        let slot = try #require(try one?.slot())
        one = nil
        let file = try FileDescriptor(opening: path, .readWrite)
        try [UInt8(7), 9].withUnsafeBytes {
            try file.write($0, at: LockFileLayout.laneOffset(1, ofSlot: slot))
        }
        let heir = try makeMembership(directory)
        #expect(try heir.slot() == slot)
        #expect(try heir.unfinishedSyncs().count == 2)
        // A sync of the heir's own changes nothing of it, in whichever lanes.
        try heir.whileSyncing {
            try heir.whileSyncing { () throws in #expect(try heir.unfinishedSyncs().count == 2) }
        }
        let other = try makeMembership(directory)
        let found = try other.unfinishedSyncs()
        #expect(found.count == 2)
        for sync in try heir.unfinishedSyncs() { try heir.forget(sync) }
        #expect(try heir.unfinishedSyncs().isEmpty)
        #expect(try other.unfinishedSyncs().isEmpty)
    }

    @Test("A slot that nobody has is forgotten by whoever finds it")
    func ownerless() throws {
        let directory = try TemporaryDirectory()
        let finder = try makeMembership(directory)
        let file = try FileDescriptor(opening: directory.file("account.locks"), .readWrite)
        try [UInt8(1)].withUnsafeBytes {
            try file.write($0, at: LockFileLayout.laneOffset(3, ofSlot: 77))
        }
        let found = try finder.unfinishedSyncs()
        #expect(found.count == 1)
        try finder.forget(found[0])
        #expect(try finder.unfinishedSyncs().isEmpty)
        try finder.forget(found[0])
        #expect(try finder.unfinishedSyncs().isEmpty, "the second time nothing is there")
    }
}
