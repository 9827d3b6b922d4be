//! Keys: how a caller names a timer, and why a stale name is harmless.

use core::fmt;
use core::num::{NonZeroU32, NonZeroU64};

use crate::sync::Ordering;
use crate::sync::unmodelled::AtomicUsize;

/// Names one armed timer of one wheel.
///
/// A key is plain data: dropping it does nothing, copying it is free, and
/// `Option<TimerKey>` is no larger than the key itself: at most 16 bytes.
///
/// A key stays valid from [`arm`](crate::Wheel::arm) until the timer fires or is
/// cancelled, through any number of re-arms. After that every operation refuses it, for
/// ever and in every build: neither a timer that reuses the same storage nor one of
/// another wheel can be mistaken for it. (On 32-bit targets: until 2^32 wheels have been
/// made, cleared or drained.)
///
/// ```
/// use tickwheel::{Tick, Wheel};
///
/// let mut wheel = Wheel::new();
/// let old = wheel.arm(Tick::new(5), "old");
/// assert_eq!(wheel.cancel(old), Some("old"));
///
/// let new = wheel.arm(Tick::new(5), "new"); // takes over the same storage
/// assert_eq!(wheel.cancel(old), None);
/// assert!(wheel.contains(new));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimerKey {
    /// The wheel.
    wheel: WheelId,
    /// Where the entry lives, and in the lower half which of the timers that live there one
    /// after the other. In one number, because a key of two fields travels in two registers, and
    /// one of three through memory: an arm took half as long again.
    place: NonZeroU64,
}

/// Distinguishes the wheels of a process, and the lives of one wheel from
/// [`clear`](crate::Wheel::clear) to `clear`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct WheelId(usize);

// === impl TimerKey ===

impl TimerKey {
    #[inline]
    pub(crate) fn new(wheel: WheelId, index: u32, generation: NonZeroU32) -> Self {
        let place = NonZeroU64::from(generation) | u64::from(index) << 32;
        Self { wheel, place }
    }

    /// The index and generation, if this is a key of `wheel`.
    #[inline]
    pub(crate) fn within(self, wheel: WheelId) -> Option<(u32, NonZeroU32)> {
        if self.wheel != wheel {
            return None;
        }
        let (index, generation) = self.place();
        Some((index, NonZeroU32::new(generation)?))
    }

    /// The index and generation, which is not zero.
    #[inline]
    fn place(self) -> (u32, u32) {
        let place = self.place.get();
        ((place >> 32) as u32, place as u32)
    }
}

impl fmt::Debug for TimerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((index, generation), WheelId(wheel)) = (self.place(), self.wheel);
        write!(f, "TimerKey({index}.{generation} of wheel {wheel})")
    }
}

// === impl WheelId ===

static WHEELS: AtomicUsize = AtomicUsize::new(0);

impl WheelId {
    /// An id that no other wheel of this process has, or has had.
    ///
    /// Unique until the counter wraps: 2^64 wheels, or 2^32 on 32-bit targets.
    pub(crate) fn next() -> Self {
        // ORDERING: Relaxed. Only the uniqueness of the returned number matters, which a
        // read-modify-write gives in any ordering; nothing else is published through it.
        Self(WHEELS.fetch_add(1, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_optional_key_is_no_larger_than_a_key() {
        assert!(size_of::<TimerKey>() <= 16, "{}", size_of::<TimerKey>());
        assert_eq!(size_of::<Option<TimerKey>>(), size_of::<TimerKey>());
    }
}
