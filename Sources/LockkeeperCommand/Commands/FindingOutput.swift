import Lockkeeper
import LockkeeperDomain

/// How findings are printed: one line each.
enum FindingOutput {
    /// Prints them.
    static func print(_ findings: [InspectionFinding], in context: CommandContext) throws {
        for finding in findings {
            guard context.options.isJSON else {
                let subject = terminalText(finding.subject)
                try context.console.print(
                    "\(finding.code): \(subject): \(terminalText(finding.explanation)) \(finding.remedy)"
                )
                continue
            }
            try context.console.print { writer in
                writer.beginVersionedObject()
                writer.member("code", finding.code)
                writer.member("subject", finding.subject)
                writer.member("explanation", finding.explanation)
                writer.member("remedy", finding.remedy)
                writer.endObject()
            }
        }
    }
}
