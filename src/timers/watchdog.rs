//! The watchdog: a thread of its own that looks whether the driver is at work; and the same by hand.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use core::time::Duration;
use std::sync::Mutex;
use std::time::Instant;
use std::{io, thread};

use super::judge::{Alarm, Incident, Judge, Seen, Work};
use super::{Shared, Timers, TimersBuilder};
use crate::{Resolution, Tick};

/// What a watchdog calls.
pub(super) type Hook = Box<dyn Fn(Alarm) + Send + Sync>;

/// What it takes to say what is wrong.
#[derive(Debug)]
pub(super) struct Health {
    pub(super) bound: Duration,
    /// Where real time is counted from.
    start: Instant,
    /// For those who ask by hand. Held for a comparison of numbers.
    judge: Mutex<Judge>,
}

// === impl Timers ===

impl Timers {
    /// What is wrong with the runtime now, if anything: the checks of a
    /// [watchdog](super::TimersBuilder::watchdog), for a health endpoint or an event loop that has no thread
    /// to spare. The [bound](TimersBuilder::health_bound) is the same, with a watchdog or without.
    ///
    /// It compares with what it saw when it was last called, by whomever:
    /// [`Stopped`](Alarm::Stopped) and [`ClockStands`](Alarm::ClockStands) are found by the second call
    /// at the earliest, [`Late`](Alarm::Late) and [`Stalled`](Alarm::Stalled) by any. `None` once it is shut
    /// down. Never [`Over`](Alarm::Over).
    ///
    /// O(shards). As [`overdue`](Self::overdue) it is in nobody's way.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tickwheel::{Alarm, ManualClock, Timers};
    ///
    /// let clock = ManualClock::new();
    /// let timers = Timers::builder().clock(clock.clone()).build_hand_driven()?;
    /// timers.arm(Duration::from_millis(5), |_| {})?;
    /// assert_eq!(timers.health(), None);
    ///
    /// clock.advance(Duration::from_secs(1)); // and nobody turns
    /// assert!(matches!(timers.health(), Some(Alarm::Late { .. })));
    /// timers.turn()?;
    /// assert_eq!(timers.health(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn health(&self) -> Option<Alarm> {
        if self.is_shut_down() {
            return None;
        }
        let seen = self.shared.seen();
        let health = &self.shared.health;
        let mut judge = health
            .judge
            .lock()
            .unwrap_or_else(|poison| poison.into_inner());
        judge.look(&seen)
    }
}

// === impl TimersBuilder ===

impl TimersBuilder {
    /// Starts a watchdog: a thread, named after the driver's with `-watch`, which tells `hook` when timers
    /// are late by more than `bound`, when the driver has been in one turn for longer, when nobody
    /// drives, and when the clock stands. See [`Alarm`]. Also for a runtime that is driven by hand.
    ///
    /// Without a bound it is that of [`health`](Self::health_bound), which is the same with one. What is wrong
    /// for longer than twice the bound is noticed; what is over sooner may be. Each kind of alarm is reported once, until
    /// [`Over`](Alarm::Over) says that a look has found nothing wrong any more.
    ///
    /// It looks once in a bound at most, and sleeps on while the driver sleeps, or is
    /// paused: with nothing armed it does not wake at all. (A driver by hand sleeps as far as it asks
    /// [`next_timeout`](Timers::next_timeout). One that does not ask is looked at once in a bound.)
    ///
    /// It ends when the runtime is shut down, without another report, and does not keep it going, unless `hook`
    /// holds a handle. [`wait`](Timers::wait) does not wait for it. Panics of `hook` are caught and counted.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    /// use tickwheel::{Alarm, Timers};
    ///
    /// let (report, reports) = mpsc::channel();
    /// let timers = Timers::builder()
    ///     .watchdog(Duration::from_millis(20), move |alarm| report.send(alarm).unwrap_or(()))
    ///     .build()?;
    /// let (go_on, blocks) = mpsc::channel::<()>();
    /// timers.arm(Duration::ZERO, move |_| blocks.recv().unwrap_or(()))?;
    /// assert!(reports.iter().any(|alarm| matches!(alarm, Alarm::Stalled { .. })));
    /// go_on.send(())?;
    /// assert!(reports.iter().any(|alarm| matches!(alarm, Alarm::Over { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn watchdog(
        mut self,
        bound: impl Into<Option<Duration>>,
        hook: impl Fn(Alarm) + Send + Sync + 'static,
    ) -> Self {
        self.watchdog = Some(Box::new(hook));
        self.bound = bound.into().or(self.bound);
        self
    }

    /// From when on [`health`](Timers::health) calls something wrong; see [`Alarm`]. Without this it is twice
    /// the [resolution](Self::resolution) and the time of a [batch](Self::batch). It counts as no less than a
    /// tick and a millisecond.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tickwheel::{ManualClock, Timers};
    ///
    /// let clock = ManualClock::new();
    /// let timers = Timers::builder()
    ///     .clock(clock.clone())
    ///     .health_bound(Duration::from_secs(60))
    ///     .build_hand_driven()?;
    /// timers.arm(Duration::from_millis(5), |_| {})?;
    /// clock.advance(Duration::from_millis(60_005));
    /// assert_eq!(timers.health(), None); // a minute late, and no more
    /// clock.advance(Duration::from_secs(1));
    /// assert_eq!(timers.health().unwrap().to_string(), "timers are 61s late");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn health_bound(mut self, bound: Duration) -> Self {
        self.bound = Some(bound);
        self
    }
}

// === impl Health ===

impl Health {
    /// No bound is shorter: the watchdog would do nothing else.
    const LEAST: Duration = Duration::from_millis(1);

    pub(super) fn new(bound: Option<Duration>, resolution: Resolution, batch: Duration) -> Self {
        let tick = resolution.tick();
        let usual = tick.saturating_mul(2).saturating_add(batch);
        let bound = bound.unwrap_or(usual).max(tick).max(Self::LEAST);
        Self {
            bound,
            start: Instant::now(),
            judge: Mutex::new(Judge::new(bound)),
        }
    }
}

// === impl Shared ===

impl Shared {
    /// How the runtime looks.
    fn seen(&self) -> Seen {
        let counters = &self.counters;
        let turn = self.pulse.turn();
        let overdue = self.overdue();
        let done = [&counters.fired, &counters.vetoed, &counters.postponed];
        let met = self.wheel.moved().wrapping_add(self.wheel.husks());
        // The clock after the beginning of a turn, so that none has begun in the future.
        let now = self.now();
        let work = if self.gate.look().is_paused() {
            Work::Paused
        } else if self.wheel.is_empty() {
            Work::Nothing
        } else if self.pace.wait(now).is_some() {
            Work::Limited
        } else {
            Work::Armed
        };
        Seen {
            real: self.health.start.elapsed(),
            now,
            turn,
            overdue,
            progress: done.iter().map(|count| count.get()).sum::<u64>() ^ met.rotate_left(32),
            work,
        }
    }

    /// Lets the watchdog sleep for as long as nothing can go wrong.
    fn doze(&self, bound: Duration) {
        // Whoever changes this stirs the watchdog after that. So what has cut the last sleep short is seen
        // here, and what comes later cuts the next one short.
        let flags = self.gate.look();
        if flags.is_closed() {
            return;
        }
        if flags.is_paused() {
            return self.pulse.sleep(None);
        }
        let Some(until) = self.pulse.rests_until() else {
            return;
        };
        if until == Tick::NEVER {
            return self.pulse.doze(until, None);
        }
        let left = self.resolution.start_of(until).saturating_since(self.now());
        if !left.is_zero() {
            self.pulse.doze(until, Some(left.saturating_add(bound)));
        }
    }
}

// === the thread ===

/// Starts the watchdog. It ends when the runtime is shut down, and does not keep it going.
pub(super) fn start(shared: &Arc<Shared>, name: String, hook: Hook) -> io::Result<()> {
    let shared = Arc::clone(shared);
    thread::Builder::new()
        .name(name)
        .spawn(move || run(&shared, &hook))?;
    Ok(())
}

fn run(shared: &Shared, hook: &Hook) {
    let bound = shared.health.bound;
    let (mut judge, mut incident) = (Judge::new(bound), Incident::default());
    while !shared.gate.look().is_closed() {
        // Nobody's code runs here but the clock's and the hook's.
        let rests = shared.caught(|| {
            let seen = shared.seen();
            let alarm = judge.look(&seen);
            if let Some(news) = incident.news(seen.real, alarm) {
                shared.event_alarm(&news);
                shared.caught(|| hook(news));
            }
            alarm.is_none() && seen.turn.is_none()
        });
        shared.pulse.sleep(Some(bound));
        if rests == Some(true) {
            shared.caught(|| shared.doze(bound));
        }
    }
}
