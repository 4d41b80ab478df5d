import Glibc

/// `embed-sql OUTPUT INPUT…`: writes the SQL files as one Swift file.
///
/// A migration's name is its file's: `<yyyymmddhhmm>_<what>.sql`, twelve digits, then words of
/// lower-case letters, digits and underscores. The date makes names sort in the order in which they
/// were written, and lets two branches add migrations without agreeing on a number.
@main
struct EmbedSQLTool {
    static func main() {
        let arguments = CommandLine.arguments
        guard arguments.count >= 2 else { fail("usage: embed-sql OUTPUT INPUT…") }
        var source = """
            // Generated from Migrations/*.sql.

            enum EmbeddedMigrations {
                static let all: [(name: String, sql: String)] = [

            """
        for path in arguments.dropFirst(2) {
            let name = migrationName(of: path)
            source += "        (name: \"\(name)\", sql: \"\(escaped(text(at: path)))\"),\n"
        }
        source += "    ]\n}\n"
        write(source, to: arguments[1])
    }

    private static func migrationName(of path: String) -> String {
        let file = path.split(separator: "/").last.map(String.init) ?? path
        let name = file.dropLast(".sql".count)
        let digits = name.prefix(12)
        let rest = name.dropFirst(12)
        let isNamedWell =
            file.hasSuffix(".sql") && digits.count == 12 && digits.utf8.allSatisfy(isDigit)
            && rest.first == "_" && rest.count > 1
            && rest.utf8.allSatisfy {
                isDigit($0) || $0 == UInt8(ascii: "_")
                    || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
            }
        guard isNamedWell else {
            fail("\(path): error: a migration is named <yyyymmddhhmm>_<what>.sql, in lower case")
        }
        return String(name)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func text(at path: String) -> String {
        guard let file = fopen(path, "rb") else { fail("\(path): error: cannot be opened") }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = fread(&buffer, 1, buffer.count, file)
            if count == 0 { break }
            bytes += buffer[..<count]
        }
        guard ferror(file) == 0 else { fail("\(path): error: cannot be read") }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            fail("\(path): error: is not UTF-8")
        }
        return text
    }

    /// The text as the inside of a string literal. Escapes are safe for any content, line ends
    /// included, which a raw literal would normalise.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\\\"
            case "\"": result += "\\\""
            case "\n": result += "\\n"
            case _ where scalar.value < 0x20 || scalar.value == 0x7f:
                result += "\\u{\(String(scalar.value, radix: 16))}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static func write(_ text: String, to path: String) {
        guard let file = fopen(path, "wb") else { fail("\(path): error: cannot be created") }
        let bytes = Array(text.utf8)
        let isWritten = fwrite(bytes, 1, bytes.count, file) == bytes.count
        guard fclose(file) == 0, isWritten else { fail("\(path): error: cannot be written") }
    }

    private static func fail(_ sentence: String) -> Never {
        let bytes = Array((sentence + "\n").utf8)
        _ = Glibc.write(STDERR_FILENO, bytes, bytes.count)
        exit(1)
    }
}
