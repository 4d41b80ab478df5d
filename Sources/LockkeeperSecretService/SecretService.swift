import CLockkeeperSecret

/// The Secret Service of the user's session. Blocks on D-Bus; never asks a person.
package enum SecretService {
    /// Why it did not do what it was asked.
    package enum Failure: Error, Sendable, Hashable {
        /// Thrown when there is no such item.
        case missing
        /// Thrown when the item, or the collection that it would be in, is locked.
        case locked
        /// Thrown when the bus or the service refuses.
        case denied
        /// Thrown when there is no bus, no service, no collection, or no libsecret in this build.
        case unavailable
        /// Thrown when the service fails otherwise.
        case failed
    }

    /// Whether this build contains libsecret: the package trait `SecretService`.
    package static var isBuiltIn: Bool {
        #if SecretService
            true
        #else
            false
        #endif
    }

    /// Looks for an item, without reading its secret.
    package static func find(service: String, account: String) throws(Failure) {
        try check(lk_secret_find(service, account))
    }

    /// Stores an item, in the place of the one that is there.
    package static func store(
        service: String,
        account: String,
        label: String,
        _ bytes: UnsafeRawBufferPointer
    ) throws(Failure) {
        let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        try check(lk_secret_store(service, account, label, start, bytes.count))
    }

    /// Reads an item; its bytes are overwritten when the closure has ended.
    package static func load<Value>(
        service: String,
        account: String,
        _ body: (UnsafeRawBufferPointer) -> Value
    ) throws(Failure) -> Value {
        var bytes = lk_secret_bytes()
        defer { lk_secret_free(&bytes) }
        try check(lk_secret_load(service, account, &bytes))
        return body(UnsafeRawBufferPointer(start: bytes.bytes, count: bytes.count))
    }

    /// Removes an item.
    package static func delete(service: String, account: String) throws(Failure) {
        try check(lk_secret_delete(service, account))
    }

    /// The services of an account's items, in no order.
    package static func services(of account: String) throws(Failure) -> [String] {
        var services: [String] = []
        let result = withUnsafeMutablePointer(to: &services) { pointer in
            lk_secret_list(account, pointer) { context, service in
                guard let context, let service else { return }
                context.assumingMemoryBound(to: [String].self).pointee
                    .append(String(cString: service))
            }
        }
        try check(result)
        return services
    }

    private static func check(_ result: lk_secret_result) throws(Failure) {
        switch result {
        case LK_SECRET_OK: return
        case LK_SECRET_MISSING: throw .missing
        case LK_SECRET_LOCKED: throw .locked
        case LK_SECRET_DENIED: throw .denied
        case LK_SECRET_UNAVAILABLE: throw .unavailable
        default: throw .failed
        }
    }
}
