import LockkeeperSQLite
import LockkeeperStorage

/// What an inspection looks at in the tables of this room.
enum StateInspection {
    static let probes: [StoreInspection.Probe] = [
        StoreInspection.Probe(from: .deep) { connection in
            let select = try connection.statement("SELECT name, value FROM lk_setting")
            defer { select.reset() }
            var findings: [StoreInspection.Finding] = []
            while try select.step() {
                if (try? PropertyValueCodec.decode(select.bytes(1))) != nil { continue }
                findings.append(
                    StoreInspection.Finding(
                        code: "setting-value",
                        subject: "setting \(select.string(0))",
                        explanation: "what is stored is no value",
                        remedy: "set it anew, or remove it"
                    )
                )
            }
            return findings
        }
    ]
}
