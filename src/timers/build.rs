//! How a runtime is made.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::time::Duration;

use super::executor::Executor;
use super::gate::Gate;
use super::hooks::{Failure, Hooks, Overrun, Panicked, Pending, Verdict, caught_wake};
use super::pace::{Allowance, Pace};
use super::parker::Parker;
use super::phase::Phase;
use super::pulse::Pulse;
use super::rate::Rate;
use super::stats::{Counter, Counters};
use super::watchdog::{self, Health};
use super::{BuildError, Shared, Timers, thread};
use crate::shared::SharedWheel;
use crate::sync::unmodelled::AtomicUsize;
use crate::{Clock, MonotonicClock, Resolution};

/// What a runtime is made with: [`Timers::builder`].
///
/// ```
/// use std::time::Duration;
/// use tickwheel::{Resolution, Timers};
///
/// let timers = Timers::builder()
///     .thread_name("sessions")
///     .resolution(Resolution::new(Duration::from_millis(10))?)
///     .limit(100_000)
///     .on_panic(|panic| eprintln!("{}: {:?}", panic.label, panic.message()))
///     .on_overrun(Duration::from_millis(5), |overrun| eprintln!("{overrun:?}"))
///     .build()?;
/// assert_eq!(timers.resolution().tick(), Duration::from_millis(10));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a builder does nothing until it builds"]
pub struct TimersBuilder {
    resolution: Resolution,
    clock: Option<Box<dyn Clock + Send + Sync>>,
    /// Whether sleeps go by a clock that counts suspended time.
    suspendable: bool,
    shards: Option<usize>,
    limit: Option<usize>,
    name: String,
    wake: Option<Arc<dyn Fn() + Send + Sync>>,
    executor: Option<Box<dyn Executor>>,
    hooks: Hooks,
    batch: Allowance,
    rate: Option<(u32, Duration)>,
    pub(super) watchdog: Option<watchdog::Hook>,
    pub(super) bound: Option<Duration>,
}

// === impl TimersBuilder ===

impl TimersBuilder {
    pub(super) fn new() -> Self {
        Self {
            resolution: Resolution::MILLISECOND,
            clock: None,
            suspendable: false,
            shards: None,
            limit: None,
            name: "tickwheel".to_owned(),
            wake: None,
            executor: None,
            hooks: Hooks::default(),
            batch: Allowance::new(4096, Duration::from_millis(10)),
            rate: None,
            watchdog: None,
            bound: None,
        }
    }

    // --- time ---

    /// How long a tick is; a millisecond without this. Deadlines are rounded up to it.
    pub fn resolution(mut self, resolution: Resolution) -> Self {
        self.resolution = resolution;
        self
    }

    /// The clock; a [`MonotonicClock`] without this.
    ///
    /// A driver's thread sleeps by the monotonic clock of the system for as long as this clock
    /// says remains, and then looks at this clock again: it should run about as fast. With a clock that stands still
    /// nothing fires, and the thread looks at it ever more rarely, in the end once a tick. With one that goes back time stands still until it is where it was.
    pub fn clock(mut self, clock: impl Clock + Send + Sync + 'static) -> Self {
        self.clock = Some(Box::new(clock));
        self.suspendable = false;
        self
    }

    /// A [`BootClock`](crate::BootClock), which counts the time the machine is suspended; a thread that drives
    /// by it is woken when the machine resumes.
    ///
    /// For sessions and leases that lapse while a laptop's lid is closed. Where the platform's clock does
    /// not count that time, what is due meanwhile is late by it. An event loop that drives by
    /// hand has to see to its being woken itself.
    #[cfg(feature = "boot-clock")]
    pub fn boot_clock(mut self) -> Self {
        self = self.clock(crate::BootClock::new());
        self.suspendable = true;
        self
    }

    // --- memory ---

    /// The number of shards; one per core without this. Threads of one shard share its free list and counts. See
    /// [`SharedWheelBuilder::shards`](crate::SharedWheelBuilder::shards).
    ///
    /// Without a [limit](Self::limit) some threads, four to eight for each shard, keep up to 16 places of timers they
    /// cancelled to themselves, for those they will arm: the first to arm of those whose numbers fall together, each
    /// until it ends. That takes 128 bytes for each such thread, whether there is one or not.
    pub fn shards(mut self, count: usize) -> Self {
        self.shards = Some(count);
        self
    }

    /// The most timers that may be armed at a time; 2^30 without this. What goes beyond it is refused
    /// as [`ArmError::Full`](super::ArmError::Full).
    ///
    /// A timer whose callback is running counts, and one that was moved by more than 2^33 ticks counts twice. If there is
    /// no room for that, room is made: a move is not refused, and from then on one timer more may be armed.
    ///
    /// With a limit no thread has places to [itself](Self::shards), where others would not get at them: so it is exact,
    /// and arming and cancelling takes somewhat longer. Without one, these places are missing from the 2^30.
    pub fn limit(mut self, timers: usize) -> Self {
        self.limit = Some(timers);
        self
    }

    // --- driving ---

    /// The name of the driver's thread; `tickwheel` without this. By hand or with a thread, it is the name
    /// of the runtime in metrics and events.
    ///
    /// # Panics
    ///
    /// [`build`](Self::build) does, if it contains a null byte; so does a build with a watchdog.
    pub fn thread_name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// What the driver does at a time: it looks at `entries` timers at most, and stops after `time`, as soon as a
    /// callback returns. Then it looks at the clock, and at whether it is to pause or stop, and goes
    /// on. Without this 4096 and 10 milliseconds; fewer than 64 entries count as 64.
    pub fn batch(mut self, entries: usize, time: Duration) -> Self {
        self.batch = Allowance::new(entries, time);
        self
    }

    /// Lets `count` timers fire in each `per` on the average. Up to `count` may come at once, if there were none for that
    /// long, and then one in each `per / count`, so that any `per` sees fewer than twice `count`. What is due waits, and
    /// is late. Futures count.
    pub fn rate_limit(mut self, count: u32, per: Duration) -> Self {
        self.rate = Some((count, per));
        self
    }

    /// Calls `wake` when somebody else has to drive earlier than
    /// [`next_timeout`](Timers::next_timeout) said: because an earlier timer was armed, or for
    /// [`resume`](Timers::resume), a new rate, or shutting down.
    /// For event loops: it writes to an eventfd, or uses a waker of mio's. Not used with a thread.
    ///
    /// It is called by the thread that armed the timer or did one of those, after that, and may be called again
    /// until [`turn`](Timers::turn) is; also by the thread of the loop itself. A panic in it is caught and counted.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    /// use tickwheel::{Shutdown, Timers};
    ///
    /// let (wake, woken) = mpsc::sync_channel(1); // an eventfd, in a real loop
    /// let timers = Timers::builder()
    ///     .wake(move || {
    ///         let _ = wake.try_send(()); // one is enough
    ///     })
    ///     .build_hand_driven()?;
    /// let others = timers.clone();
    /// std::thread::spawn(move || {
    ///     others.arm(Duration::from_millis(5), |firing| {
    ///         firing.timers().shutdown(Shutdown::Drop);
    ///     })
    /// });
    /// while !timers.is_shut_down() {
    ///     timers.turn()?; // first, then ask how long to sleep
    ///     match timers.next_timeout() {
    ///         Some(timeout) => _ = woken.recv_timeout(timeout),
    ///         None => woken.recv()?,
    ///     }
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wake(mut self, wake: impl Fn() + Send + Sync + 'static) -> Self {
        self.wake = Some(Arc::new(wake));
        self
    }

    /// Where callbacks run; in whichever thread drives without this. (Futures are woken by the driver in any case.)
    pub fn executor(mut self, executor: impl Executor + 'static) -> Self {
        self.executor = Some(Box::new(executor));
        self
    }

    // --- hooks ---

    /// Asks `hook` about each callback just before it fires: it may archive, log, veto or postpone.
    ///
    /// Futures are not asked about: one whose timer was vetoed would wait for ever. The hook runs in the
    /// driver's thread, also with an executor. If it panics, the callback fires.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tickwheel::{ManualClock, Timers, Verdict};
    ///
    /// let clock = ManualClock::new();
    /// let timers = Timers::builder()
    ///     .clock(clock.clone())
    ///     .before_fire(|pending| match pending.label {
    ///         "legal hold" => Verdict::Postpone(Duration::from_secs(3600)),
    ///         _ => Verdict::Fire,
    ///     })
    ///     .build_hand_driven()?;
    /// let key = timers.options().label("legal hold").arm(Duration::from_secs(1), |_| panic!())?;
    /// clock.advance(Duration::from_secs(1));
    /// timers.turn()?;
    /// assert_eq!(timers.remaining(key), Some(Duration::from_secs(3600)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn before_fire(
        mut self,
        hook: impl Fn(Pending) -> Verdict + Send + Sync + 'static,
    ) -> Self {
        self.hooks.before_fire = Some(Box::new(hook));
        self
    }

    /// Tells `hook` of each callback, waker or hook that has panicked, besides the panic hook of the process.
    pub fn on_panic(mut self, hook: impl Fn(Panicked<'_>) + Send + Sync + 'static) -> Self {
        self.hooks.panicked = Some(Box::new(hook));
        self
    }

    /// Tells `hook` of each attempt of a [fallible](Timers::arm_fallible) timer that has failed.
    pub fn on_failure(mut self, hook: impl Fn(Failure<'_>) + Send + Sync + 'static) -> Self {
        self.hooks.failed = Some(Box::new(hook));
        self
    }

    /// Tells `hook` of each callback that has taken longer than `bound`.
    pub fn on_overrun(
        mut self,
        bound: Duration,
        hook: impl Fn(Overrun) + Send + Sync + 'static,
    ) -> Self {
        self.hooks.overran = Some((bound, Box::new(hook)));
        self
    }

    // --- building ---

    /// A runtime that is driven by a thread of its own.
    ///
    /// # Errors
    ///
    /// [`BuildError`], if the limit or the rate is zero, or if the thread cannot be started.
    pub fn build(self) -> Result<Timers, BuildError> {
        let name = self.name.clone();
        let timers = self.make(true)?;
        thread::start(&timers.shared, name).map_err(BuildError::Spawn)?;
        Ok(timers)
    }

    /// A runtime without a thread, which somebody drives by [`turn`](Timers::turn).
    ///
    /// # Errors
    ///
    /// [`BuildError`], if the limit or the rate is zero, or if a watchdog's thread cannot be started.
    pub fn build_hand_driven(self) -> Result<Timers, BuildError> {
        self.make(false)
    }

    /// A runtime whose thread is a thread of a model, which calls `drive_here`.
    #[cfg(loom)]
    #[doc(hidden)]
    pub fn build_modelled(self) -> Timers {
        let Ok(timers) = self.make(true) else {
            panic!("the limits are right");
        };
        timers.shared.phase.thread_begins();
        timers
    }

    fn make(mut self, has_thread: bool) -> Result<Timers, BuildError> {
        if self.limit == Some(0) {
            return Err(BuildError::ZeroLimit);
        }
        let rate = Rate::limit(self.rate)?;
        let clock = self
            .clock
            .unwrap_or_else(|| Box::new(MonotonicClock::new()));
        let parker = Arc::new(parker(self.suspendable && has_thread)?);
        let panics = Arc::new(Counter::default());
        let wake = self.wake.map(|wake| caught_wake(wake, Arc::clone(&panics)));
        let pulse = Arc::new(Pulse::new());
        let shown = Arc::clone(&pulse);
        let mut wheel = SharedWheel::builder().starting_at(self.resolution.now(clock.now()));
        if let Some(shards) = self.shards {
            wheel = wheel.shards(shards);
        }
        wheel = match self.limit {
            Some(limit) => wheel.limit(limit),
            None => wheel.desks(),
        };
        if has_thread {
            let parker = Arc::clone(&parker);
            wheel = wheel.wake(move || {
                shown.called();
                parker.unpark();
            });
        } else {
            let wake = wake.clone();
            wheel = wheel.wake(move || {
                shown.called();
                if let Some(wake) = &wake {
                    wake();
                }
            });
        }
        let wheel = wheel.build();
        let counters = Counters::new(wheel.shards(), panics);
        let health = Health::new(self.bound, self.resolution, self.batch.time);
        let timers = Timers::first(Shared {
            wheel,
            resolution: self.resolution,
            clock,
            gate: Gate::new(),
            phase: Arc::new(Phase::new()),
            parker,
            call: wake,
            has_thread,
            executor: self.executor,
            hooks: self.hooks,
            pace: Pace::new(self.batch, rate),
            counters,
            pulse,
            health,
            #[cfg(feature = "metrics")]
            published: super::publish::Published::new(&self.name),
            #[cfg(feature = "tracing")]
            name: self.name.clone().into_boxed_str(),
            handles: AtomicUsize::new(1),
        });
        if let Some(hook) = self.watchdog.take() {
            let name = self.name + "-watch";
            watchdog::start(&timers.shared, name, hook).map_err(BuildError::Spawn)?;
        }
        Ok(timers)
    }
}

#[cfg(all(
    feature = "boot-clock",
    any(target_os = "linux", target_os = "android")
))]
fn parker(suspendable: bool) -> Result<Parker, BuildError> {
    if suspendable {
        return Parker::suspendable().map_err(BuildError::Spawn);
    }
    Ok(Parker::new())
}

#[cfg(not(all(
    feature = "boot-clock",
    any(target_os = "linux", target_os = "android")
)))]
fn parker(_suspendable: bool) -> Result<Parker, BuildError> {
    Ok(Parker::new())
}

impl fmt::Debug for TimersBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimersBuilder")
            .field("resolution", &self.resolution)
            .field("shards", &self.shards)
            .field("limit", &self.limit)
            .field("batch", &self.batch)
            .field("rate", &self.rate)
            .finish_non_exhaustive()
    }
}
