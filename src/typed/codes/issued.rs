//! What an issue hands out, and by which names codes are known.

use alloc::boxed::Box;
use core::fmt;
use core::num::ParseIntError;
use core::str::FromStr;
use core::time::Duration;

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::alphabet::Alphabet;
use super::error::NoRandomness;
use crate::Timestamp;
use crate::typed::secret::{Digest, Secret};

/// The most symbols of a code.
pub(super) const MAX_LENGTH: usize = 64;

/// The symbols of a code. Wiped when dropped, and never moved, since that leaves a copy behind.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct Symbols {
    symbols: [u8; MAX_LENGTH],
    len: usize,
}

/// A code in the clear: for the letter to its addressee, and for nobody else. Wiped when dropped; neither printed
/// by `Debug`, nor cloned, nor comparable.
pub struct SecretCode(Box<Symbols>);

/// Which code is meant: a random number that says nothing about the code. It may be shown, sent in a cookie or
/// a form, and logged. In text it is sixteen hexadecimal digits.
///
/// ```
/// use tickwheel::CodeNonce;
///
/// let nonce = CodeNonce::from_u64(0x00c0_ffee);
/// assert_eq!(nonce.to_string(), "0000000000c0ffee");
/// assert_eq!("0000000000c0ffee".parse(), Ok(nonce));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CodeNonce(u64);

/// A subject as it is kept: by a keyed digest, so that nobody who sees it learns whose it is. The same
/// subject has the same one as long as the key is the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SubjectId([u8; 32]);

/// Under what a code is kept, as events have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CodeKey {
    /// Whom it was issued to; compare it with [`OneTimeCodes::subject_id`](super::OneTimeCodes::subject_id).
    pub subject: SubjectId,
    /// What for.
    pub purpose: &'static str,
}

/// A code that was issued.
#[must_use = "it has to be sent to somebody"]
#[non_exhaustive]
pub struct Issued {
    /// What the subject has to answer.
    pub code: SecretCode,
    /// Which code this is.
    pub nonce: CodeNonce,
    /// From when on it is refused; [`Timestamp::NEVER`] if its time has no end.
    pub deadline: Timestamp,
    /// How long that was when it was issued; `Duration::MAX` if its time has no end.
    pub expires_in: Duration,
    /// The generation of its [event](crate::Ended).
    pub generation: u64,
}

// === impl Symbols ===

impl Symbols {
    pub(super) fn new() -> Self {
        Self {
            symbols: [0; MAX_LENGTH],
            len: 0,
        }
    }

    pub(super) fn push(&mut self, symbol: u8) {
        self.symbols[self.len] = symbol;
        self.len += 1;
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn as_str(&self) -> &str {
        // Only symbols of an alphabet are pushed, and those are ASCII.
        core::str::from_utf8(&self.symbols[..self.len]).unwrap_or_default()
    }
}

// === impl SecretCode ===

impl SecretCode {
    pub(super) fn draw(alphabet: Alphabet, length: usize) -> Result<Self, NoRandomness> {
        let mut code = Self(Box::new(Symbols::new()));
        alphabet.draw(length, &mut code.0)?;
        Ok(code)
    }

    /// The code, in capitals and without separators. Whoever copies it has to wipe the copy.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.as_str()
    }

    /// How many symbols it has.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl fmt::Debug for SecretCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretCode(..)")
    }
}

// === impl CodeNonce ===

impl CodeNonce {
    pub(super) fn random() -> Result<Self, NoRandomness> {
        let random = Secret::<8>::random().map_err(|_| NoRandomness)?;
        Ok(Self(u64::from_le_bytes(*random.bytes())))
    }

    /// As a number.
    #[must_use]
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// From the number.
    #[must_use]
    pub const fn from_u64(nonce: u64) -> Self {
        Self(nonce)
    }
}

impl fmt::Display for CodeNonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for CodeNonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CodeNonce({self})")
    }
}

impl FromStr for CodeNonce {
    type Err = ParseIntError;

    /// From hexadecimal digits, of either case.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        u64::from_str_radix(text, 16).map(Self)
    }
}

// === impl SubjectId ===

impl SubjectId {
    pub(super) fn new(digest: &Digest) -> Self {
        Self(*digest.bytes())
    }

    #[cfg(feature = "serde")]
    pub(super) fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The digest.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for SubjectId {
    /// The first half of the digest, in hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..16]
            .iter()
            .try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for SubjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SubjectId({self})")
    }
}

// === impl Issued ===

impl fmt::Debug for Issued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issued")
            .field("nonce", &self.nonce)
            .field("deadline", &self.deadline)
            .field("generation", &self.generation)
            .finish_non_exhaustive()
    }
}
