import LockkeeperDomain
import LockkeeperMessages
import LockkeeperState

/// How values of settings are read from a command line and printed.
enum SettingOutput {
    /// Prints a setting: its name, kind and value.
    static func print(_ setting: StoredSetting, _ context: CommandContext) throws {
        guard context.options.isJSON else {
            let name = terminalID(setting.name.description)
            return try context.console.print(
                "\(name)\t\(setting.value.kind.rawValue)\t\(text(of: setting.value))"
            )
        }
        try context.console.print { write(setting, into: &$0) }
    }

    /// Writes a setting as a JSON object.
    static func write(_ setting: StoredSetting, into writer: inout JSONWriter) {
        writer.beginVersionedObject()
        writer.member("name", setting.name)
        writer.member("kind", setting.value.kind.rawValue)
        writer.key("value")
        write(setting.value, into: &writer)
        writer.endObject()
    }

    /// A value on one line: a text as it is, bytes in hexadecimal, arrays and dictionaries as JSON.
    static func text(of value: PropertyValue) -> String {
        switch value {
        case .string(let text): return terminalText(text)
        case .integer(let number): return String(number)
        case .real(let number): return number.description
        case .bool(let flag): return flag ? "true" : "false"
        case .date(let date): return text(of: date)
        case .data(let data): return data.bytes.hexadecimal
        case .array, .dictionary:
            var writer = JSONWriter()
            write(value, into: &writer)
            return terminalText(String(decoding: writer.bytes, as: UTF8.self))
        }
    }

    /// Writes a value as JSON: whole numbers beyond 2^53 and what JSON has no form for as texts.
    static func write(_ value: PropertyValue, into writer: inout JSONWriter) {
        switch value {
        case .string(let text): writer.string(text)
        case .integer(let number):
            let isExact = number.magnitude <= UInt64(JSONScanner.integerMax)
            if isExact { writer.integer(number) } else { writer.string(String(number)) }
        case .real(let number):
            if number.isFinite { writer.double(number) } else { writer.string(number.description) }
        case .bool(let flag): writer.bool(flag)
        case .date(let date): writer.string(text(of: date))
        case .data(let data): writer.string(data.bytes.hexadecimal)
        case .array(let values):
            writer.beginArray()
            for value in values { write(value, into: &writer) }
            writer.endArray()
        case .dictionary(let values):
            writer.beginObject()
            for (key, value) in values.sorted(by: { $0.key < $1.key }) {
                writer.key(key)
                write(value, into: &writer)
            }
            writer.endObject()
        }
    }

    private static func text(of date: DateValue) -> String {
        let timestamp = try? Timestamp(millisecondsSince1970: date.millisecondsSince1970)
        return timestamp?.description ?? String(date.millisecondsSince1970)
    }

    /// Reads a value of a kind.
    ///
    /// - Throws: ``UsageError`` where the text is none.
    static func value(_ text: String, as kind: PropertyValue.Kind) throws(UsageError)
        -> PropertyValue
    {
        let value: PropertyValue? =
            switch kind {
            case .string: .string(text)
            case .integer: Int64(text).map(PropertyValue.integer)
            case .real: Double(text).map(PropertyValue.real)
            case .bool: ["true": .bool(true), "false": .bool(false)][text]
            case .date:
                (try? Timestamp(text)).map {
                    .date(DateValue(millisecondsSince1970: $0.millisecondsSince1970))
                }
            case .data: [UInt8](hexadecimal: text).map { .data(DataValue($0)) }
            case .array, .dictionary: json(text).flatMap { $0.kind == kind ? $0 : nil }
            }
        if let value { return value }
        throw UsageError("'\(text)' is no \(kind.rawValue): \(form(of: kind)).")
    }

    private static func form(of kind: PropertyValue.Kind) -> String {
        switch kind {
        case .string: "any text is one"
        case .integer: "it is written as a whole number of 64 bits"
        case .real: "it is written as 1.5 or 2e9"
        case .bool: "it is 'true' or 'false'"
        case .date: "it is written as 2026-11-30T09:00:00Z"
        case .data: "it is written as pairs of hexadecimal digits"
        case .array: "it is a JSON array of limited depth, without null, with numbers of 64 bits"
        case .dictionary:
            "it is a JSON object of limited depth, each key once, without null, with numbers of 64 bits"
        }
    }

    private static func json(_ text: String) -> PropertyValue? {
        Array(text.utf8).withUnsafeBytes { bytes in
            var scanner = JSONScanner(bytes)
            guard let value = try? read(&scanner), (try? scanner.finish()) != nil else {
                return nil
            }
            return value
        }
    }

    /// `nil` for null, which property lists do not have.
    private static func read(_ scanner: inout JSONScanner) throws(JSONError) -> PropertyValue? {
        let slice = try scanner.nextValue()
        switch slice.kind {
        case .string: return .string(try scanner.string(slice))
        case .boolean: return .bool(try scanner.bool(slice))
        case .null: return nil
        case .number:
            if let number = try? scanner.integer(slice) { return .integer(number) }
            let text = String(decoding: scanner.rawBytes(slice), as: UTF8.self)
            // A whole number is kept as it is or refused: as a real it would be another one.
            let isWhole = !text.contains { ".eE".contains($0) }
            return isWhole
                ? Int64(text).map(PropertyValue.integer) : Double(text).map(PropertyValue.real)
        case .array, .object: return try read(nested: scanner.rawBytes(slice), slice.kind)
        }
    }

    private static func read(
        nested bytes: UnsafeRawBufferPointer,
        _ kind: JSONKind
    ) throws(JSONError) -> PropertyValue? {
        var scanner = JSONScanner(bytes)
        if kind == .array {
            var values: [PropertyValue] = []
            try scanner.beginArray()
            while try scanner.nextElement() {
                guard let value = try read(&scanner) else { return nil }
                values.append(value)
            }
            return .array(values)
        }
        var values: [String: PropertyValue] = [:]
        try scanner.beginObject()
        while let key = try scanner.nextKey() {
            let name = try scanner.string(key.slice)
            guard let value = try read(&scanner), values.updateValue(value, forKey: name) == nil
            else { return nil }
        }
        return .dictionary(values)
    }
}
