/// What the kernel tells of the files that a process sees and has in its memory.
package enum ProcessView {
    /// The files that are mapped into a process's memory, each once; empty where this user may not look.
    package static func mappedFiles(pid: Int32) -> [String] {
        guard let bytes = try? FileSystem.contents(of: "/proc/\(pid)/maps") else { return [] }
        var files: [String] = []
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            guard let slash = line.firstIndex(of: "/") else { continue }
            let path = String(line[slash...])
            if !files.contains(path) { files.append(path) }
        }
        return files
    }

    /// Where file systems are mounted for this process, as `/proc/self/mountinfo` has it: the fifth
    /// field, in which spaces and the like are written in octal.
    ///
    /// - Throws: ``SystemCallError`` when it cannot be read.
    package static func mountPoints() throws(SystemCallError) -> [String] {
        let bytes = try FileSystem.contents(of: "/proc/self/mountinfo")
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ")
            return fields.count > 4 ? unescaped(fields[4]) : nil
        }
    }

    private static func unescaped(_ field: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = Array(field.utf8)[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(3)
            if byte == UInt8(ascii: "\\"), digits.count == 3,
                let code = UInt8(String(decoding: digits, as: UTF8.self), radix: 8)
            {
                bytes.append(code)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
