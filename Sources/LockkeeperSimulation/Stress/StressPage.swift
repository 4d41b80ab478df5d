import LockkeeperDomain

/// A stress run as a page to look at: one file that needs no network and no script, light or dark as the
/// reader's system is.
///
/// Above is the verdict. Below it a lane for each process says who was inside the writer's lock when, as
/// far as the process said so, and who committed; kills, stops and switches are marked. Then what was
/// committed and how long was waited over time, how large the log was, and how often which wait occurred.
package struct StressPage: Sendable {
    let outcome: StressOutcome
    private let report: StressReport
    private let command: String

    /// A page of an outcome.
    ///
    /// - Parameter command: what repeats the run.
    package init(_ outcome: StressOutcome, report: StressReport, command: String) {
        self.outcome = outcome
        self.report = report
        self.command = command
    }

    /// The page.
    package var html: String {
        """
        <!doctype html>
        <html lang="en"><head><meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>lockkeeper stress, seed \(outcome.plan.seed)</title>
        <style>\(Self.style)</style></head><body>
        <h1>lockkeeper stress, seed \(outcome.plan.seed)</h1>
        \(verdict)
        <h2>Who was inside, and what was done to whom</h2>
        \(legend)
        \(lanes)
        <h2>Commits</h2>
        \(commits)
        <h2>Waits</h2>
        \(waits)
        <h2>Log</h2>
        \(logSizes)
        <h2>How often an answer took so long</h2>
        \(histogram)
        </body></html>

        """
    }

    private static let style = """
        :root{--back:#fff;--text:#1c1e21;--faint:#8a9099;--line:#e3e6ea;--inside:#2f6fdb;--commit:#1f3f7a;\
        --good:#18794e;--bad:#c0281f;--stop:#c77700;--switch:#7a3fc0}
        @media (prefers-color-scheme:dark){:root{--back:#14171c;--text:#e8eaed;--faint:#8d949e;\
        --line:#2a2f37;--inside:#6ea2ff;--commit:#b9d2ff;--good:#4cc38a;--bad:#ff7a6e;--stop:#ffb454;\
        --switch:#c59bff}}
        body{background:var(--back);color:var(--text);font:15px/1.5 system-ui,sans-serif;\
        max-width:1120px;margin:2rem auto;padding:0 1rem}
        h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}
        svg{display:block;width:100%;height:auto}
        svg text{fill:var(--faint);font:11px system-ui,sans-serif}
        code,pre{font:12px/1.5 ui-monospace,monospace;overflow-wrap:anywhere;white-space:pre-wrap}
        .good{color:var(--good)}.bad{color:var(--bad)}.faint{color:var(--faint)}
        .row{stroke:var(--line)}.inside{fill:var(--inside)}.commit{stroke:var(--commit)}
        .kill{stroke:var(--bad);stroke-width:2}.stop{fill:var(--stop);opacity:.35}
        .switch{stroke:var(--switch);stroke-dasharray:4 3}.end{stroke:var(--faint)}
        .curve{fill:none;stroke:var(--inside);stroke-width:1.5}.bar{fill:var(--inside)}
        .key{display:inline-block;margin-right:1.2em}.key::before{content:"";display:inline-block;\
        width:.8em;height:.8em;margin-right:.4em;background:var(--c)}
        """

    private var verdict: String {
        var text =
            report.isClean
            ? "<p class=\"good\" id=\"verdict\">No promise was broken.</p>"
            : "<p class=\"bad\" id=\"verdict\">\(report.violations.count) broken.</p>"
        for violation in report.violations.prefix(20) {
            let lines = violation.lines.map(escapedForPage).joined(separator: "\n")
            text +=
                "<p class=\"bad\">\(escapedForPage("\(violation.invariant): \(violation.sentence)."))</p>"
            if !lines.isEmpty { text += "<pre>\(lines)</pre>" }
        }
        let faults = outcome.plan.faults.map(\.rawValue).sorted().joined(separator: ", ")
        text += "<p>\(escapedForPage(report.lines[0]))</p>"
        text +=
            "<p class=\"faint\">Trouble: \(faults). Again: <code>\(escapedForPage(command))</code></p>"
        return text
    }

    private var legend: String {
        let keys = [
            ("inside", "inside a transaction"), ("commit", "committed"), ("bad", "killed"),
            ("stop", "stopped"), ("switch", "switched"),
        ]
        let items = keys.map { "<span class=\"key\" style=\"--c:var(--\($0.0))\">\($0.1)</span>" }
        return "<p>\(items.joined()) The grey line is where the trouble ends.</p>"
    }

    // MARK: - Means

    /// The width of what shows time, and of the names before it.
    static let width = 1000.0
    static let margin = 110.0

    /// Where a time stands.
    func x(_ time: Int64) -> Double {
        let whole = Double(max(1, outcome.converged - outcome.start))
        let share = min(1, max(0, Double(time - outcome.start) / whole))
        return Self.margin + share * (Self.width - Self.margin)
    }

    /// A picture of so many points in height.
    static func picture(height: Double, name: String, _ content: String) -> String {
        "<svg viewBox=\"0 0 \(short(width)) \(short(height))\" role=\"img\" aria-label=\"\(name)\">"
            + content + "</svg>"
    }

    static func line(_ x: Double, _ top: Double, _ bottom: Double, _ kind: String) -> String {
        "<line class=\"\(kind)\" x1=\"\(short(x))\" x2=\"\(short(x))\" y1=\"\(short(top))\""
            + " y2=\"\(short(bottom))\"/>"
    }

    static func text(_ x: Double, _ y: Double, _ words: String) -> String {
        "<text x=\"\(short(x))\" y=\"\(short(y))\">\(escapedForPage(words))</text>"
    }

    /// A number with one decimal, which is less than a pixel.
    static func short(_ number: Double) -> String {
        let tenths = Int((number * 10).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(abs(tenths % 10))"
    }
}
