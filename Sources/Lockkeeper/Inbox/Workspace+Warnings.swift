import LockkeeperDomain
import LockkeeperStorage

extension Workspace {
    /// What somebody should do something about before it stops an account, although nothing is wrong
    /// with its databases: packets of the inbox that are damaged or parked, an inbox or a quarantine
    /// that is nearly full.
    ///
    /// A database that cannot be read keeps nothing of the files back; ``inspection(of:level:progress:)``
    /// says what is wrong with it.
    ///
    /// - Throws: ``LockkeeperError`` with the code `unknownAccount`.
    public func warnings(of id: AccountID) async throws -> [InspectionFinding] {
        let files = try await work { try $0.fileWarnings(of: id) }
        // Opening the account would go on with a repair, and a look changes nothing.
        if try await work({ try $0.isRecovering(id) }) { return files }
        let (schemas, limits) = (schemas, limits)
        let rows = try? await reading(id) { connection in
            let parked = try PacketTable(connection).entries().filter { $0.parked != nil }
            // A schema whose tables are not there yet has nothing to warn of.
            return parked.map { Self.warning(of: $0) }
                + schemas.flatMap { (try? $0.warnings(connection, limits)) ?? [] }
        }
        return files + ((rows ?? nil) ?? [])
    }

    private func fileWarnings(of id: AccountID) throws -> [InspectionFinding] {
        let folder = try inboxFolder(of: id)
        let entries = try folder.entries()
        var warnings: [InspectionFinding] = []
        for entry in entries {
            if let why = entry.parked {
                warnings.append(Self.warning(of: "\(entry.name)", parked: why, failure: nil))
                continue
            }
            do throws(StorageError) {
                _ = try folder.read(entry, byteCountMax: limits.packetByteCountMax)
            } catch {
                warnings.append(Self.warning(of: "\(entry.name)", waiting: error))
            }
        }
        let byteCount = entries.reduce(0) { $0 + $1.byteCount }
        let (countMax, byteCountMax) = (limits.inboxPacketCountMax, limits.inboxByteCountMax)
        if !entries.isEmpty,
            entries.count >= countMax / 5 * 4 || byteCount >= Int64(byteCountMax) / 5 * 4
        {
            warnings.append(
                InspectionFinding(
                    code: "inbox-nearly-full",
                    subject: "inbox",
                    explanation: "\(entries.count) of \(countMax) packets and \(byteCount) of"
                        + " \(byteCountMax) bytes are kept as files; at the bound packets are refused.",
                    remedy: "Activate the account, or see with 'lockkeeper inbox drain' what holds"
                        + " them up."
                )
            )
        }
        return warnings
    }

    private static func warning(of row: PacketTable.Entry) -> InspectionFinding {
        warning(of: "\(row.name)", parked: row.parked ?? .tooManyAttempts, failure: row.failure)
    }

    private static func warning(
        of name: String,
        waiting error: StorageError
    ) -> InspectionFinding {
        switch error {
        case .packetTorn: warning(of: name, parked: .torn, failure: nil)
        case .packetNewer:
            InspectionFinding(
                code: "packet-newer",
                subject: "packet \(name)",
                explanation: "A newer program kept it, and it waits for one.",
                remedy: "Open the account with that program."
            )
        default:
            InspectionFinding(
                code: "packet-unreadable",
                subject: "packet \(name)",
                explanation: "\(error.description).",
                remedy: "Make its file readable for this user; it is applied then."
            )
        }
    }

    private static func warning(
        of name: String,
        parked why: InboxFolder.ParkingReason,
        failure: String?
    ) -> InspectionFinding {
        switch why {
        case .torn:
            InspectionFinding(
                code: "packet-torn",
                subject: "packet \(name)",
                explanation: "Its file is not what was written, and nothing of it is applied.",
                remedy: "Ask the server again from the stream's cursor ('lockkeeper cursors'), then"
                    + " 'lockkeeper inbox drop \(name) --yes'."
            )
        case .wrongAccount:
            InspectionFinding(
                code: "packet-of-another-account",
                subject: "packet \(name)",
                explanation:
                    "Its file says that it is for another account than whose folder it lies"
                    + " in.",
                remedy:
                    "See whose it is with 'lockkeeper inbox show \(name)', deliver it there, then"
                    + " 'lockkeeper inbox drop \(name) --yes'."
            )
        case .tooManyAttempts:
            InspectionFinding(
                code: "packet-parked",
                subject: "packet \(name)",
                explanation: "It was begun as often as may be, and "
                    + (failure.map { "failed with \($0)." } ?? "whoever did it failed or died."),
                remedy:
                    "Look at it with 'lockkeeper inbox show \(name)'; with a program that reads it"
                    + " 'lockkeeper inbox retry \(name)', otherwise 'lockkeeper inbox drop \(name)"
                    + " --yes'."
            )
        }
    }
}
