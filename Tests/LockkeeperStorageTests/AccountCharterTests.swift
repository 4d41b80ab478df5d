import LockkeeperDomain
import LockkeeperStorage
import Testing

@Suite("An account's charter says what a lost registry would")
struct AccountCharterTests {
    private func record(_ id: [UInt8], ownID: [UInt8]?) throws -> AccountRecord {
        var contract = ServerContract()
        contract.delivery.redelivers = false
        contract.delivery.retention = .drops
        contract.order = .ties
        return AccountRecord(
            id: try AccountID(bytes: id),
            directory: "d",
            birth: Generation(9),
            ownID: ownID,
            contract: contract,
            messagesFile: 3,
            settingsFile: 2,
            createdAt: -5
        )
    }

    @Test("every field comes back, ids of any bytes too")
    func fields() throws {
        for id in [Array("alice".utf8), [0, 0xff, 0x22], Array(repeating: 7, count: 512)] {
            for ownID in [nil, [], [0xfe, 0]] as [[UInt8]?] {
                for isRemoving in [false, true] {
                    let charter = AccountCharter(
                        try record(id, ownID: ownID),
                        isRemoving: isRemoving
                    )
                    #expect(AccountCharter(charter.bytes, in: "d") == charter)
                }
            }
        }
    }

    @Test("what is cut short, of another version or without its id is none")
    func refusals() throws {
        let bytes = AccountCharter(try record([1], ownID: nil)).bytes
        for count in 0..<bytes.count - 2 {
            #expect(AccountCharter(Array(bytes.prefix(count)), in: "d") == nil)
        }
        let text = String(decoding: bytes, as: UTF8.self)
        for (old, new) in [
            ("\"v\":1", "\"v\":2"), ("\"id\":\"01\"", "\"id\":\"0\""), ("false", "0"),
        ] {
            let changed = text.replacing(old, with: new)
            #expect(changed != text)
            #expect(AccountCharter(Array(changed.utf8), in: "d") == nil, "\(new)")
        }
        #expect(AccountCharter(bytes, in: "copy of d") == nil, "a copied folder is no account")
        let more = text.replacing("{\"v\"", with: "{\"later\":[{}],\"v\"")
        #expect(AccountCharter(Array(more.utf8), in: "d") != nil, "unknown fields are skipped")
    }
}
