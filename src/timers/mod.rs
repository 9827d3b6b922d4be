//! The runtime component: a clock, a driver and callbacks over the shared wheel.
//!
//! | file | what lives there |
//! |---|---|
//! | `build` | how a runtime is made |
//! | `arm` | arming: callbacks, periodic and fallible ones |
//! | `control` | what can be done with one timer: by key, and by guard |
//! | `job` | what the wheel holds for a timer, and what running it comes to |
//! | `firing` | what a callback sees |
//! | `future` | what tasks await |
//! | `backoff` | when to try again |
//! | `pace`, `rate` | how much the driver does at a time, and how much may fire |
//! | `fire` | what the driver does with a timer that is due |
//! | `executor` | callbacks that run elsewhere |
//! | `drive` | one turn of the driver; event loops and tests that drive by hand |
//! | `thread`, `parker`, `suspend` | the driver's thread, and where it sleeps |
//! | `inside` | in whose code a thread is, so that nobody waits for himself |
//! | `sitting` | what this thread has to itself of which runtimes |
//! | `gate`, `phase`, `shutdown` | pausing, shutting down, and waiting for what still runs |
//! | `hooks`, `error` | what the owner is asked and told; what is refused |
//! | `stats`, `histogram` | numbers to watch |
//! | `pulse` | what whoever drives shows of itself, and looks that are in nobody's way |
//! | `publish`, `events` | metrics and events for whoever collects them |
//! | `watchdog`, `judge` | whether the driver is at work: who looks, and what is wrong |

mod arm;
mod backoff;
mod build;
mod control;
mod drive;
mod error;
mod events;
mod executor;
mod fire;
mod firing;
mod future;
mod gate;
mod histogram;
mod hooks;
mod inside;
mod job;
mod judge;
#[cfg(feature = "typed")]
mod kept;
mod pace;
mod parker;
mod phase;
#[cfg(feature = "metrics")]
mod publish;
mod pulse;
mod rate;
mod shutdown;
mod sitting;
mod stats;
#[cfg(all(
    feature = "boot-clock",
    any(target_os = "linux", target_os = "android")
))]
mod suspend;
mod thread;
mod watchdog;

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use std::sync::OnceLock;

use crate::shared::SharedWheel;
use crate::sync::Ordering;
use crate::sync::unmodelled::AtomicUsize;
use crate::{Clock, Resolution, Timestamp};
use future::Seats;
use gate::Gate;
use hooks::Hooks;
use job::Job;
use pace::Pace;
use parker::Parker;
use phase::Phase;
use pulse::Pulse;
use stats::Counters;
use watchdog::Health;

pub use arm::TimerOptions;
pub use backoff::Backoff;
pub use build::TimersBuilder;
pub use control::TimerGuard;
pub use drive::Turned;
pub use error::{ArmError, BuildError, WaitError};
pub use executor::{Executor, Run};
pub use firing::Firing;
pub use future::{Expirations, Interval, Sleep, Timeout, TimeoutError};
pub use histogram::Histogram;
pub use hooks::{Failure, Overrun, Panicked, Pending, Verdict};
pub use job::{Missed, Next};
pub use judge::Alarm;
pub use shutdown::{Shutdown, Unfired};
pub use stats::Stats;

/// Deadlines with a clock, a thread and callbacks: the timers of a service.
///
/// ```
/// use std::sync::mpsc;
/// use std::time::Duration;
/// use tickwheel::Timers;
///
/// let timers = Timers::new()?;
/// let (done, wait) = mpsc::channel();
/// timers.arm(Duration::from_millis(5), move |_| done.send("five milliseconds").unwrap())?;
/// let idle = timers.arm(Duration::from_secs(300), |_| println!("idle"))?;
/// timers.rearm(idle, Duration::from_secs(600))?; // there was traffic
///
/// assert_eq!(wait.recv()?, "five milliseconds");
/// assert!(timers.cancel(idle).is_cancelled());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A handle is cheap to clone; all clones are the same runtime. Keep one: when the last is dropped
/// the runtime [shuts down](Self::shutdown), what is armed is dropped, and the thread ends. Callbacks that
/// are armed, hooks and executors that hold a handle keep the runtime alive: inside a callback
/// [`Firing::timers`] has one.
///
/// # One thread, or yours
///
/// [`new`](Self::new) and [`build`](TimersBuilder::build) start a thread that drives: it sleeps until the
/// wheel has something to do, is woken only by an arm that is earlier than that, and
/// runs the callbacks, unless there is an [executor](TimersBuilder::executor) for them. While a
/// callback runs in it, others wait: callbacks should be short, or run elsewhere.
///
/// [`build_hand_driven`](TimersBuilder::build_hand_driven) starts none. An event loop sleeps for
/// [`next_timeout`](Self::next_timeout) and calls [`turn`](Self::turn); a test moves a
/// [`ManualClock`](crate::ManualClock) and calls [`advance_to_next`](Self::advance_to_next).
///
/// # When
///
/// Never early: a deadline rounds up to a tick of the [resolution](TimersBuilder::resolution), by default a
/// millisecond, the present rounds down. `Duration::MAX` means never. Timers that are due at one tick fire
/// in no particular order; those of an earlier tick fire first.
///
/// # Futures
///
/// [`sleep`](Self::sleep), [`timeout`](Self::timeout), [`interval`](Self::interval) and
/// [`expirations`](Self::expirations) are for tasks of any executor. They go by the clock of the runtime,
/// so that a `ManualClock` drives tests of tasks too. Relative times count from the first poll.
///
/// # Keys and guards
///
/// Arming returns a [`TimerKey`](crate::TimerKey): plain data, which may be copied, sent and stored, and does nothing
/// when it is dropped. A timer whose key is forgotten fires. A [`TimerGuard`], which
/// [`guard`](Self::guard) makes of a key, cancels the timer when it is dropped.
///
/// # Panics in callbacks
///
/// They are caught, counted and [reported](TimersBuilder::on_panic); the driver lives, and a
/// periodic timer goes on.
///
/// # Locks
///
/// To arm, cancel and re-arm takes no lock, and waits for nobody; but to wake a thread that sleeps for
/// longer takes the mutex that it sleeps on, for a moment. Nobody's code (callbacks, wakers, hooks,
/// destructors) runs while a lock is held, and all of it may use the runtime.
pub struct Timers {
    shared: Arc<Shared>,
    /// What its futures hold.
    seats: OnceLock<Seats>,
}

/// What all handles and the driver share.
pub(super) struct Shared {
    wheel: SharedWheel<Job>,
    resolution: Resolution,
    clock: Box<dyn Clock + Send + Sync>,
    gate: Gate,
    phase: Arc<Phase>,
    /// Where the driver's thread sleeps; nobody does if there is none.
    parker: Arc<Parker>,
    /// How to get the attention of whoever drives by hand.
    call: Option<Arc<dyn Fn() + Send + Sync>>,
    has_thread: bool,
    executor: Option<Box<dyn Executor>>,
    hooks: Hooks,
    pace: Pace,
    counters: Counters,
    pulse: Arc<Pulse>,
    health: Health,
    #[cfg(feature = "metrics")]
    published: publish::Published,
    /// By which name it is known to whoever collects events.
    #[cfg(feature = "tracing")]
    name: Box<str>,
    /// Handles. The driver and the futures hold the runtime, but do not keep it going.
    handles: AtomicUsize,
}

// === impl Timers ===

impl Timers {
    /// A runtime with a thread of its own, and defaults for the rest: ticks of a millisecond on the
    /// monotonic clock, callbacks in the thread, no limit.
    ///
    /// # Errors
    ///
    /// [`BuildError::Spawn`] if the thread cannot be started.
    pub fn new() -> Result<Self, BuildError> {
        Self::builder().build()
    }

    /// A builder, for other settings.
    pub fn builder() -> TimersBuilder {
        TimersBuilder::new()
    }

    /// The runtime of this process, as [`new`](Self::new) makes it, started when it is first asked for.
    ///
    /// It is never dropped. Whoever shuts it down does so for the whole process.
    ///
    /// # Panics
    ///
    /// If its thread cannot be started.
    pub fn global() -> &'static Self {
        static GLOBAL: OnceLock<Timers> = OnceLock::new();
        GLOBAL.get_or_init(|| match Self::new() {
            Ok(timers) => timers,
            Err(error) => panic!("{error}: {:?}", core::error::Error::source(&error)),
        })
    }

    /// A handle of the runtime, which is counted.
    pub(super) fn of(shared: &Arc<Shared>) -> Self {
        // ORDERING: Relaxed. A handle is made of something that keeps the runtime.
        shared.handles.fetch_add(1, Ordering::Relaxed);
        Self {
            shared: Arc::clone(shared),
            seats: OnceLock::new(),
        }
    }

    /// The time, by the clock of the runtime. If that goes back, time stands still until it is where it was
    /// when the driver last looked.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.shared.now()
    }

    /// How long a tick is.
    #[must_use]
    pub fn resolution(&self) -> Resolution {
        self.shared.resolution
    }

    /// Timers armed now, suspended ones included. Exact when nobody arms or cancels meanwhile.
    /// O(shards).
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.wheel.len()
    }

    /// Whether, at some moment during the call, no timer was armed. O(shards).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Panics if anything about the wheel is not as it should be, as
    /// [`SharedWheel::check`](crate::SharedWheel) does. For tests.
    #[doc(hidden)]
    pub fn check(&self) {
        self.shared.wheel.check();
    }

    /// Drives in this thread until the runtime is shut down: what its own thread does. For models.
    #[cfg(loom)]
    #[doc(hidden)]
    pub fn drive_here(&self) {
        thread::run(&self.shared);
        self.shared.phase.thread_ends();
    }

    /// Whether both are handles of the same runtime.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

/// The clock of the runtime, as [`now`](Timers::now) reads it.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use tickwheel::{Timers, WallAnchor};
///
/// let timers = Timers::new()?;
/// let wall = WallAnchor::now(&timers);
/// let midnight = SystemTime::now() + Duration::from_secs(3600); // say
/// let key = timers.arm_at(wall.from_wall(midnight), |_| println!("a new day"))?;
/// assert!(timers.is_armed(key));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl Clock for Timers {
    fn now(&self) -> Timestamp {
        self.shared.now()
    }
}

impl Clone for Timers {
    fn clone(&self) -> Self {
        let mut clone = Self::of(&self.shared);
        clone.seats.clone_from(&self.seats);
        clone
    }
}

impl Drop for Timers {
    /// The last handle shuts the runtime down.
    fn drop(&mut self) {
        // ORDERING: AcqRel. Release pairs with the Acquire of the last to go, which so sees all that
        // was done by handles before.
        if self.shared.handles.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.shared.shut_down(Shutdown::Drop);
        }
    }
}

impl fmt::Debug for Timers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timers")
            .field("len", &self.len())
            .field("now", &self.now())
            .field("resolution", &self.shared.resolution)
            .finish_non_exhaustive()
    }
}

// === impl Shared ===

impl Shared {
    /// The time that has come: what the clock shows, or what the driver was told, if the clock has
    /// gone back since. Never earlier than the tick of anything that has fired.
    ///
    /// For the wheel time stands still then. What held to the clock alone would arm timers for a time
    /// that has come there already, and they would fire early; a future would be woken for that time and
    /// wait for it again, over and over.
    #[inline]
    pub(super) fn now(&self) -> Timestamp {
        let told = self.resolution.start_of(self.wheel.now());
        self.reading().unwrap_or_default().max(told)
    }

    /// What the clock shows; nothing if it panics, which is counted.
    #[inline]
    fn reading(&self) -> Option<Timestamp> {
        self.caught(|| self.clock.now())
    }

    /// Gets the attention of whoever drives, and of the watchdog.
    fn call_driver(&self) {
        self.pulse.stir();
        if self.has_thread {
            self.parker.unpark();
        } else if let Some(call) = &self.call {
            call();
        }
    }
}
