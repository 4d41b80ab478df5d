import LockkeeperCrypto
import Testing

@Suite("SHA-256 gives the digests of FIPS 180-4")
struct SHA256Tests {
    @Test(
        "known texts give their known digests",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
        ]
    )
    func knownAnswer(text: String, digest: String) {
        #expect(hexadecimal(SHA256.digest(of: text)) == digest)
    }

    @Test("a million letters added in pieces of every size give the digest of the whole")
    func pieces() {
        let text = [UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000)
        var hash = SHA256()
        var start = 0
        var length = 0
        while start < text.count {
            let end = min(start + length, text.count)
            hash.update(Array(text[start..<end]))
            (start, length) = (end, (length + 1) % 300)
        }
        #expect(
            hexadecimal(hash.finalize())
                == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
        )
    }

    @Test("bytes that are no text, NUL among them, are digested whole")
    func anyBytes() {
        #expect(SHA256.digest(of: [0, 0xff, 0]) != SHA256.digest(of: [0, 0xff]))
        #expect(SHA256.digest(of: [0]).count == SHA256.byteCount)
    }

    private func hexadecimal(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] },
            as: UTF8.self
        )
    }
}
