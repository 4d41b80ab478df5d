import Glibc
import LockkeeperPlatform

/// The files below a folder that hold a text, by the rest of their paths.
package func filesHolding(_ text: String, below folder: String) throws -> [String] {
    try FileSystem.list(folder).sorted().flatMap { name -> [String] in
        let path = "\(folder)/\(name)"
        switch try FileSystem.status(path, followingLinks: false)?.kind {
        case .directory: return try filesHolding(text, below: path).map { "\(name)/\($0)" }
        case .regular:
            return holds(try FileSystem.contents(of: path), Array(text.utf8)) ? [name] : []
        // A file that went away meanwhile, a socket.
        default: return []
        }
    }
}

/// Whether bytes hold others; by the C library, because files are large.
private func holds(_ bytes: [UInt8], _ text: [UInt8]) -> Bool {
    bytes.withUnsafeBytes { bytes in
        var rest = bytes[...]
        while rest.count >= text.count {
            let here = UnsafeRawBufferPointer(rebasing: rest)
            guard let start = here.baseAddress, let first = text.first,
                let found = memchr(start, Int32(first), here.count - text.count + 1)
            else { return false }
            if memcmp(found, text, text.count) == 0 { return true }
            rest = rest.dropFirst(UnsafeRawPointer(found) - start + 1)
        }
        return false
    }
}
