/// A report as a page that needs nothing but itself: the machine, a table of the figures, and for each
/// a plot with one dot per round.
///
/// The plot of a figure that is held against a baseline shows the ratios, with a line at 1, where both
/// are the same; of one that stands alone the values from zero on. A dashed line is the budget.
package struct BenchPage: Sendable {
    private let report: BenchReport
    private let machine: BenchMachine
    private let command: String

    /// The width and height of a plot, and the room beside its outermost dots, in pixels.
    private static let (width, height, margin) = (320.0, 24.0, 8.0)

    /// A page of a report.
    ///
    /// - Parameter command: the command line that measured it.
    package init(_ report: BenchReport, on machine: BenchMachine, by command: String) {
        self.report = report
        self.machine = machine
        self.command = command
    }

    /// The page.
    package var html: String {
        """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <title>lockkeeper bench \(escapedForPage(report.scenario))</title>
        <style>
        body { font: 15px/1.4 system-ui, sans-serif; margin: 2em; color: #222; background: #fff; }
        table { border-collapse: collapse; }
        th, td { padding: 4px 12px; border-bottom: 1px solid #ddd; text-align: left; }
        td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
        .missed { color: #b00020; font-weight: bold; }
        code { background: #f2f2f2; padding: 2px 4px; }
        </style>
        </head>
        <body>
        <h1>bench \(escapedForPage(report.scenario))</h1>
        <p>\(escapedForPage(report.setting))</p>
        <p>\(escapedForPage(machine.sentence))</p>
        <p><code>\(escapedForPage(command))</code></p>
        <table>
        <tr><th>figure</th><th>median</th><th>against</th><th>times</th><th>rounds</th><th>budget</th></tr>
        \(report.figures.map(row).joined(separator: "\n"))
        </table>
        <p>One dot per round: the ratio to what a figure is held against, with a line at 1, or the value
        itself, from zero on. Dashed: the budget. In brackets: the least and the largest.</p>
        </body>
        </html>

        """
    }

    private func row(_ figure: BenchFigure) -> String {
        let unit = escapedForPage(figure.unit.suffix)
        let hasRatio = !figure.ratios.isEmpty
        let against = hasRatio ? "\(BenchSpread(figure.baseline).sentence)\(unit)" : ""
        let times = hasRatio ? BenchSpread(figure.ratios).sentence : ""
        return "<tr><td>\(escapedForPage(figure.name))</td>"
            + "<td class=\"n\">\(BenchSpread(figure.values).sentence)\(unit)</td>"
            + "<td class=\"n\">\(against)</td><td class=\"n\">\(times)</td>"
            + "<td>\(plot(figure))</td><td>\(verdict(figure))</td></tr>"
    }

    private func verdict(_ figure: BenchFigure) -> String {
        guard let budget = figure.budget else { return "" }
        if budget.isKept(by: figure.judged) { return budget.sentence }
        return "<span class=\"missed\">\(budget.sentence): missed</span>"
    }

    private func plot(_ figure: BenchFigure) -> String {
        let numbers = figure.ratios.isEmpty ? figure.values : figure.ratios
        let bound = figure.budget?.bound
        let one = figure.ratios.isEmpty ? nil : 1.0
        let largest = (numbers + [bound, one].compactMap { $0 }).max() ?? 0
        let scale = largest > 0 ? (Self.width - 2 * Self.margin) / largest : 0
        func x(_ number: Double) -> String { decimal(Self.margin + number * scale, 1) }
        let (middle, bottom) = (decimal(Self.height / 2, 1), decimal(Self.height, 1))
        var shapes = [
            "<line x1=\"\(x(0))\" x2=\"\(x(largest))\" y1=\"\(middle)\" y2=\"\(middle)\""
                + " stroke=\"#ccc\"/>"
        ]
        for (number, style) in [(one, ""), (bound, " stroke-dasharray=\"3 3\"")] {
            guard let number else { continue }
            shapes.append(
                "<line x1=\"\(x(number))\" x2=\"\(x(number))\" y1=\"0\" y2=\"\(bottom)\""
                    + " stroke=\"#888\"\(style)/>"
            )
        }
        for number in numbers {
            shapes.append(
                "<circle cx=\"\(x(number))\" cy=\"\(middle)\" r=\"4\" fill=\"#1565c0\""
                    + " fill-opacity=\"0.6\"/>"
            )
        }
        return "<svg role=\"img\" aria-label=\"rounds\" width=\"\(Int(Self.width))\""
            + " height=\"\(Int(Self.height))\">\(shapes.joined())</svg>"
    }
}
