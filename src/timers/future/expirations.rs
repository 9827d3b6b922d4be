//! Values that one task owns, each with its time.

use core::fmt;
use core::task::Waker;
use core::time::Duration;

use super::super::{ArmError, Shared, Timers};
use super::Sleep;
use crate::{Drain, StaleKey, Tick, TimerKey, Timestamp, Wheel};

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
    pub(super) wheel: Wheel<T>,
    /// For the next deadline of the wheel, as of the last poll that was pending.
    pub(super) sleep: Sleep,
    /// The task that waits since then, until it is woken from here, and the tick it waits for.
    pub(super) waiting: Option<(Waker, Tick)>,
    pub(super) error: Option<ArmError>,
}

// Values are never pinned.
impl<T> Unpin for Expirations<T> {}

// === impl Timers ===

impl Timers {
    /// An empty set of values with deadlines, for one task to await. Reads the clock; allocates nothing yet.
    pub fn expirations<T>(&self) -> Expirations<T> {
        Expirations {
            wheel: Wheel::starting_at(self.shared.resolution.now(self.shared.now())),
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
    ///
    /// ```
    /// use std::time::Duration;
    /// use tickwheel::{ManualClock, Timers};
    ///
    /// let timers = Timers::builder().clock(ManualClock::new()).build_hand_driven()?;
    /// let mut sessions = timers.expirations();
    /// let key = sessions.insert("Ann", Duration::from_secs(60));
    /// assert_eq!(sessions.deadline(key), Some(timers.now() + Duration::from_secs(60)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert(&mut self, value: T, after: Duration) -> TimerKey {
        self.insert_at(value, self.after(after))
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
    ///
    /// ```
    /// use std::time::Duration;
    /// use tickwheel::{ManualClock, Timers};
    ///
    /// let timers = Timers::builder().clock(ManualClock::new()).build_hand_driven()?;
    /// let mut sessions = timers.expirations();
    /// let key = sessions.insert("Ann", Duration::from_secs(60));
    /// assert_eq!(sessions.remove(key), Some("Ann"));
    /// assert_eq!(sessions.remove(key), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    ///
    /// ```
    /// use std::time::Duration;
    /// use tickwheel::{ManualClock, Timers};
    ///
    /// let timers = Timers::builder().clock(ManualClock::new()).build_hand_driven()?;
    /// let mut sessions = timers.expirations();
    /// let key = sessions.insert("Ann", Duration::from_secs(60));
    /// sessions.reset(key, Duration::from_secs(90))?;
    /// assert_eq!(sessions.deadline(key), Some(timers.now() + Duration::from_secs(90)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reset(&mut self, key: TimerKey, after: Duration) -> Result<(), StaleKey> {
        self.reset_at(key, self.after(after))
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
    ///
    /// ```
    /// use std::time::Duration;
    /// use tickwheel::{ManualClock, Timers};
    ///
    /// let timers = Timers::builder().clock(ManualClock::new()).build_hand_driven()?;
    /// let mut sessions = timers.expirations();
    /// sessions.insert("Ann", Duration::from_secs(60));
    /// sessions.insert("Bob", Duration::MAX);
    /// assert_eq!(sessions.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    ///
    /// ```
    /// use std::time::Duration;
    /// use tickwheel::{ManualClock, Timers};
    ///
    /// let timers = Timers::builder().clock(ManualClock::new()).build_hand_driven()?;
    /// let mut sessions = timers.expirations();
    /// let key = sessions.insert("Ann", Duration::from_secs(60));
    /// sessions.clear();
    /// assert!(sessions.is_empty());
    /// assert_eq!(sessions.deadline(key), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn clear(&mut self) {
        drop(self.drain());
    }

    /// Takes all values out: key, deadline in ticks, and value, in no particular order. A task
    /// that waits is woken. O(values).
    ///
    /// ```
    /// use std::time::Duration;
    /// use tickwheel::{ManualClock, Timers};
    ///
    /// let timers = Timers::builder().clock(ManualClock::new()).build_hand_driven()?;
    /// let mut sessions = timers.expirations();
    /// sessions.insert("Ann", Duration::from_secs(60));
    /// let left: Vec<_> = sessions.drain().map(|(_, _, name)| name).collect();
    /// assert_eq!((left, sessions.len()), (vec!["Ann"], 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn drain(&mut self) -> Drain<T> {
        let values = self.wheel.drain();
        if values.len() > 0 {
            self.emptied();
        }
        values
    }

    /// The wheel with all values. Its tick is that of the runtime's [resolution](Timers::resolution).
    ///
    /// ```
    /// use std::time::Duration;
    /// use tickwheel::{ManualClock, Timers};
    ///
    /// let timers = Timers::builder().clock(ManualClock::new()).build_hand_driven()?;
    /// let mut sessions = timers.expirations();
    /// let key = sessions.insert("Ann", Duration::from_secs(60));
    /// let mut wheel = sessions.into_inner();
    /// let due = timers.resolution().deadline_after(timers.now(), Duration::from_secs(60));
    /// assert_eq!((wheel.deadline(key), wheel.cancel(key)), (Some(due), Some("Ann")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn into_inner(self) -> Wheel<T> {
        self.wheel
    }

    fn after(&self, after: Duration) -> Timestamp {
        self.shared().now().saturating_add(after)
    }

    pub(super) fn shared(&self) -> &Shared {
        self.sleep.shared()
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
