//! Secrets: from the operating system, kept as keyed digests, compared in constant time, wiped.

use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Bytes that nobody can guess. Wiped when dropped.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct Secret<const N: usize>([u8; N]);

/// A key for digests, made at random: what was digested with it says nothing without it.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct DigestKey([u8; 32]);

/// A keyed digest (BLAKE3). It may be stored and shown; equality takes the same time for all.
#[derive(Clone, Copy)]
pub(super) struct Digest([u8; 32]);

// === impl Secret ===

impl<const N: usize> Secret<N> {
    /// From the operating system.
    pub(super) fn random() -> Result<Self, getrandom::Error> {
        let mut secret = Self([0; N]);
        getrandom::fill(&mut secret.0)?;
        Ok(secret)
    }

    pub(super) fn bytes(&self) -> &[u8; N] {
        &self.0
    }
}

// === impl DigestKey ===

impl DigestKey {
    /// From the operating system.
    pub(super) fn random() -> Result<Self, getrandom::Error> {
        let mut key = Self([0; 32]);
        getrandom::fill(&mut key.0)?;
        Ok(key)
    }

    /// One that was kept, so that digests outlive a process.
    pub(super) fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The digest of a text of which all have the same length. Half the work of [`digest`](Self::digest).
    #[inline]
    pub(super) fn digest_fixed<const N: usize>(&self, text: &[u8; N]) -> Digest {
        Digest(*blake3::keyed_hash(&self.0, text).as_bytes())
    }

    /// The digest of some texts, one after the other. Each is preceded by its length, so that none runs
    /// into the next.
    pub(super) fn digest(&self, texts: &[&[u8]]) -> Digest {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        for text in texts {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text);
        }
        Digest(*hasher.finalize().as_bytes())
    }

    /// What shows that two keys are the same, and nothing else of them. Nothing else has this digest.
    #[cfg(feature = "serde")]
    pub(super) fn check(&self) -> Digest {
        self.digest(&[b"tickwheel", b"key", b"check"])
    }
}

// === impl Digest ===

impl Digest {
    pub(super) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// One that was stored.
    #[cfg(feature = "serde")]
    pub(super) fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Whether both are the same. Takes as long whether they are or not.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

#[cfg(test)]
mod tests {
    //! Properties: a digest depends on the key, on each text, and on where one text ends.

    use super::*;

    #[test]
    fn a_digest_depends_on_the_key_and_on_where_texts_end() {
        let key = DigestKey::from_bytes([7; 32]);
        let digest = key.digest(&[b"ab", b"c"]);
        assert!(digest.is(&key.digest(&[b"ab", b"c"])));
        for other in [
            key.digest(&[b"a", b"bc"]),
            key.digest(&[b"abc"]),
            key.digest(&[b"ab", b"c", b""]),
            DigestKey::from_bytes([8; 32]).digest(&[b"ab", b"c"]),
        ] {
            assert!(!digest.is(&other));
            assert_ne!(digest.bytes(), other.bytes());
        }
    }

    #[test]
    fn secrets_differ() {
        let [one, other] = [(); 2].map(|()| Secret::<16>::random().unwrap());
        assert_ne!(one.bytes(), other.bytes());
        assert_ne!(DigestKey::random().unwrap().0, [0; 32]);
    }
}
