/// A number with what is counted, for people: "1 item", "2 items".
///
/// - Parameter many: the word for several; `nil`: the one for one with an s.
package func counted(_ count: Int, _ one: String, _ many: String? = nil) -> String {
    "\(count) \(count == 1 ? one : many ?? one + "s")"
}
