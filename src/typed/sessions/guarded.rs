//! What a store holds of a session: the value, and the digests of the ids that lead to it.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::hash::Hasher;
use core::time::Duration;

use super::payload::Payload;
#[cfg(feature = "serde")]
use super::snapshot::{FormerId, HashedId};
use crate::Timestamp;
use crate::typed::secret::Digest;
#[cfg(feature = "serde")]
use crate::typed::snapshot::{Departure, Passage};

/// A value, and who may have it.
pub(super) struct Guarded<V> {
    pub(super) value: Arc<V>,
    digest: Digest,
    /// The id before this one, and until when it will do.
    before: Option<Box<(Digest, Timestamp)>>,
}

/// Hashes selectors, which are random already. Whoever chooses one finds nothing under it.
#[derive(Default)]
pub(super) struct Selected(u64);

// === impl Guarded ===

impl<V: Send + Sync + 'static> Payload for Guarded<V> {
    type Value = V;

    #[inline]
    fn value(&self) -> &Arc<V> {
        &self.value
    }

    #[inline]
    fn value_mut(&mut self) -> &mut Arc<V> {
        &mut self.value
    }
}

impl<V> Guarded<V> {
    pub(super) fn new(value: Arc<V>, digest: Digest) -> Self {
        Self {
            value,
            digest,
            before: None,
        }
    }

    /// Whether that is the digest of its present id.
    #[inline]
    pub(super) fn is_present(&self, digest: &Digest) -> bool {
        self.digest.is(digest)
    }

    /// Whether that is the digest of an id that leads to it. An id whose time was seen to be over leads nowhere for good.
    #[inline]
    pub(super) fn admits(&mut self, digest: &Digest, now: Timestamp) -> bool {
        if self.is_present(digest) {
            return true;
        }
        self.before = self.before.take().filter(|before| now < before.1);
        let before = self.before.as_deref();
        before.is_some_and(|(old, _)| old.is(digest))
    }

    /// If that is the digest of its present id, no other leads to it from now on.
    pub(super) fn keep_only(&mut self, digest: &Digest) -> bool {
        let present = self.is_present(digest);
        if present {
            self.before = None;
        }
        present
    }

    /// From `now` on another id leads to it, and the one so far for as long as `grace` says.
    pub(super) fn cycle(&mut self, digest: Digest, now: Timestamp, grace: Duration) {
        let until = now.saturating_add(grace);
        self.before = (until > now).then(|| Box::new((self.digest, until)));
        self.digest = digest;
    }
}

#[cfg(feature = "serde")]
impl<V> Guarded<V> {
    /// What is written of its ids, but for the selector.
    pub(super) fn written(&self, departure: &Departure) -> HashedId {
        let before = self.before.as_deref();
        let former = before.filter(|(_, until)| *until > departure.now);
        HashedId {
            selector: 0,
            digest: *self.digest.bytes(),
            former: former.map(|(digest, until)| FormerId {
                digest: *digest.bytes(),
                until: departure.deadline(*until),
            }),
        }
    }

    pub(super) fn restored(id: &HashedId, value: Arc<V>, passage: &Passage) -> Self {
        let before = id.former.as_ref().and_then(|former| {
            let left = passage.left(former.until);
            let digest = Digest::from_bytes(former.digest);
            left.lives().then(|| Box::new((digest, left.deadline())))
        });
        Self {
            value,
            digest: Digest::from_bytes(id.digest),
            before,
        }
    }
}

// === impl Selected ===

impl Hasher for Selected {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, selector: u64) {
        self.0 = selector;
    }
}
