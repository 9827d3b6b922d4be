//! The shared wheel.
//!
//! | file | what lives there |
//! |---|---|
//! | `word` | the state machine of an entry: one word, and the table of its transitions |
//! | `entry` | one timer's place: word, deadline, value |
//! | `arena` | where the entries live |
//! | `slot`, `role` | cells: a timer's value, and what belongs to the driver |
//! | `free`, `shard` | free entries and counts, once for each of some threads |
//! | `desk` | free entries and a count of one thread's own, without a handle |
//! | `marks` | how the driver learns which entries to look at, and is woken |
//! | `source` | where an operation gets entries, and counts: a shard, or a local handle |
//! | `ops`, `rearm` | arm, cancel, re-arm, as transitions |
//! | `arm`, `look`, `bulk`, `local` | the operations as callers see them |
//! | `drive` | moving time |
//! | `fire` | what the driver does about one entry |
//! | `turn` | what a callback sees |
//! | `defer` | callbacks that go on after the driver's has returned |
//! | `wait` | waiting for a callback to return |
//! | `check` | the dumb walker of every invariant |
//! | `mutant` | deliberate faults, in the models only |

mod arena;
mod arm;
mod build;
mod bulk;
mod check;
mod defer;
mod desk;
mod drive;
mod entry;
mod fire;
mod free;
mod local;
mod look;
mod marks;
pub(crate) mod mutant;
mod ops;
mod outcome;
mod padded;
mod rearm;
mod role;
mod shard;
mod slot;
mod source;
mod thread;
mod turn;
mod wait;
mod word;

use core::fmt;

use crate::Tick;
use crate::key::WheelId;
use crate::sync::{AtomicU64, AtomicUsize, Ordering};
use arena::Arena;
use drive::Private;
use marks::Bell;
use role::Role;
use shard::Shards;
use wait::Waiters;

pub use build::SharedWheelBuilder;
pub use bulk::SharedDrain;
pub(crate) use defer::Deferred;
pub use local::Local;
#[cfg(loom)]
pub use mutant::Mutant;
pub use outcome::{Busy, Cancel, Park, Revoked};
pub(crate) use padded::Padded;
pub use turn::SharedTurn;

/// A hashed hierarchical timing wheel that many threads share.
///
/// Any thread arms, cancels and re-arms, through a shared reference. One thread at a time
/// drives it: [`advance`](Self::advance) fires what is due, in its callbacks. Nobody waits for
/// anybody: an arm goes through while the driver fires a million timers, and a thread that is
/// preempted in the middle of an operation holds up no other. (One method waits, and is
/// called for it: [`cancel_wait`](Self::cancel_wait). While somebody waits in it for a callback, the
/// driver takes a lock at the end of that callback to say so.)
///
/// It counts in [`Tick`]s, rounds, saturates and never fires early as [`Wheel`](crate::Wheel)
/// does; the words mean the same. What is different:
///
/// * Timers that are due at the same tick fire in no particular order.
/// * [`cancel`](Self::cancel) has three answers: while a timer's callback runs it is neither
///   armed nor gone.
/// * A stale key is refused, but for one chance in millions: a thread that is preempted in the
///   very middle of an operation with it, while its entry is used again a multiple of
///   2<sup>24</sup> times.
/// * Every timer takes a cache line or more of its own, so that threads do not meet.
///
/// A thread that arms much does it through a handle of its own, [`local`](Self::local).
///
/// ```
/// use std::thread;
/// use tickwheel::{SharedWheel, Tick};
///
/// let wheel = SharedWheel::new();
/// thread::scope(|scope| {
///     for worker in 0..4 {
///         let wheel = &wheel;
///         scope.spawn(move || {
///             let request = wheel.arm(Tick::new(50), (worker, "timed out"));
///             if worker != 3 {
///                 wheel.cancel(request).value().unwrap(); // answered in time
///             }
///         });
///     }
/// });
/// let mut log = Vec::new();
/// wheel.advance(Tick::new(100), |_, expired| log.push(expired.value)).unwrap();
/// assert_eq!(log, [(3, "timed out")]);
/// ```
///
/// # Driving
///
/// Exactly as a [`Wheel`](crate::Wheel): at every tick, or at
/// [`next_deadline`](Self::next_deadline). A driver that sleeps must be woken when somebody arms
/// an earlier timer meanwhile. [`prepare_park`](Self::prepare_park) says until when it may
/// sleep; the hook given to [`wake`](SharedWheelBuilder::wake) is called if that changes.
///
/// # Memory
///
/// An entry of 64 bytes for a value of up to 16 (128 for up to 80, and so on), one byte for its
/// mark, and 24 bytes in the driver's wheel once it was filed: 90 bytes a timer with a `u64`, at a
/// million. Entries are allocated 4096 at a time; of those, and of a table of 2 MB, the system
/// provides what is touched. A cancelled value is returned at
/// once, and its entry can be used again at once, whether or not anybody drives. So there are
/// never more entries than the most timers armed at one time, and
/// 64 for each [`Local`] and each thread in the middle of an arm, and 31 for each shard while a driver fires; a deadline more than 2<sup>33</sup> ticks away from the one
/// that the timer was first armed for takes a second entry. Memory is given back when the
/// wheel is dropped.
pub struct SharedWheel<T, const BITS: u32 = 8> {
    id: WheelId,
    arena: Arena<T>,
    shards: Shards,
    bell: Padded<Bell>,
    /// As many entries as timers may have.
    limit: u32,
    driver: Padded<Driver<BITS>>,
    waiters: Waiters,
}

/// What the driver writes.
struct Driver<const BITS: u32> {
    role: Role<Private<BITS>>,
    /// Where the cursor is.
    now: AtomicU64,
    /// Timers fired.
    fired: AtomicU64,
    /// Entries met that were not due yet, and entries met that nobody had armed.
    moved: AtomicU64,
    gone: AtomicU64,
    /// The thread that runs callbacks: a [`thread::token`], or 0.
    thread: AtomicUsize,
    /// Local handles made so far.
    locals: AtomicUsize,
}

// === impl SharedWheel ===

impl<T> SharedWheel<T> {
    /// A wheel at tick zero, with as many shards as there are cores.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }
}

impl<T, const BITS: u32> SharedWheel<T, BITS> {
    /// A wheel made otherwise.
    ///
    /// ```
    /// use tickwheel::{SharedWheel, Tick};
    ///
    /// let wheel: SharedWheel<&str> = SharedWheel::builder()
    ///     .starting_at(Tick::new(1_000))
    ///     .shards(4)
    ///     .limit(100_000)
    ///     .build();
    /// assert_eq!(wheel.now(), Tick::new(1_000));
    /// ```
    pub fn builder() -> SharedWheelBuilder<T, BITS> {
        SharedWheelBuilder::new()
    }

    /// How far time has come: the tick up to which everything due has fired.
    ///
    /// It may be a tick that the driver is at just now, in the middle of firing. O(1).
    #[must_use]
    pub fn now(&self) -> Tick {
        // ORDERING: Acquire pairs with the Release in `drive`: what fired up to this tick has.
        Tick::new(self.driver.0.now.load(Ordering::Acquire))
    }

    /// Whether it was built with a limit of its own.
    #[cfg(feature = "typed")]
    pub(crate) fn is_limited(&self) -> bool {
        self.limit < arena::MAX_ENTRIES
    }

    /// Timers armed, those that are due [never](Tick::NEVER) included.
    ///
    /// Exact when nobody arms or cancels meanwhile. Otherwise it is not less than were armed at
    /// some moment during the call, and more by what was armed or ended since. O(shards).
    #[must_use]
    pub fn len(&self) -> usize {
        // ORDERING: Acquire pairs with the Release in `fire`: the arms of what has fired are
        // counted.
        self.shards.len(self.driver.0.fired.load(Ordering::Acquire))
    }

    /// Whether, at some moment during the call, no timer was armed. O(shards).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> Default for SharedWheel<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, const BITS: u32> fmt::Debug for SharedWheel<T, BITS> {
    /// Prints the state of the wheel, not its values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedWheel")
            .field("now", &self.now())
            .field("len", &self.len())
            .field("shards", &self.shards.count())
            .finish_non_exhaustive()
    }
}
