//! A handle for a thread that arms much.

use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;

use super::ops::{Request, Wait};
use super::source::{Magazine, Source};
use super::{Cancel, SharedWheel};
use crate::sync::Ordering;
use crate::{StaleKey, Tick, Ticks, TimerKey, WheelFull};

/// A thread's own handle to a [`SharedWheel`]: [`SharedWheel::local`].
///
/// It does what the wheel does, and keeps up to 64 free entries to itself: those of timers it
/// has cancelled, for timers it will arm. So an arm followed by a cancel, which is
/// what becomes of most timers, touches no line that any other thread writes. Keys are those of the wheel; any
/// thread can use them.
///
/// It can be sent to another thread, but not used by two at once. Dropping it gives its free
/// entries back and leaves its timers armed.
///
/// ```
/// use std::thread;
/// use tickwheel::{SharedWheel, Tick};
///
/// let wheel = SharedWheel::new();
/// thread::scope(|scope| {
///     scope.spawn(|| {
///         let mut timers = wheel.local();
///         for request in 0..1_000 {
///             let timeout = timers.arm(Tick::new(30_000 + request), request);
///             assert_eq!(timers.cancel(timeout).value(), Some(request));
///         }
///     });
/// });
/// assert!(wheel.is_empty());
/// ```
pub struct Local<'a, T, const BITS: u32 = 8> {
    wheel: &'a SharedWheel<T, BITS>,
    magazine: Magazine,
    /// Not to be shared: its methods would have to be told whose magazine it is.
    not_sync: PhantomData<Cell<()>>,
}

// === impl SharedWheel ===

impl<T, const BITS: u32> SharedWheel<T, BITS> {
    /// A handle for one thread, with free entries of its own. Handles take turns at the shards.
    #[must_use]
    pub fn local(&self) -> Local<'_, T, BITS> {
        // ORDERING: Relaxed. Only shares the shards out evenly.
        let number = self.driver.0.locals.fetch_add(1, Ordering::Relaxed);
        let shard = number as u32 % self.shards.count();
        Local {
            wheel: self,
            magazine: Magazine::new(shard, &self.shards),
            not_sync: PhantomData,
        }
    }
}

// === impl Local ===

impl<'a, T, const BITS: u32> Local<'a, T, BITS> {
    /// The wheel.
    #[inline]
    #[must_use]
    pub fn wheel(&self) -> &'a SharedWheel<T, BITS> {
        self.wheel
    }

    /// Arms a timer; see [`SharedWheel::arm`].
    ///
    /// # Panics
    ///
    /// If the wheel is full.
    #[inline]
    #[track_caller]
    pub fn arm(&mut self, deadline: Tick, value: T) -> TimerKey {
        self.arm_tolerant(deadline, Ticks::ZERO, value)
    }

    /// Arms a timer, or gives the value back if the wheel is full; see [`SharedWheel::try_arm`].
    ///
    /// # Errors
    ///
    /// [`WheelFull`], with the value; nothing has changed.
    #[inline]
    pub fn try_arm(&mut self, deadline: Tick, value: T) -> Result<TimerKey, WheelFull<T>> {
        let request = Request {
            deadline,
            tolerance: Ticks::ZERO,
            value,
        };
        self.wheel.arm_or_return(&mut self.magazine, request)
    }

    /// Arms a timer that may be served late; see [`SharedWheel::arm_tolerant`].
    ///
    /// # Panics
    ///
    /// If the wheel is full.
    #[inline]
    #[track_caller]
    pub fn arm_tolerant(&mut self, deadline: Tick, tolerance: Ticks, value: T) -> TimerKey {
        let request = Request {
            deadline,
            tolerance,
            value,
        };
        self.wheel.arm_or_panic(&mut self.magazine, request)
    }

    /// Cancels a timer; see [`SharedWheel::cancel`].
    #[inline]
    pub fn cancel(&mut self, key: TimerKey) -> Cancel<T> {
        self.wheel.cancel_key(&mut self.magazine, key, Wait::No)
    }

    /// Cancels a timer, and waits while its callback runs; see [`SharedWheel::cancel_wait`].
    pub fn cancel_wait(&mut self, key: TimerKey) -> Cancel<T> {
        self.wheel.cancel_key(&mut self.magazine, key, Wait::Yes)
    }

    /// Moves a timer; see [`SharedWheel::rearm`].
    ///
    /// # Errors
    ///
    /// [`StaleKey`] if the key names no armed timer.
    #[inline]
    pub fn rearm(&mut self, key: TimerKey, deadline: Tick) -> Result<(), StaleKey> {
        match self.wheel.rearm_later(key, deadline) {
            Some(()) => Ok(()),
            None => self.wheel.rearm_key(&mut self.magazine, key, deadline),
        }
    }

    /// Suspends a timer; see [`SharedWheel::disarm`].
    ///
    /// # Errors
    ///
    /// [`StaleKey`] if the key names no armed timer.
    #[inline]
    pub fn disarm(&mut self, key: TimerKey) -> Result<(), StaleKey> {
        self.rearm(key, Tick::NEVER)
    }
}

impl<T, const BITS: u32> Drop for Local<'_, T, BITS> {
    fn drop(&mut self) {
        self.magazine.close(&self.wheel.arena, &self.wheel.shards);
    }
}

impl<T, const BITS: u32> fmt::Debug for Local<'_, T, BITS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local")
            .field("shard", &self.magazine.shard())
            .field("wheel", &self.wheel)
            .finish_non_exhaustive()
    }
}
