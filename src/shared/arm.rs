//! Arm, cancel, re-arm, as callers see them.

use super::ops::{Request, Wait};
use super::source::{Common, Rarely, Source};
use super::{Cancel, SharedWheel};
use crate::{StaleKey, Tick, Ticks, TimerKey, WheelFull};

impl<T, const BITS: u32> SharedWheel<T, BITS> {
    /// Arms a timer: `value` goes to the callback of the first `advance` that reaches `deadline`.
    ///
    /// An `advance` that begins after this returned fires it, if `deadline` is not after the tick
    /// it advances to; one that is under way may, or may leave it to the next. Arming never
    /// fires anything itself. O(1), lock-free. Allocates only while there are more timers
    /// than ever before.
    ///
    /// # Panics
    ///
    /// If the wheel is full: it has 2^30 entries, or as many as the
    /// [`limit`](super::SharedWheelBuilder::limit). [`try_arm`](Self::try_arm) does not panic.
    ///
    /// ```
    /// use tickwheel::{SharedWheel, Tick};
    ///
    /// let wheel = SharedWheel::new();
    /// let key = wheel.arm(Tick::new(10), 'a');
    /// assert_eq!(wheel.deadline(key), Some(Tick::new(10)));
    /// ```
    #[inline]
    #[track_caller]
    pub fn arm(&self, deadline: Tick, value: T) -> TimerKey {
        self.arm_tolerant(deadline, Ticks::ZERO, value)
    }

    /// Arms a timer, or gives the value back if the wheel is full. O(1), lock-free.
    ///
    /// # Errors
    ///
    /// [`WheelFull`], with the value; nothing has changed. Entries that are free in a
    /// [`Local`](super::Local) of another thread do not help.
    ///
    /// ```
    /// use tickwheel::{SharedWheel, Tick};
    ///
    /// let wheel: SharedWheel<&str> = SharedWheel::builder().limit(1).build();
    /// assert!(wheel.try_arm(Tick::new(1), "first").is_ok());
    /// assert_eq!(wheel.try_arm(Tick::new(1), "second").unwrap_err().value, "second");
    /// ```
    #[inline]
    pub fn try_arm(&self, deadline: Tick, value: T) -> Result<TimerKey, WheelFull<T>> {
        let request = Request {
            deadline,
            tolerance: Ticks::ZERO,
            value,
        };
        self.arm_or_return(&mut Common::here(&self.shards), request)
    }

    /// Arms a timer whose value is made from its own key.
    ///
    /// `make` runs before anything is armed. If it panics nothing is, and the key is stale. O(1),
    /// lock-free.
    ///
    /// # Panics
    ///
    /// As [`arm`](Self::arm).
    ///
    /// ```
    /// use tickwheel::{SharedWheel, Tick, TimerKey};
    ///
    /// struct Request { timer: TimerKey }
    ///
    /// let wheel = SharedWheel::new();
    /// let key = wheel.arm_with(Tick::new(30), |timer| Request { timer });
    /// assert_eq!(wheel.cancel(key).value().unwrap().timer, key);
    /// ```
    #[track_caller]
    pub fn arm_with(&self, deadline: Tick, make: impl FnOnce(TimerKey) -> T) -> TimerKey {
        let mut source = Common::here(&self.shards);
        let Some(index) = self.pop(&mut source) else {
            full(self.limit);
        };
        let popped = Popped { wheel: self, index };
        let generation = self.arena.entry(index).next_generation();
        let value = make(TimerKey::new(self.id, index, generation));
        core::mem::forget(popped);
        let request = Request {
            deadline,
            tolerance: Ticks::ZERO,
            value,
        };
        self.arm_entry(&source, index, request)
    }

    /// Arms a timer that may be served up to `tolerance` late, and never early.
    ///
    /// It is due at [`deadline.coalesce(tolerance)`](Tick::coalesce): the roundest tick in that
    /// range, so that timers with tolerance gather on few ticks. The tolerance stays with the
    /// timer through every re-arm. O(1), lock-free.
    ///
    /// # Panics
    ///
    /// As [`arm`](Self::arm).
    ///
    /// ```
    /// use tickwheel::{SharedWheel, Tick, Ticks};
    ///
    /// let wheel = SharedWheel::new();
    /// let key = wheel.arm_tolerant(Tick::new(1_000), Ticks::new(100), "sweep");
    /// assert_eq!(wheel.deadline(key), Some(Tick::new(1_000))); // as asked
    /// assert_eq!(wheel.advance(Tick::new(1_023), |_, _| {}), Ok(0));
    /// assert_eq!(wheel.advance(Tick::new(1_024), |_, _| {}), Ok(1)); // due
    /// ```
    #[inline]
    #[track_caller]
    pub fn arm_tolerant(&self, deadline: Tick, tolerance: Ticks, value: T) -> TimerKey {
        let request = Request {
            deadline,
            tolerance,
            value,
        };
        self.arm_or_panic(&mut Common::here(&self.shards), request)
    }

    /// Arms a timer that may be served up to `tolerance` late, or gives the value back if the wheel
    /// is full: [`arm_tolerant`](Self::arm_tolerant) and [`try_arm`](Self::try_arm) in one. O(1),
    /// lock-free.
    ///
    /// # Errors
    ///
    /// [`WheelFull`], with the value; nothing has changed.
    ///
    /// ```
    /// use tickwheel::{SharedWheel, Tick, Ticks};
    ///
    /// let wheel = SharedWheel::new();
    /// let key = wheel.try_arm_tolerant(Tick::new(1_000), Ticks::new(100), "sweep").unwrap();
    /// assert_eq!(wheel.deadline(key), Some(Tick::new(1_000)));
    /// ```
    #[inline]
    pub fn try_arm_tolerant(
        &self,
        deadline: Tick,
        tolerance: Ticks,
        value: T,
    ) -> Result<TimerKey, WheelFull<T>> {
        let request = Request {
            deadline,
            tolerance,
            value,
        };
        self.arm_or_return(&mut Common::here(&self.shards), request)
    }

    #[inline]
    #[track_caller]
    pub(super) fn arm_or_panic(&self, source: &mut impl Source, request: Request<T>) -> TimerKey {
        match self.pop(source) {
            Some(index) => self.arm_entry(source, index, request),
            None => full(self.limit),
        }
    }

    #[inline]
    pub(super) fn arm_or_return(
        &self,
        source: &mut impl Source,
        request: Request<T>,
    ) -> Result<TimerKey, WheelFull<T>> {
        match self.pop(source) {
            Some(index) => Ok(self.arm_entry(source, index, request)),
            None => Err(WheelFull {
                value: request.value,
            }),
        }
    }

    /// Cancels a timer, and gives its value back if it had not fired.
    ///
    /// On [`Cancel::Cancelled`] it never fires; the value is the caller's, and its entry free, at
    /// once. Never waits: if the timer's callback is running it says so, and sees to it that
    /// the callback cannot arm it again under this key. O(1), lock-free.
    ///
    /// ```
    /// use tickwheel::{Cancel, SharedWheel, Tick};
    ///
    /// let wheel = SharedWheel::new();
    /// let key = wheel.arm(Tick::new(10), 'a');
    /// assert_eq!(wheel.cancel(key), Cancel::Cancelled('a'));
    /// assert_eq!(wheel.cancel(key), Cancel::Stale);
    ///
    /// let key = wheel.arm(Tick::new(10), 'b');
    /// wheel.advance(Tick::new(10), |turn, expired| {
    ///     assert_eq!(turn.cancel(expired.key), Cancel::Running);
    /// }).unwrap();
    /// assert_eq!(wheel.cancel(key), Cancel::Stale);
    /// ```
    #[inline]
    pub fn cancel(&self, key: TimerKey) -> Cancel<T> {
        self.cancel_key(&mut Common::here(&self.shards), key, Wait::No)
    }

    /// As [`cancel`](Self::cancel), but does not return while the timer's callback runs: once
    /// this has returned, it is not running and will not run.
    ///
    /// (In a callback that has armed its own timer again the answer is the value, at once.) Otherwise
    /// the answer is [`Cancel::Cancelled`] or [`Cancel::Stale`], after waiting for as long as the
    /// callback takes. It is [`Cancel::Running`] only for a call from that very callback,
    /// which would wait for ever. A callback that waits for another thread which waits in here
    /// for that callback waits for ever too.
    ///
    /// ```
    /// use tickwheel::{Cancel, SharedWheel, Tick};
    ///
    /// let wheel = SharedWheel::new();
    /// let key = wheel.arm(Tick::new(10), 'a');
    /// wheel.advance(Tick::new(10), |_, expired| {
    ///     assert_eq!(wheel.cancel_wait(expired.key), Cancel::Running); // instead of hanging
    /// }).unwrap();
    /// assert_eq!(wheel.cancel_wait(key), Cancel::Stale);
    /// ```
    pub fn cancel_wait(&self, key: TimerKey) -> Cancel<T> {
        self.cancel_key(&mut Common::here(&self.shards), key, Wait::Yes)
    }

    /// Moves a timer to another deadline: later, earlier, into the past, or to
    /// [never](Tick::NEVER).
    ///
    /// On success the old deadline never fires. A later deadline, or never, is one exchange of
    /// the entry's own word: the driver finds it when it comes by. An earlier one also marks the
    /// entry for the driver. Keeps the key, the value and the tolerance. O(1), lock-free.
    ///
    /// If several threads re-arm one timer at once, the last exchange counts.
    ///
    /// # Errors
    ///
    /// [`StaleKey`] if the timer has fired, is firing, was cancelled, or is of another wheel.
    ///
    /// # Panics
    ///
    /// If a deadline more than 2^33 ticks away from the one it was first armed for needs a second
    /// entry, and all 2^30 are in use.
    ///
    /// ```
    /// use tickwheel::{SharedWheel, Tick};
    ///
    /// let wheel = SharedWheel::new();
    /// let idle = wheel.arm(Tick::new(30), "connection");
    /// wheel.rearm(idle, Tick::new(55))?; // it was heard from at 25
    /// assert_eq!(wheel.advance(Tick::new(54), |_, _| {}), Ok(0));
    /// assert_eq!(wheel.advance(Tick::new(55), |_, _| {}), Ok(1));
    /// assert!(wheel.rearm(idle, Tick::new(99)).is_err());
    /// # Ok::<(), tickwheel::StaleKey>(())
    /// ```
    #[inline]
    pub fn rearm(&self, key: TimerKey, deadline: Tick) -> Result<(), StaleKey> {
        match self.rearm_later(key, deadline) {
            Some(()) => Ok(()),
            None => self.rearm_key(&mut Rarely(self.shards.count()), key, deadline),
        }
    }

    /// Keeps a timer from firing until it is [re-armed](Self::rearm); key, value and tolerance
    /// stay.
    ///
    /// The same as to re-arm it to [`Tick::NEVER`]. Arming it again for a deadline that is not
    /// before the old one costs the driver nothing, if it has not come by meanwhile. O(1),
    /// lock-free.
    ///
    /// # Errors
    ///
    /// [`StaleKey`], as [`rearm`](Self::rearm).
    ///
    /// ```
    /// use tickwheel::{SharedWheel, Tick};
    ///
    /// let wheel = SharedWheel::new();
    /// let idle = wheel.arm(Tick::new(30), "connection");
    /// wheel.disarm(idle)?; // a request is being served
    /// assert_eq!(wheel.advance(Tick::new(99), |_, _| {}), Ok(0));
    /// wheel.rearm(idle, Tick::new(130))?; // idle again
    /// assert_eq!(wheel.advance(Tick::new(130), |_, _| {}), Ok(1));
    /// # Ok::<(), tickwheel::StaleKey>(())
    /// ```
    #[inline]
    pub fn disarm(&self, key: TimerKey) -> Result<(), StaleKey> {
        self.rearm(key, Tick::NEVER)
    }
}

/// An entry that was popped for a value that is not made yet.
struct Popped<'a, T, const BITS: u32> {
    wheel: &'a SharedWheel<T, BITS>,
    index: u32,
}

impl<T, const BITS: u32> Drop for Popped<'_, T, BITS> {
    /// The value will not be made: uses the generation up, whose key was told, and frees the entry.
    fn drop(&mut self) {
        let entry = self.wheel.arena.entry(self.index);
        entry.set_generation(entry.next_generation());
        self.wheel
            .push(&mut Common::here(&self.wheel.shards), self.index);
    }
}

#[cold]
#[track_caller]
fn full(limit: u32) -> ! {
    panic!("the wheel has as many timers as it may: {limit}");
}
