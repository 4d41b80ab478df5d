import Testing

@testable import LockkeeperCommand

@Suite("The command line's grammar")
struct ArgumentsTests {
    private let options: [OptionSpecification] = [
        .value("root", "DIR", ""), .value("limit", "N", ""), .flag("json", ""),
    ]

    private func parse(_ words: String...) throws(UsageError) -> Arguments {
        try Arguments(words, options: options)
    }

    @Test("a value may follow its option or hang on it, and may then begin with a hyphen")
    func values() throws {
        #expect(try parse("--root", "a").value("root") == "a")
        #expect(try parse("--root=a=b").value("root") == "a=b")
        #expect(try parse("--root=").value("root") == "")
        #expect(try parse("--root=--json").value("root") == "--json")
        #expect(try !parse("--root=--json").flag("json"))
        #expect(try parse("--root", "-").value("root") == "-")
    }

    @Test("options and positional arguments mix, and two hyphens end options")
    func positionals() throws {
        var arguments = try parse("c", "--json", "-", "--", "--root", "--")
        #expect(arguments.flag("json"))
        #expect(try arguments.positional("A") == "c")
        #expect(try arguments.positional("B") == "-")
        #expect(arguments.optionalPositional() == "--root")
        #expect(arguments.optionalPositional() == "--")
        #expect(arguments.optionalPositional() == nil)
        try arguments.finish()
    }

    @Test(
        "what cannot be understood is an error that says what to write",
        arguments: [
            (["--rot", "a"], "Did you mean --root?"),
            (
                ["--nothing-like-it"],
                "There is no option --nothing-like-it. Behind '--' everything is an argument:"
                    + " -- --nothing-like-it"
            ),
            (["-5"], "There is no option -5. Behind '--' everything is an argument: -- -5"),
            (["--json=1"], "takes no value"),
            (["--root"], "needs a value: --root DIR"),
            (["--root", "--json"], "written --root=DIR"),
            (["--json", "--json"], "given twice"),
            (["--root=a", "--root", "b"], "given twice"),
        ]
    )
    func errors(words: [String], sentence: String) {
        let error = #expect(throws: UsageError.self) {
            try Arguments(words, options: options)
        }
        #expect(error?.description.contains(sentence) == true, "\(error as Any)")
    }

    @Test("numbers stay in their range, and nothing is left over")
    func numbers() throws {
        #expect(try parse("--limit", "7").integer("limit", in: 1...Int.max) == 7)
        #expect(try parse().integer("limit", in: 1...Int.max) == nil)
        for text in ["0", "-1", "1.0", "1e3", "", "99999999999999999999"] {
            #expect(throws: UsageError.self, "\(text)") {
                try parse("--limit=\(text)").integer("limit", in: 1...Int.max)
            }
        }
        #expect(throws: UsageError.self) { try parse("one").finish() }
        var empty = try parse()
        #expect(throws: UsageError.self) { try empty.positional("ID") }
    }

    @Test("the distance of two words counts single changes")
    func distances() {
        #expect(editDistance("root", "root") == 0)
        #expect(editDistance("root", "rot") == 1)
        #expect(editDistance("ingest", "inject") == 2)
        #expect(editDistance("", "abc") == 3)
    }
}
