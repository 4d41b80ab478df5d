import Lockkeeper
import LockkeeperDomain
import LockkeeperState

/// What `doctor` finds in the files that an account has beside its databases.
struct StateLook {
    /// How things are, by name.
    private(set) var facts: [(name: String, value: String)] = []
    /// What is not as it should be.
    private(set) var findings: [InspectionFinding] = []

    /// Looks. An account that was signed out of is looked at as well. What cannot be opened is not looked
    /// at, which a fact says: why it cannot is found by the inspection of the databases.
    init(_ account: AccountID, in workspace: Workspace, deep: Bool) async throws {
        await lookAtSecrets(of: account, FileSecretStore(workspace))
        do {
            let session = try await workspace.inspectionSession(account)
            try await lookAtMedia(MediaStore(session), deep: deep)
            try await lookAtDocuments(DocumentStore(session))
        } catch let error as LockkeeperError {
            facts.append(("files", "documents and media cannot be looked at: \(error.explanation)"))
        }
    }

    private mutating func lookAtSecrets(of account: AccountID, _ store: FileSecretStore) async {
        do {
            try await store.checkItems(of: account)
        } catch let error as LockkeeperError {
            find("secret-unreadable", error.subject, error.explanation, error.remedy)
        } catch {
            let subject = "secrets of account \(account)"
            find("secret-unreadable", subject, "\(error)", "Look at its file.")
        }
    }

    private mutating func lookAtMedia(_ media: MediaStore, deep: Bool) async throws {
        let audit = try await media.audit(deep: deep)
        if audit.orphanCount > 0 {
            find(
                "media-orphan",
                "media",
                "\(audit.orphanCount) contents belong to no file that is present: a process died while"
                    + " it wrote or removed them.",
                Self.sweeping
            )
        }
        for id in audit.missing {
            find(
                "media-missing",
                "media \(id)",
                "Its file is missing, or is shorter.",
                Self.fetching
            )
        }
        for id in audit.damaged {
            find("media-damaged", "media \(id)", "Its content was changed.", Self.fetching)
        }
        for id in audit.abandoned {
            find(
                "media-abandoned",
                "media \(id)",
                "The process that fetched it is dead, and nobody fetches it any more.",
                Self.fetching
            )
        }
    }

    private mutating func lookAtDocuments(_ documents: DocumentStore) async throws {
        facts.append(("documents", String(try await documents.names().count)))
        for name in try await documents.unreadableFiles() {
            find(
                "document-unreadable",
                "documents/\(name)",
                "It is no document that this program can read: damaged, or a newer program's.",
                "Put a copy of it back, or have the app save another one over it."
            )
        }
    }

    private mutating func find(
        _ code: String,
        _ subject: String,
        _ explanation: String,
        _ remedy: String
    ) {
        findings.append(InspectionFinding(code, subject, explanation, remedy))
    }

    private static let sweeping = "Remove them with 'lockkeeper doctor --sweep'."
    private static let fetching =
        "'lockkeeper doctor --sweep' says that it is wanted again; the app fetches it then."
}
