//! Values that one task owns, each with its time.

use core::fmt;
use core::future::poll_fn;
use core::task::{Context, Poll, Waker};
use core::time::Duration;

use super::super::{ArmError, Shared, Timers};
use super::Sleep;
use crate::{Drain, Expired, StaleKey, Tick, TimerKey, Timestamp, Wheel};

/// Values with deadlines, which a task awaits one after the other: [`Timers::expirations`].
///
/// It is a [`Wheel`] of its own, with one [`Sleep`] for the deadline that comes next. So the values need
/// not be `Send`, their number does not count towards the [limit](super::super::TimersBuilder::limit), and
/// one timer at most is registered with the runtime: while a task waits.
///
/// Values come in the order of their deadlines, and never early: a deadline rounds up to a tick of the
/// runtime's [resolution](super::super::TimersBuilder::resolution). What has the same tick comes in the order in which it
/// was inserted, unless it was reset.
///
/// A task that waits may be woken before anything is due: for a far deadline at most once per level of the
/// wheel, and once for a deadline that was moved to later. It then goes on waiting. Whoever inserts or moves
/// something to before what the task waits for wakes it, and so does whoever takes out the last value.
///
/// # The end
///
/// `None` means that nothing is there to wait for. It is not the end: after an insert there is again. If the
/// runtime is shut down, or full, there is no one to wake the task: what is due is still given out, then comes `None`
/// although this [is not empty](Self::is_empty). [`error`](Self::error) says which it was; [`drain`](Self::drain) and
/// [`into_inner`](Self::into_inner) give out the rest.
///
/// With the feature `stream` it is a stream.
///
/// ```
/// use std::task::{Context, Poll, Waker};
/// use std::time::Duration;
/// use tickwheel::{ManualClock, Timers};
///
/// let clock = ManualClock::new();
/// let timers = Timers::builder().clock(clock.clone()).build_hand_driven()?;
/// let mut sessions = timers.expirations();
/// let ann = sessions.insert("Ann", Duration::from_secs(60));
/// sessions.insert("Bob", Duration::from_secs(90));
///
/// let mut cx = Context::from_waker(Waker::noop());
/// assert!(sessions.poll_expired(&mut cx).is_pending());
/// clock.advance(Duration::from_secs(50));
/// sessions.reset(ann, Duration::from_secs(60))?; // until 110 s
/// clock.advance(Duration::from_secs(40));
/// let Poll::Ready(Some(expired)) = sessions.poll_expired(&mut cx) else { panic!() };
/// assert_eq!(expired.value, "Bob");
/// assert_eq!(sessions.remove(ann), Some("Ann"));
/// assert!(matches!(sessions.poll_expired(&mut cx), Poll::Ready(None)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Expirations<T> {
    wheel: Wheel<T>,
    /// For the next deadline of the wheel, as of the last poll that was pending.
    sleep: Sleep,
    /// The task that waits since then, until it is woken from here, and the tick it waits for.
    waiting: Option<(Waker, Tick)>,
    error: Option<ArmError>,
}

// Values are never pinned.
impl<T> Unpin for Expirations<T> {}

// === impl Timers ===

impl Timers {
    /// An empty set of values with deadlines, for one task to await. Reads the clock; allocates nothing yet.
    pub fn expirations<T>(&self) -> Expirations<T> {
        Expirations {
            wheel: Wheel::starting_at(self.shared.resolution.now(self.now())),
            sleep: self.sleep_until(Timestamp::NEVER),
            waiting: None,
            error: None,
        }
    }
}

// === impl Expirations ===

impl<T> Expirations<T> {
    // --- one value ---

    /// Inserts a value that expires that much from now: this is a call, and counts from when it is made.
    /// `Duration::MAX` means never. Reads the clock. O(1).
    ///
    /// # Panics
    ///
    /// If there are 2^31 - 16 values.
    pub fn insert(&mut self, value: T, after: Duration) -> TimerKey {
        self.insert_at(value, self.shared().after(after))
    }

    /// Inserts a value that expires at that time of the runtime's clock; one that is past is due at once. O(1).
    ///
    /// # Panics
    ///
    /// As [`insert`](Self::insert).
    ///
    /// ```
    /// use tickwheel::{ManualClock, Timers, Timestamp};
    ///
    /// let timers = Timers::builder().clock(ManualClock::new()).build_hand_driven()?;
    /// let mut sessions = timers.expirations();
    /// let key = sessions.insert_at("Ann", Timestamp::from_nanos(1_500_000));
    /// // Rounded up to a tick, here a millisecond.
    /// assert_eq!(sessions.deadline(key), Some(Timestamp::from_nanos(2_000_000)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_at(&mut self, value: T, at: Timestamp) -> TimerKey {
        let deadline = self.shared().resolution.deadline(at);
        let key = self.wheel.arm(deadline, value);
        self.wake_for(deadline);
        key
    }

    /// Takes a value out; `None` if it has been given out, or was taken out before. O(1).
    pub fn remove(&mut self, key: TimerKey) -> Option<T> {
        let value = self.wheel.cancel(key)?;
        if self.wheel.is_empty() {
            self.emptied();
        }
        Some(value)
    }

    /// Moves a value's deadline to that much from now: this is a call, and counts from when it is made. O(1).
    ///
    /// # Errors
    ///
    /// [`StaleKey`] if the value has been given out, or was taken out.
    pub fn reset(&mut self, key: TimerKey, after: Duration) -> Result<(), StaleKey> {
        self.reset_at(key, self.shared().after(after))
    }

    /// Moves a value's deadline to that time: later, earlier, into the past, or to never. O(1).
    ///
    /// # Errors
    ///
    /// As [`reset`](Self::reset).
    ///
    /// ```
    /// use tickwheel::{ManualClock, Timers, Timestamp};
    ///
    /// let timers = Timers::builder().clock(ManualClock::new()).build_hand_driven()?;
    /// let mut sessions = timers.expirations();
    /// let key = sessions.insert_at("Ann", Timestamp::NEVER);
    /// sessions.reset_at(key, Timestamp::from_nanos(2_000_000))?;
    /// assert_eq!(sessions.deadline(key), Some(Timestamp::from_nanos(2_000_000)));
    /// sessions.clear();
    /// assert!(sessions.reset_at(key, Timestamp::NEVER).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reset_at(&mut self, key: TimerKey, at: Timestamp) -> Result<(), StaleKey> {
        let deadline = self.shared().resolution.deadline(at);
        self.wheel.rearm(key, deadline)?;
        self.wake_for(deadline);
        Ok(())
    }

    /// When a value expires, rounded up to a tick; `None` for a stale key. O(1).
    #[must_use]
    pub fn deadline(&self, key: TimerKey) -> Option<Timestamp> {
        let deadline = self.wheel.deadline(key)?;
        Some(self.shared().resolution.start_of(deadline))
    }

    // --- all values ---

    /// Values that have not been given out, those that never expire included. O(1).
    #[must_use]
    pub fn len(&self) -> usize {
        self.wheel.len()
    }

    /// Whether there is none. O(1).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.wheel.is_empty()
    }

    /// Drops all values. A task that waits is woken first. O(values).
    pub fn clear(&mut self) {
        drop(self.drain());
    }

    /// Takes all values out: key, deadline in ticks, and value, in no particular order. A task
    /// that waits is woken. O(values).
    pub fn drain(&mut self) -> Drain<T> {
        let values = self.wheel.drain();
        if values.len() > 0 {
            self.emptied();
        }
        values
    }

    /// The wheel with all values. Its tick is that of the runtime's [resolution](Timers::resolution).
    #[must_use]
    pub fn into_inner(self) -> Wheel<T> {
        self.wheel
    }

    // --- waiting ---

    /// The next value that expires; `None` if there is nothing to wait for, see [`Expirations`].
    ///
    /// Cancel-safe: if this is dropped before it is ready, no value is lost.
    ///
    /// ```no_run
    /// # async fn evict(timers: tickwheel::Timers) {
    /// use std::time::Duration;
    ///
    /// let mut sessions = timers.expirations();
    /// sessions.insert("Ann", Duration::from_secs(60));
    /// while let Some(expired) = sessions.next().await {
    ///     println!("{} has left", expired.value);
    /// }
    /// assert!(sessions.is_empty() || sessions.error().is_some());
    /// # }
    /// # let _ = evict;
    /// ```
    pub async fn next(&mut self) -> Option<Expired<T>> {
        poll_fn(|cx| self.poll_expired(cx)).await
    }

    /// Polls for the next value that expires, as [`next`](Self::next). The task of the last poll that was
    /// pending is the one that is woken.
    ///
    /// Reads the clock. O(1) amortised, as [`Wheel::poll`]; no lock.
    pub fn poll_expired(&mut self, cx: &mut Context<'_>) -> Poll<Option<Expired<T>>> {
        self.error = None;
        let ready = loop {
            let resolution = self.shared().resolution;
            let now = resolution.now(self.shared().now());
            if let Some(expired) = self.wheel.poll(now) {
                break Some(expired);
            }
            if self.wheel.is_empty() {
                break None;
            }
            let next = self.wheel.next_deadline().unwrap_or(Tick::NEVER);
            let at = resolution.start_of(next);
            if self.sleep.deadline() != Some(at) {
                self.sleep.reset_at(at);
            }
            match self.sleep.poll_elapsed(cx) {
                Poll::Pending => {
                    self.wait(cx.waker(), next);
                    return Poll::Pending;
                }
                // The time has come meanwhile. If the clock then goes back it has to come again.
                Poll::Ready(Ok(())) => self.sleep.stop(),
                Poll::Ready(Err(error)) => {
                    self.error = Some(error);
                    break None;
                }
            }
        };
        self.waiting = None;
        if self.wheel.is_empty() {
            self.sleep.stop();
        }
        Poll::Ready(ready)
    }

    /// Why the last poll gave `None` although values are left: [`ArmError::ShutDown`], or
    /// [`ArmError::Full`], after which another poll may do better. O(1).
    ///
    /// ```
    /// use std::task::{Context, Poll, Waker};
    /// use std::time::Duration;
    /// use tickwheel::{ArmError, ManualClock, Shutdown, Timers};
    ///
    /// let timers = Timers::builder().clock(ManualClock::new()).build_hand_driven()?;
    /// let mut sessions = timers.expirations();
    /// sessions.insert("Ann", Duration::from_secs(60));
    /// timers.shutdown(Shutdown::Drop);
    ///
    /// let mut cx = Context::from_waker(Waker::noop());
    /// assert!(matches!(sessions.poll_expired(&mut cx), Poll::Ready(None)));
    /// assert_eq!(sessions.error(), Some(ArmError::ShutDown));
    /// assert_eq!(sessions.drain().count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn error(&self) -> Option<ArmError> {
        self.error
    }

    fn shared(&self) -> &Shared {
        self.sleep.shared()
    }

    /// Remembers who waits, and until when.
    fn wait(&mut self, waker: &Waker, until: Tick) {
        match &mut self.waiting {
            Some((known, tick)) => {
                *tick = until;
                known.clone_from(waker); // nothing, if it is the same
            }
            none @ None => *none = Some((waker.clone(), until)),
        }
    }

    /// Wakes the task that waits if it waits for a later tick: it has to sleep for less.
    fn wake_for(&mut self, deadline: Tick) {
        let later = |(_, until): &mut (Waker, Tick)| *until > deadline;
        if let Some((waker, _)) = self.waiting.take_if(later) {
            waker.wake();
        }
    }

    /// Wakes the task that waits, because there is nothing left to wait for.
    fn emptied(&mut self) {
        self.sleep.stop();
        if let Some((waker, _)) = self.waiting.take() {
            waker.wake();
        }
    }
}

impl<T> fmt::Debug for Expirations<T> {
    /// Prints the state, not the values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Expirations")
            .field("len", &self.len())
            .field("error", &self.error)
            .finish_non_exhaustive()
    }
}
