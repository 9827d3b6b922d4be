//! Session ids: what a client is given, and all that it has to show.

use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop};

use super::ParseSessionIdError;
use crate::typed::secret::Secret;

/// Tells the sessions of a store apart. It is not what protects them.
const SELECTOR: usize = 8;
/// What nobody can guess.
const SECRET: usize = 16;
const BYTES: usize = SELECTOR + SECRET;

/// The alphabet of base64url (RFC 4648, section 5).
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// What each byte stands for: [`NONE`], if it is not of the alphabet.
const VALUES: [u8; 256] = {
    let mut values = [NONE; 256];
    let mut at = 0;
    while at < ALPHABET.len() {
        values[ALPHABET[at] as usize] = at as u8;
        at += 1;
    }
    values
};
const NONE: u8 = u8::MAX;

/// What a client shows to have its session: 192 bits from the operating system, of which 64 say which
/// session it is, and 128 that the client may have it.
///
/// As text it has 32 characters, all of which may stand in a URL, a cookie or a file name. Whoever has it
/// has the session. So it has no `Display`, its `Debug` does not show it, it is compared in constant
/// time, and its bytes are wiped when it is dropped. To name a session in logs, take its
/// [`generation`](super::Session::generation).
///
/// ```
/// use tickwheel::{ParseSessionIdError, SessionId};
///
/// let id: SessionId = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYX".parse()?;
/// assert_eq!(*id.to_text(), *"AAECAwQFBgcICQoLDA0ODxAREhMUFRYX");
/// assert_eq!(format!("{id:?}"), "SessionId(..)");
///
/// let error = "short".parse::<SessionId>().unwrap_err();
/// assert_eq!(error, ParseSessionIdError::Length { found: 5 });
/// # Ok::<(), ParseSessionIdError>(())
/// ```
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct SessionId([u8; BYTES]);

// === impl SessionId ===

impl SessionId {
    /// Characters of its text.
    pub const LEN: usize = BYTES / 3 * 4;

    /// From the operating system.
    pub(super) fn random() -> Result<Self, getrandom::Error> {
        Ok(Self(*Secret::random()?.bytes()))
    }

    /// Another id for the same session.
    pub(super) fn cycled(&self) -> Result<Self, getrandom::Error> {
        let mut id = Self::random()?;
        id.0[..SELECTOR].copy_from_slice(&self.0[..SELECTOR]);
        Ok(id)
    }

    /// Which session it names.
    pub(super) fn selector(&self) -> u64 {
        let mut selector = [0; SELECTOR];
        selector.copy_from_slice(&self.0[..SELECTOR]);
        u64::from_le_bytes(selector)
    }

    pub(super) fn bytes(&self) -> &[u8; BYTES] {
        &self.0
    }

    /// The text to give to the client, and to nobody else.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::with_capacity(Self::LEN);
        for three in self.0.chunks_exact(3) {
            let bits = u32::from_be_bytes([0, three[0], three[1], three[2]]);
            for shift in [18, 12, 6, 0] {
                text.push(char::from(
                    ALPHABET[(bits >> shift) as usize % ALPHABET.len()],
                ));
            }
        }
        text
    }

    /// The id that a text stands for. It says nothing of whether there is such a session.
    ///
    /// # Errors
    ///
    /// [`ParseSessionIdError`] if the text has not [`LEN`](Self::LEN) bytes, or any that is not of the alphabet.
    pub fn parse(text: &str) -> Result<Self, ParseSessionIdError> {
        let text = text.as_bytes();
        if text.len() != Self::LEN {
            return Err(ParseSessionIdError::Length { found: text.len() });
        }
        let mut id = Self([0; BYTES]);
        for (group, (three, four)) in
            id.0.chunks_exact_mut(3)
                .zip(text.chunks_exact(4))
                .enumerate()
        {
            let mut bits = 0;
            for (offset, byte) in four.iter().enumerate() {
                let value = VALUES[usize::from(*byte)];
                if value == NONE {
                    let at = group * 4 + offset;
                    return Err(ParseSessionIdError::Character { at });
                }
                bits = (bits << 6) | u32::from(value);
            }
            three.copy_from_slice(&bits.to_be_bytes()[1..]);
        }
        Ok(id)
    }
}

impl FromStr for SessionId {
    type Err = ParseSessionIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl PartialEq for SessionId {
    /// Takes as long whether they are equal or not.
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for SessionId {}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionId(..)")
    }
}

#[cfg(test)]
mod tests {
    //! Properties: texts and ids are one to one; a cycled id names the same session.

    use alloc::format;
    use alloc::string::ToString;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_id_has_one_text(bytes in any::<[u8; BYTES]>()) {
            let id = SessionId(bytes);
            let text = id.to_text();
            prop_assert_eq!(text.len(), SessionId::LEN);
            prop_assert_eq!(SessionId::parse(&text).unwrap().0, bytes);
        }

        #[test]
        fn every_text_of_the_alphabet_is_one_id(text in "[A-Za-z0-9_-]{32}") {
            prop_assert_eq!(SessionId::parse(&text).unwrap().to_text(), text);
        }

        #[test]
        fn no_text_panics(text in any::<String>()) {
            if let Ok(id) = SessionId::parse(&text) {
                prop_assert_eq!(id.to_text(), text);
            }
        }

        #[test]
        fn what_is_not_of_the_alphabet_is_pointed_at(at in 0..SessionId::LEN, wrong in "[ -,./:-@\\[-^`{-~]") {
            let mut text = "A".repeat(SessionId::LEN);
            text.replace_range(at..=at, &wrong);
            prop_assert_eq!(
                SessionId::parse(&text).unwrap_err(),
                ParseSessionIdError::Character { at }
            );
        }
    }

    #[test]
    fn a_cycled_id_names_the_same_session_and_is_another() {
        let id = SessionId::random().unwrap();
        let cycled = id.cycled().unwrap();
        assert_eq!(id.selector(), cycled.selector());
        assert_ne!(id, cycled);
        assert_ne!(id.bytes(), cycled.bytes());
    }

    #[test]
    fn debug_does_not_show_it() {
        let id = SessionId::random().unwrap();
        assert!(!format!("{id:?}").contains(&id.to_text()));
        assert!(!SessionId::parse("x").unwrap_err().to_string().contains('x'));
    }
}
