package import LockkeeperDomain

/// What one scenario of the benchmark came to: the same form for all of them, for people, for
/// programs and as a page.
package struct BenchReport: Sendable, Hashable {
    /// The scenario's name, as the command line has it.
    package let scenario: String
    /// What was run, in a few words: sizes, times, rounds.
    package let setting: String
    /// The figures.
    package let figures: [BenchFigure]

    /// A report of a scenario's figures.
    package init(_ scenario: String, _ setting: String, _ figures: [BenchFigure]) {
        self.scenario = scenario
        self.setting = setting
        self.figures = figures
    }

    /// The figure of a name; `nil` where there is none.
    package func figure(_ name: String) -> BenchFigure? { figures.first { $0.name == name } }

    /// The report for people.
    package func lines(on machine: BenchMachine) -> [String] {
        ["\(scenario): \(setting)", machine.sentence] + figures.map(\.sentence)
    }

    /// Writes it as members of an object that is open.
    package func write(on machine: BenchMachine, into writer: inout JSONWriter) {
        writer.key("scenario")
        writer.string(scenario)
        writer.key("setting")
        writer.string(setting)
        writer.key("machine")
        machine.write(into: &writer)
        writer.key("figures")
        writer.beginArray()
        for figure in figures { figure.write(into: &writer) }
        writer.endArray()
    }
}
