//! A time to wait for.
//!
//! | state | the wheel holds | ends it |
//! |---|---|---|
//! | `After` | nothing | the first poll: `At` |
//! | `At` | nothing | a poll: `Elapsed` if it is due, or else `Armed`, or an error |
//! | `Armed` | an entry with the waker, or nothing any more: it has fired, or was taken out by a shutdown | a poll that is due: `Elapsed` |
//! | `Elapsed` | nothing | `reset` |

use alloc::sync::Arc;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;

use super::super::job::Job;
use super::super::{ArmError, Shared, Timers};
use super::seat::Seat;
use crate::{Ticks, TimerKey, Timestamp};

/// A future that is ready at its time: [`Timers::sleep`] and [`Timers::sleep_until`].
///
/// It is never ready early, by the clock of the runtime; if that goes back, time stands still. A task that polls it anyway finds it ready as
/// soon as the clock has reached its time; one that waits is woken by the driver at the tick that follows.
///
/// It does nothing until it is polled. A poll that finds it pending registers it: it then counts in
/// [`Timers::len`] and towards the [limit](super::super::TimersBuilder::limit). Dropped, it cancels that.
///
/// It may be moved to any thread and any executor, and needs no pinning. It does not keep the
/// runtime going.
///
/// # Output
///
/// `Ok` when the time has come, and again for each poll after that. An error if it cannot be waited for:
///
/// * [`ArmError::ShutDown`] if the runtime was shut down before;
/// * [`ArmError::Full`] if the runtime has as many timers as it may when this is to be registered.
///
/// After an error it may be polled again, and tries again.
///
/// # Costs
///
/// O(1) for everything, no lock and no allocation, but for the growth of the wheel, and a few bytes
/// when a thread first arms in a runtime. A poll reads the clock once. The first pending poll arms
/// a timer and clones the waker. A further one leaves both alone if the waker is the same, and
/// otherwise arms anew. A [pause](Timers::pause) delays the wake-up only.
///
/// ```
/// use std::future::Future;
/// use std::pin::pin;
/// use std::task::{Context, Poll, Waker};
/// use std::time::Duration;
/// use tickwheel::{ManualClock, Timers};
///
/// let clock = ManualClock::new();
/// let timers = Timers::builder().clock(clock.clone()).build_hand_driven()?;
/// let task = async {
///     timers.sleep(Duration::from_secs(1)).await?;
///     Ok::<_, tickwheel::ArmError>("a second later")
/// };
///
/// let (mut task, mut cx) = (pin!(task), Context::from_waker(Waker::noop()));
/// assert!(task.as_mut().poll(&mut cx).is_pending());
/// clock.advance(Duration::from_secs(1));
/// assert_eq!(timers.turn()?.fired, 1); // wakes the task
/// assert_eq!(task.poll(&mut cx), Poll::Ready(Ok("a second later")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "futures do nothing unless they are polled"]
pub struct Sleep {
    seat: Arc<Seat>,
    state: State,
}

/// What is known of the time, and of the entry.
enum State {
    /// Counted from the first poll.
    After(Duration),
    At(Timestamp),
    Armed {
        deadline: Timestamp,
        key: TimerKey,
        task: Task,
    },
    Elapsed(Timestamp),
}

/// Which task an entry wakes: the addresses its waker is made of.
///
/// A clone of the waker would have to be counted and dropped. The addresses do as well while the entry
/// is armed: it holds its waker, so nothing else can be at that address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Task {
    data: usize,
    vtable: usize,
}

// === impl Timers ===

impl Timers {
    /// A future that is ready after that time, counted from when it is first polled: futures are lazy. To
    /// count from now, or from anything else, there is [`sleep_until`](Self::sleep_until).
    ///
    /// Zero is ready at the first poll, `Duration::MAX` never. Does not read the clock. O(1).
    ///
    /// ```
    /// use std::future::Future;
    /// use std::pin::pin;
    /// use std::task::{Context, Waker};
    /// use std::time::Duration;
    /// use tickwheel::{ManualClock, Timers};
    ///
    /// let clock = ManualClock::new();
    /// let timers = Timers::builder().clock(clock.clone()).build_hand_driven()?;
    /// let mut sleep = pin!(timers.sleep(Duration::from_secs(10)));
    /// clock.advance(Duration::from_secs(3)); // this does not count
    ///
    /// let mut cx = Context::from_waker(Waker::noop());
    /// assert!(sleep.as_mut().poll(&mut cx).is_pending());
    /// clock.advance(Duration::from_secs(9));
    /// assert!(sleep.as_mut().poll(&mut cx).is_pending());
    /// clock.advance(Duration::from_secs(1));
    /// assert!(sleep.as_mut().poll(&mut cx).is_ready());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sleep(&self, after: Duration) -> Sleep {
        Sleep {
            seat: self.seat(),
            state: State::After(after),
        }
    }

    /// A future that is ready at that time of the runtime's clock. A time that is past is ready at the
    /// first poll, [`Timestamp::NEVER`] never. O(1).
    ///
    /// ```
    /// use std::future::Future;
    /// use std::pin::pin;
    /// use std::task::{Context, Poll, Waker};
    /// use tickwheel::{ManualClock, Timers, Timestamp};
    ///
    /// let clock = ManualClock::starting_at(Timestamp::from_nanos(20));
    /// let timers = Timers::builder().clock(clock).build_hand_driven()?;
    /// let past = pin!(timers.sleep_until(Timestamp::from_nanos(15)));
    /// let mut cx = Context::from_waker(Waker::noop());
    /// assert_eq!(past.poll(&mut cx), Poll::Ready(Ok(())));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sleep_until(&self, at: Timestamp) -> Sleep {
        Sleep {
            seat: self.seat(),
            state: State::At(at),
        }
    }
}

// === impl Sleep ===

impl Sleep {
    /// Moves it to that much from now: this is a call, and counts from when it is made.
    /// Otherwise as [`reset_at`](Self::reset_at).
    ///
    /// # Panics
    ///
    /// As that.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tickwheel::{ManualClock, Timers};
    ///
    /// let timers = Timers::builder().clock(ManualClock::new()).build_hand_driven()?;
    /// let mut idle = timers.sleep(Duration::from_secs(30)); // once it is polled
    /// idle.reset(Duration::from_secs(30)); // from now on
    /// assert_eq!(idle.deadline(), Some(timers.now() + Duration::from_secs(30)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reset(&mut self, after: Duration) {
        self.reset_at(self.seat.shared.now().saturating_add(after));
    }

    /// Moves it to that time: later, earlier, into the past, or to never. It is then pending again even
    /// if it was ready before.
    ///
    /// If a task waits for it, its timer moves and nothing else is to be done: the task is woken at the
    /// new time, by the next turn of the driver if that is past. A sleep that nobody waits for is registered by its next poll. O(1),
    /// lock-free.
    ///
    /// # Panics
    ///
    /// If somebody waits for it, the new time is more than 2^33 ticks away from that for which it was first registered, and
    /// the runtime has 2^30 timers.
    ///
    /// ```
    /// use std::future::Future;
    /// use std::pin::pin;
    /// use std::task::{Context, Waker};
    /// use std::time::Duration;
    /// use tickwheel::{ManualClock, Timers};
    ///
    /// let clock = ManualClock::new();
    /// let timers = Timers::builder().clock(clock.clone()).build_hand_driven()?;
    /// let mut cx = Context::from_waker(Waker::noop());
    /// let mut idle = pin!(timers.sleep(Duration::from_secs(30)));
    /// assert!(idle.as_mut().poll(&mut cx).is_pending());
    ///
    /// clock.advance(Duration::from_secs(20));
    /// idle.reset(Duration::from_secs(30)); // there was traffic
    /// clock.advance(Duration::from_secs(29));
    /// assert_eq!(timers.turn()?.fired, 0);
    /// clock.advance(Duration::from_secs(1));
    /// assert_eq!(timers.turn()?.fired, 1);
    /// assert!(idle.as_mut().poll(&mut cx).is_ready());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reset_at(&mut self, at: Timestamp) {
        match &mut self.state {
            State::Armed { deadline, key, .. } => {
                *deadline = at;
                // If it has fired, or is firing, the task was woken or will be. Its poll finds that the
                // entry is not armed, and arms another. So does one after a shutdown.
                let _ = self.seat.shared.rearm_at(*key, at);
            }
            State::After(_) | State::At(_) | State::Elapsed(_) => self.state = State::At(at),
        }
    }

    /// When it is ready; `None` as long as that counts from a poll that has not come yet. O(1).
    ///
    /// ```
    /// use std::time::Duration;
    /// use tickwheel::{ManualClock, Timers};
    ///
    /// let timers = Timers::builder().clock(ManualClock::new()).build_hand_driven()?;
    /// let at = timers.now() + Duration::from_secs(1);
    /// assert_eq!(timers.sleep_until(at).deadline(), Some(at));
    /// assert_eq!(timers.sleep(Duration::from_secs(1)).deadline(), None); // not polled yet
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn deadline(&self) -> Option<Timestamp> {
        match self.state {
            State::After(_) => None,
            State::At(at) | State::Elapsed(at) | State::Armed { deadline: at, .. } => Some(at),
        }
    }

    /// Whether its time has come: a poll would find it ready. Reads the clock. O(1).
    ///
    /// False before the first poll of one that counts from there, even if it is to take no time.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tickwheel::{ManualClock, Timers};
    ///
    /// let clock = ManualClock::new();
    /// let timers = Timers::builder().clock(clock.clone()).build_hand_driven()?;
    /// let sleep = timers.sleep_until(timers.now() + Duration::from_secs(1));
    /// assert!(!sleep.is_elapsed());
    /// clock.advance(Duration::from_secs(1));
    /// assert!(sleep.is_elapsed());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_elapsed(&self) -> bool {
        match self.state {
            State::After(_) => false,
            State::Elapsed(_) => true,
            State::At(at) | State::Armed { deadline: at, .. } => at <= self.seat.shared.now(),
        }
    }

    /// Lets it be ready never, until it is reset, and takes its timer out.
    pub(super) fn stop(&mut self) {
        self.take_out(Timestamp::NEVER);
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.seat.shared
    }

    #[inline]
    pub(super) fn poll_elapsed(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ArmError>> {
        let (deadline, now) = match self.state {
            State::Elapsed(_) => return Poll::Ready(Ok(())),
            State::After(after) => {
                let now = self.seat.shared.now();
                let deadline = now.saturating_add(after);
                self.state = State::At(deadline);
                (deadline, now)
            }
            State::At(deadline) => (deadline, self.seat.shared.now()),
            State::Armed {
                deadline,
                key,
                task,
            } => {
                let now = self.seat.shared.now();
                // In this order: only while it is armed do the addresses mean anything.
                if now < deadline
                    && self.seat.shared.wheel.contains(key)
                    && task == Task::of(cx.waker())
                {
                    return Poll::Pending;
                }
                self.take_out(deadline);
                (deadline, now)
            }
        };
        if now >= deadline {
            self.state = State::Elapsed(deadline);
            return Poll::Ready(Ok(()));
        }
        self.arm(deadline, cx.waker())
    }

    /// Registers what is not registered.
    #[inline]
    fn arm(&mut self, deadline: Timestamp, waker: &Waker) -> Poll<Result<(), ArmError>> {
        let tick = self.seat.shared.resolution.deadline(deadline);
        let job = || Job::Wake(waker.clone());
        match self.seat.shared.arm_job(tick, Ticks::ZERO, job) {
            Ok(key) => {
                self.state = State::Armed {
                    deadline,
                    key,
                    task: Task::of(waker),
                };
                Poll::Pending
            }
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    /// Takes the timer out, if there is one.
    ///
    /// Also if it is firing: a driver that has just been paused would put it back.
    #[inline]
    fn take_out(&mut self, deadline: Timestamp) {
        let before = core::mem::replace(&mut self.state, State::At(deadline));
        if let State::Armed { key, .. } = before {
            // Last, because dropping the waker runs its owner's code.
            drop(self.seat.shared.wheel.cancel(key));
        }
    }
}

impl Future for Sleep {
    type Output = Result<(), ArmError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.get_mut().poll_elapsed(cx)
    }
}

impl Drop for Sleep {
    #[inline]
    fn drop(&mut self) {
        if let State::Armed { key, .. } = self.state {
            drop(self.seat.shared.wheel.cancel(key));
        }
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Sleep");
        match self.state {
            State::After(after) => debug.field("after", &after),
            State::At(at) => debug.field("deadline", &at),
            State::Armed { deadline, key, .. } => {
                debug.field("deadline", &deadline).field("key", &key)
            }
            State::Elapsed(at) => debug.field("deadline", &at).field("elapsed", &true),
        };
        debug.finish_non_exhaustive()
    }
}

// === impl Task ===

impl Task {
    #[inline]
    fn of(waker: &Waker) -> Self {
        Self {
            data: waker.data().addr(),
            vtable: core::ptr::from_ref(waker.vtable()).addr(),
        }
    }
}
