import LockkeeperDomain
import LockkeeperMessages

/// Whether a demo run lost anything, judged from its evidence alone.
///
/// Checked are: what was acknowledged is in the database, to the byte (I-6, I-5); nothing that was
/// refused is in either database (I-2, I-13); each message of those that notify was shown once and withdrawn once
/// where it was recalled or read (M-11); the follower saw every commit once and in order (I-7,
/// I-8); the cursors stand behind the last page (I-4); the databases pass their inspection (I-16).
package struct DemoVerdict: Sendable, Hashable {
    /// What is wrong, a sentence each; empty where nothing was lost.
    package private(set) var losses: [String] = []

    /// The last line of a report.
    package var sentence: String {
        guard let first = losses.first else { return "nothing lost" }
        return losses.count == 1 ? first : "\(first) (and \(losses.count - 1) more)"
    }

    // Past this many sentences of one kind the rest is a number: somebody reads them.
    private static let namedCountMax = 5

    /// Judges a run.
    package init(_ evidence: DemoEvidence) {
        if evidence.unacknowledgedCount > 0 {
            losses.append("\(evidence.unacknowledgedCount) events have no receipt")
        }
        let sent = ChatModel(evidence.sent)
        let stored = ChatModel(evidence.exported)
        judgeMessages(sent, stored, quarantined: evidence.quarantined)
        judgePositions(sent, stored)
        judgeOther(evidence)
        judgeLateEvents(evidence, stored)
        judgeEffects(evidence)
        judgeCommits(evidence)
        losses += evidence.findings
        for ending in evidence.endings where ending.actual != ending.expected {
            losses.append("\(ending.process) \(ending.actual), expected was: \(ending.expected)")
        }
    }

    private mutating func judgeMessages(
        _ sent: ChatModel,
        _ stored: ChatModel,
        quarantined: Set<ChatModel.Key>
    ) {
        var found: [String] = []
        for (key, expected) in sent.messages {
            guard let actual = stored.messages[key] else {
                if !quarantined.contains(key) { found.append("message \(key) is missing") }
                continue
            }
            if let difference = Self.difference(expected, actual) {
                found.append("message \(key): \(difference)")
            }
        }
        for key in stored.messages.keys where sent.messages[key] == nil {
            found.append("message \(key) was never sent")
        }
        append(found)
    }

    private static func difference(
        _ expected: ChatModel.Message,
        _ actual: ChatModel.Message
    ) -> String? {
        if expected.isRecalled != actual.isRecalled {
            return expected.isRecalled ? "its recall is missing" : "it was never recalled"
        }
        if expected.body != actual.body { return "its text is not the newest that was sent" }
        if !actual.sequences.isSubset(of: expected.sequences) { return "its seq was never sent" }
        if actual.sequences.isEmpty != expected.sequences.isEmpty { return "its seq is missing" }
        return nil
    }

    private mutating func judgePositions(_ sent: ChatModel, _ stored: ChatModel) {
        var found: [String] = []
        for (conversation, expected) in sent.readSequences {
            let actual = stored.readSequences[conversation]
            if actual != expected {
                let text = actual.map(String.init) ?? "unknown"
                found.append("conversation \(conversation) is read to \(text), not \(expected)")
            }
        }
        for (stream, expected) in sent.cursors {
            let actual = stored.cursors[stream]
            if actual != expected {
                let text = actual.map { "at '\($0)'" } ?? "nowhere"
                found.append("the cursor of \(stream) stands \(text), not at '\(expected)'")
            }
        }
        append(found)
    }

    private mutating func judgeOther(_ evidence: DemoEvidence) {
        let sent = ChatModel(evidence.sentToOther)
        let stored = ChatModel(evidence.exportedFromOther)
        var found: [String] = []
        for key in sent.messages.keys where stored.messages[key] == nil {
            found.append("message \(key) is missing in the second account")
        }
        for key in stored.messages.keys where sent.messages[key] == nil {
            found.append("message \(key) of another account is in the second one")
        }
        append(found)
    }

    private mutating func judgeLateEvents(_ evidence: DemoEvidence, _ stored: ChatModel) {
        let late = ChatModel(evidence.sentTooLate)
        append(
            late.messages.keys.filter { stored.messages[$0] != nil }.map {
                "message \($0) was stored after its account had been switched away from"
            }
        )
        if !evidence.sentTooLate.isEmpty, evidence.refusedCount == 0 {
            losses.append("nothing was refused after the switch")
        }
    }

    /// One notification per message, whoever ingested it, and one withdrawal of what was recalled or
    /// read (M-11). Nobody who showed any was killed, so that at least once is once.
    private mutating func judgeEffects(_ evidence: DemoEvidence) {
        var counts: [EffectLog.Told: Int] = [:]
        for told in evidence.told { counts[told, default: 0] += 1 }
        for key in evidence.notifiable { counts[EffectLog.Told(.notify, key), default: 0] -= 1 }
        for key in evidence.withdrawable { counts[EffectLog.Told(.withdraw, key), default: 0] -= 1 }
        append(
            counts.filter { $0.value != 0 }.map { told, difference in
                let way = difference > 0 ? "more" : "less"
                return "\(told.kind.rawValue) of message \(told.message) was told"
                    + " \(abs(difference)) times \(way) than it should"
            }
        )
    }

    private mutating func judgeCommits(_ evidence: DemoEvidence) {
        var last = evidence.commitBefore
        for range in evidence.ranges {
            if range.lowerBound != last + 1 {
                losses.append(
                    "behind commit \(last) the follower saw \(range.lowerBound), not \(last + 1)"
                )
            }
            last = range.upperBound
        }
        if last != evidence.commitHead {
            losses.append("the follower saw commit \(last), the last one is \(evidence.commitHead)")
        }
        if let beyond = evidence.acknowledgedCommits.max(), beyond > evidence.commitHead {
            losses.append("commit \(beyond) has a receipt, the last one is \(evidence.commitHead)")
        }
        let commits = evidence.acknowledgedCommits.sorted()
        for (commit, next) in zip(commits, commits.dropFirst()) where commit == next {
            losses.append("commit \(commit) has two receipts")
        }
    }

    private mutating func append(_ found: [String]) {
        // Dictionaries have no order; a report has one.
        let found = found.sorted()
        losses += found.prefix(Self.namedCountMax)
        if found.count > Self.namedCountMax {
            losses.append("\(found.count - Self.namedCountMax) more of that kind")
        }
    }
}
