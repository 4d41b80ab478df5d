/// The bytes of a text.
func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
