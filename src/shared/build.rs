//! Making a shared wheel.

use alloc::boxed::Box;
use core::fmt;
use core::marker::PhantomData;

use super::arena::{Arena, MAX_ENTRIES};
use super::drive::Private;
use super::marks::Bell;
use super::padded::Padded;
use super::role::Role;
use super::shard::Shards;
use super::wait::Waiters;
use super::{Driver, SharedWheel};
use crate::Tick;
use crate::key::WheelId;
use crate::sync::{AtomicU64, AtomicUsize};

/// What a [`SharedWheel`] is made with: [`SharedWheel::builder`].
#[must_use = "a builder does nothing until it builds"]
pub struct SharedWheelBuilder<T, const BITS: u32 = 8> {
    makes: PhantomData<fn() -> SharedWheel<T, BITS>>,
    start: Tick,
    shards: Option<usize>,
    limit: usize,
    desks: bool,
    wake: Option<Box<dyn Fn() + Send + Sync>>,
}

/// Desks for each shard, at least: the numbers of threads that use a wheel seldom follow each other.
#[cfg(not(loom))]
const DESKS: usize = 4;
#[cfg(loom)]
const DESKS: usize = 1;

// === impl SharedWheelBuilder ===

impl<T, const BITS: u32> SharedWheelBuilder<T, BITS> {
    pub(super) fn new() -> Self {
        Self {
            makes: PhantomData,
            start: Tick::ZERO,
            shards: None,
            limit: MAX_ENTRIES as usize,
            desks: false,
            wake: None,
        }
    }

    /// Lets time begin at this tick.
    pub fn starting_at(mut self, now: Tick) -> Self {
        self.start = now;
        self
    }

    /// Divides the free entries and the counts by so many, at least one and at most 1024.
    ///
    /// Threads of one shard write the same cache line at every arm and cancel that does not go
    /// through a [`Local`](super::Local). Without this it is one per core; more costs 176 bytes each, and time
    /// when the wheel grows.
    pub fn shards(mut self, count: usize) -> Self {
        self.shards = Some(count);
        self
    }

    /// Lets the wheel have at most `limit` entries for timers, or 2^30 if that is less.
    ///
    /// A deadline that needs a second entry counts twice; if there is none below the limit, one
    /// beyond it is made. Up to 64 of them may wait in each local handle for its next arms, where other threads
    /// do not get at them. A bound is the way to keep a flood of work from becoming a flood of memory; see
    /// [`try_arm`](SharedWheel::try_arm).
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Calls `wake` when the driver is to stop sleeping, as
    /// [`prepare_park`](SharedWheel::prepare_park) describes.
    ///
    /// It runs in the thread that armed the earlier timer, after that timer is armed; a panic
    /// in it passes to whoever armed. It should be quick, and will be called again for every
    /// such timer until the driver advances.
    pub fn wake(mut self, wake: impl Fn() + Send + Sync + 'static) -> Self {
        self.wake = Some(Box::new(wake));
        self
    }

    /// Lets there be desks. Not for a wheel with a limit: what lies on a desk nobody else gets at, so an arm would be
    /// refused too early.
    pub(crate) fn desks(mut self) -> Self {
        self.desks = true;
        self
    }

    /// The wheel. Allocates nothing for timers yet.
    #[must_use]
    pub fn build(self) -> SharedWheel<T, BITS> {
        let shards = self.shards.unwrap_or_else(cores).clamp(1, 1024);
        let desks = if self.desks {
            (DESKS * shards).next_power_of_two()
        } else {
            0
        };
        SharedWheel {
            id: WheelId::next(),
            arena: Arena::new(),
            shards: Shards::new(shards, desks),
            bell: Padded(Bell::new(self.wake)),
            limit: self.limit.min(MAX_ENTRIES as usize) as u32,
            driver: Padded(Driver {
                role: Role::new(Private::new(self.start, shards)),
                now: AtomicU64::new(self.start.get()),
                fired: AtomicU64::new(0),
                moved: AtomicU64::new(0),
                gone: AtomicU64::new(0),
                thread: AtomicUsize::new(0),
                locals: AtomicUsize::new(0),
            }),
            waiters: Waiters::new(),
        }
    }
}

/// Threads that can run at once, as far as is known.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl<T, const BITS: u32> fmt::Debug for SharedWheelBuilder<T, BITS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedWheelBuilder")
            .field("start", &self.start)
            .field("shards", &self.shards)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}
