/// How far one file of the account's is.
///
/// ```
/// ──want──▶ wanted ──begin──▶ downloading ──finish──▶ present ──evict──▶ evicted
///           ▲ ▲ ▲                │   │                   │                 │
///           │ │ └──abandon───────┘   └──fail──▶ failed   │                 │
///           │ └──────want──────────────────────────┘     │                 │
///           └────────lose────────────────────────────────┘                 │
///           └────────want──────────────────────────────────────────────────┘
/// ```
///
/// What may be trusted: of what is present the content is there, as long as its digest says, unless
/// something outside took it, which ``MediaStore/sweep(deep:)`` finds. Nobody but the process that began is
/// at what is downloading; where that one is dead anybody may begin. What is in any other state has no
/// content that anything rests on.
public enum MediaState: String, Sendable, Hashable, CaseIterable, Codable {
    /// Somebody should fetch it.
    case wanted
    /// A process fetches it.
    case downloading
    /// It is here.
    case present
    /// An attempt failed; it is tried again once it is wanted again.
    case failed
    /// It was here, and made place for others; it can be fetched again.
    case evicted

    /// What happens to a file.
    enum Step: CaseIterable {
        /// ``MediaStore/want(_:retention:byteCount:digest:)``
        case want
        /// ``MediaStore/begin(_:)``
        case begin
        /// ``MediaStore/finish(_:with:)``
        case finish
        /// ``MediaStore/fail(_:because:)``
        case fail
        /// ``MediaStore/evict(_:)`` and ``MediaStore/trim(toByteCount:)``
        case evict
        /// The process that fetched it is dead.
        case abandon
        /// Its content is gone or is another.
        case lose
    }

    /// The state after a step; `nil` where there is no such step. Wanting what is under way or here
    /// changes nothing.
    func after(_ step: Step) -> MediaState? {
        switch (self, step) {
        case (.failed, .want), (.evicted, .want), (.downloading, .abandon), (.present, .lose):
            .wanted
        case (.wanted, .want), (.downloading, .want), (.present, .want): self
        case (.wanted, .begin): .downloading
        case (.downloading, .finish): .present
        case (.downloading, .fail): .failed
        case (.present, .evict): .evicted
        default: nil
        }
    }
}
