//! The single-owner wheel.
//!
//! | file | what lives there |
//! |---|---|
//! | `store` | storage: entries, and the lists that thread through them |
//! | `calendar` | which slot a tick belongs to, and when there is work |
//! | `arm` | arm, cancel, re-arm |
//! | `look` | what can be asked of a wheel at rest |
//! | `drive` | moving time, as callers see it |
//! | `engine` | moving time: cascade, move ahead of need, fire |
//! | `placed` | the same engine for entries that live elsewhere |
//! | `turn` | what callers of `advance` and `poll` see |
//! | `bulk` | capacity, iteration, clearing |
//! | `check` | the dumb walker of every invariant |
//! | `spread` | tests: what is moved down is moved a little at a time |

mod arm;
mod bulk;
mod calendar;
mod check;
mod drive;
mod engine;
mod look;
#[cfg(all(feature = "std", target_has_atomic = "64"))]
mod placed;
#[cfg(test)]
mod spread;
mod store;
mod turn;

use alloc::vec::Vec;
use core::fmt;

use crate::key::WheelId;
use crate::{Tick, Ticks};
use calendar::Calendar;
use engine::Shares;
use store::{Index, MAX_ENTRIES, Store};

pub use bulk::{Drain, Iter};
#[cfg(all(feature = "std", target_has_atomic = "64"))]
pub(crate) use engine::Budget;
#[cfg(all(feature = "std", target_has_atomic = "64"))]
pub(crate) use placed::{Stop, Visit};
pub use turn::{Expired, Progress, Turn};

/// The most timers a wheel can hold: some entries may be leaving, and one kept.
const MAX_LEN: usize = MAX_ENTRIES - 15;

/// A hashed hierarchical timing wheel with one owner.
///
/// Holds values, each with a deadline, and gives them back when their time has come.
/// It counts in [`Tick`]s and never reads a clock: [`advance`](Self::advance) and
/// [`poll`](Self::poll) are told what time it is. A wheel that is not advanced stays at
/// rest; calling early is harmless, calling late makes timers late.
///
/// Arming, cancelling and re-arming take constant time whatever the number of timers.
/// Expiry takes constant time per timer, amortised: at most one move per level a timer
/// passes through. Those moves are spread over the ticks before they are needed, so that
/// no single `advance` has to pay for a whole slot, if the wheel is advanced meanwhile: at
/// every tick, or whenever [`next_work`](Self::next_work) says.
///
/// Any `u64` tick is a valid deadline from any `now`. [`Tick::NEVER`] is held for ever.
///
/// Timers due at the same tick fire in the order in which they were armed. Two kinds do
/// not keep that order, and are deterministic all the same: a timer that was re-armed
/// (it takes its place when the wheel next meets it), and one with a tolerance.
///
/// `BITS` is the logarithm of the radix, from 2 to 8. Leave it at 8: smaller values
/// exist so that tests meet every kind of wrap-around within a few ticks.
///
/// ```
/// use tickwheel::{Tick, Wheel};
///
/// let mut wheel = Wheel::new();
/// let tea = wheel.arm(Tick::new(180), "tea");
/// wheel.arm(Tick::new(600), "eggs");
/// wheel.rearm(tea, Tick::new(240)).unwrap();
///
/// let mut done = Vec::new();
/// wheel.advance(Tick::new(239), |_, expired| done.push(expired.value));
/// assert!(done.is_empty()); // never early
/// wheel.advance(Tick::new(1_000), |_, expired| done.push(expired.value));
/// assert_eq!(done, ["tea", "eggs"]); // in order, whatever the gap
/// ```
pub struct Wheel<T, const BITS: u32 = 8> {
    id: WheelId,
    store: Store<T>,
    calendar: Calendar<BITS>,
    /// What was asked for, by index, of the timers armed with a tolerance.
    /// Empty until there is one.
    tolerances: Vec<Tolerance>,
    /// The entry whose value was handed out last; kept so that its key can be re-armed.
    fired: Option<Index>,
    /// Whether a turn has begun that is not done: between calls of `poll`, or when a budget
    /// ran out.
    in_turn: bool,
    /// What a budget that ran out left to move at the cursor.
    shares: Option<Shares>,
    /// Entries moved down from a coarser level so far.
    moved: u64,
    limit: usize,
}

/// A deadline and how late it may be served.
#[derive(Clone, Copy, Debug, Default)]
struct Tolerance {
    deadline: Tick,
    span: Ticks,
}

// === impl Wheel ===

impl<T> Wheel<T> {
    /// A wheel at tick zero. Allocates nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::starting_at(Tick::ZERO)
    }

    /// A wheel at tick zero with room for `capacity` timers.
    ///
    /// # Panics
    ///
    /// If `capacity` exceeds 2^31 - 16.
    #[must_use]
    #[track_caller]
    pub fn with_capacity(capacity: usize) -> Self {
        let mut wheel = Self::new();
        wheel.reserve(capacity);
        wheel
    }
}

impl<T, const BITS: u32> Wheel<T, BITS> {
    /// Timers that the processor's caches hold in any case. Fewer in the small geometries
    /// of tests.
    const SMALL: usize = if BITS < 6 { 1 << (2 * BITS) } else { 4096 };

    /// A wheel whose time begins at `now`.
    ///
    /// ```
    /// use tickwheel::{Tick, Wheel};
    ///
    /// let mut wheel: Wheel<&str> = Wheel::starting_at(Tick::new(1 << 40));
    /// wheel.arm(Tick::new(7), "long ago");
    /// assert_eq!(wheel.poll(wheel.now()).unwrap().value, "long ago");
    /// ```
    #[must_use]
    pub fn starting_at(now: Tick) -> Self {
        Self {
            id: WheelId::next(),
            store: Store::new(Self::SMALL),
            calendar: Calendar::new(now.get()),
            tolerances: Vec::new(),
            fired: None,
            in_turn: false,
            moved: 0,
            shares: None,
            limit: MAX_LEN,
        }
    }

    /// How far time has come: the tick up to which everything due has been given back.
    ///
    /// Ticks passed to `advance` or `poll` move it forward, never back. While a budget
    /// has run out, or a turn of `poll` is under way, it stays where the work is.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Tick {
        Tick::new(self.calendar.now())
    }

    /// Timers armed, those with the deadline [`Tick::NEVER`] included.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.store.len()
    }

    /// Whether no timer is armed.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T, const BITS: u32> Default for Wheel<T, BITS> {
    fn default() -> Self {
        Self::starting_at(Tick::ZERO)
    }
}

impl<T, const BITS: u32> fmt::Debug for Wheel<T, BITS> {
    /// Prints the state of the wheel, not its values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wheel")
            .field("now", &self.now())
            .field("len", &self.len())
            .field("next_deadline", &self.next_deadline())
            .finish_non_exhaustive()
    }
}
