//! Text from outside, made safe for a terminal.

use std::fmt::Write;

/// The same text with everything that does not print escaped: control characters, bytes
/// that are not UTF-8, characters that turn the direction of writing.
pub(crate) fn escaped(text: &[u8]) -> String {
    let mut safe = String::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        for char in chunk.valid().chars() {
            match char {
                // These `escape_debug` would escape too; they are harmless.
                '"' | '\'' | '\\' => safe.push(char),
                _ => safe.extend(char.escape_debug()),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(safe, "\\x{byte:02x}"); // a String takes everything
        }
    }
    safe
}
