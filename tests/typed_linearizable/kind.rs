//! What the four kinds of records have in common: a thing to use, and what it is one step after the other.

use std::fmt::Debug;
use std::hash::Hash;
use std::time::Duration;

use tickwheel::{Timers, Timestamp};

/// Picks a number below the one it is given.
pub(crate) type Pick<'a> = &'a mut dyn FnMut(u64) -> u64;

/// A kind of record, made for one run.
pub(crate) trait Kind: Sync + Sized {
    type Model: Model;

    /// Everything in it lives on these timers. The clock reads zero.
    fn new(timers: &Timers) -> Self;

    /// Does something, and says what it was and what came of it: in several steps, if other threads can see it
    /// half done.
    fn act(&self, pick: Pick<'_>) -> Vec<<Self::Model as Model>::Did>;

    /// That the driver came by, which may have ended what is due.
    fn turned() -> <Self::Model as Model>::Did;

    /// Drops it. Says which ends were told.
    fn end(self) -> <Self::Model as Model>::Did;
}

/// What a kind of record is, one step after the other: no threads, no timers, no clock.
pub(crate) trait Model: Clone + Eq + Hash + Debug + Default {
    type Did: Debug + Send;

    /// What may become of it if that was answered by somebody for whom it was that time. Nothing, if it cannot have
    /// been.
    fn after(&self, now: u64, did: &Self::Did) -> Vec<Self>;
}

pub(crate) const fn nanos(count: u64) -> Duration {
    Duration::from_nanos(count)
}

/// A time as the models have it: never, if it is out of reach.
pub(crate) fn time(at: Timestamp) -> u64 {
    at.as_nanos()
}
