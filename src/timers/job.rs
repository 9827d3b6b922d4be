//! What a runtime has its wheel hold for each timer, and what running it comes to.

use alloc::boxed::Box;
use core::error::Error;
use core::fmt;
use core::panic::AssertUnwindSafe;
use core::task::Waker;
use core::time::Duration;
use std::panic::catch_unwind;

use super::backoff::Backoff;
use super::firing::Firing;
use super::stats::{Failing, Gauge};
use crate::{Resolution, Tick, Timestamp};

/// The value of a timer: 16 bytes, so that an entry of the wheel takes one cache line.
pub(super) enum Job {
    /// A future waits.
    Wake(Waker),
    /// A callback.
    Call(Box<Call>),
}

/// A callback, and by which name it is reported.
pub(super) struct Call {
    pub(super) label: &'static str,
    pub(super) body: Body,
}

pub(super) type Once = Box<dyn FnOnce(&mut Firing<'_>) + Send>;
pub(super) type Many = Box<dyn FnMut(&mut Firing<'_>) + Send>;
pub(super) type Repeat = Box<dyn FnMut(&mut Firing<'_>) -> Next + Send>;
pub(super) type Attempt = Box<dyn FnMut(&mut Firing<'_>) -> Result<(), Failed> + Send>;

/// What a callback that failed says.
pub(super) type Failed = Box<dyn Error + Send + Sync>;

/// What is to be run, and when again.
pub(super) enum Body {
    /// Empty once it has run.
    Once(Option<Once>),
    /// Somebody to wake, for whom it stays armed, for never, until it is moved or cancelled. It is no callback of the user's:
    /// no hook is asked, and no executor runs it.
    #[cfg(feature = "typed")]
    Kept(Waker),
    Every {
        period: Duration,
        missed: Missed,
        /// When it should have fired, unrounded.
        nominal: Timestamp,
        /// The tick it was armed for by the runtime: if it fires for another one, it was moved.
        armed: Tick,
        /// Periods passed over since the last call.
        skipped: u64,
        run: Many,
    },
    Repeat(Repeat),
    Fallible {
        backoff: Backoff,
        /// How often it has failed.
        failures: u32,
        /// There while it waits for another attempt.
        failing: Option<Failing>,
        run: Attempt,
    },
}

/// When a callback that repeats itself wants to be called again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Next {
    /// Never: the timer ends.
    Stop,
    /// So long after the callback has returned.
    After(Duration),
    /// At that time.
    At(Timestamp),
}

/// What a periodic timer does about the times it could not be served.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use std::time::Duration;
/// use tickwheel::{ManualClock, Missed, Timers};
///
/// let ms = Duration::from_millis;
/// for (missed, expected) in [
///     (Missed::Skip, [50, 60, 70]),
///     (Missed::Burst, [50, 50, 50]),
///     (Missed::Delay, [50, 60, 70]),
/// ] {
///     let clock = ManualClock::new();
///     let timers = Timers::builder().clock(clock.clone()).build_hand_driven()?;
///     let log = Arc::new(Mutex::new(Vec::new()));
///     let times = log.clone();
///     timers.every(ms(10), missed, move |firing| {
///         times.lock().unwrap().push(firing.now().as_nanos() / 1_000_000);
///     })?;
///     clock.advance(ms(50)); // nobody has driven since 0
///     while log.lock().unwrap().len() < 3 {
///         if timers.turn_fully()?.fired == 0 {
///             timers.advance_to_next(&clock);
///         }
///     }
///     assert_eq!(log.lock().unwrap()[..3], expected, "{missed:?}");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Missed {
    /// It passes over them and stays in step: the next call is at the next multiple of the period,
    /// counted from the start. No drift.
    #[default]
    Skip,
    /// It calls once for each of them, one right after the other, until it has caught up. No
    /// drift, and as many calls as there were periods.
    Burst,
    /// It waits for a whole period after the callback has returned. It drifts: by the time that
    /// the callback takes, and by what it was late.
    Delay,
}

/// What came of a call.
pub(super) struct Ended {
    /// When to call again, if at all.
    pub(super) again: Option<Timestamp>,
    pub(super) result: Result<(), Fault>,
}

/// What can be wrong about a call.
pub(super) enum Fault {
    Panicked(Box<dyn core::any::Any + Send>),
    Failed(Failed),
}

// === impl Call ===

impl Call {
    /// Runs the callback. `end` tells when it has returned.
    pub(super) fn run(&mut self, firing: &mut Firing<'_>, end: impl Fn() -> Timestamp) -> Ended {
        let ended = |again, result: std::thread::Result<()>| Ended {
            again,
            result: result.map_err(Fault::Panicked),
        };
        match &mut self.body {
            Body::Once(run) => {
                let run = run.take();
                ended(None, caught(|| run.into_iter().for_each(|run| run(firing))))
            }
            #[cfg(feature = "typed")]
            Body::Kept(waker) => {
                let waker = waker.clone();
                ended(Some(Timestamp::NEVER), caught(|| waker.wake()))
            }
            Body::Every { run, skipped, .. } => {
                firing.skipped = core::mem::take(skipped);
                let result = caught(|| run(firing));
                let again = (!firing.stopped).then(|| self.body.next(firing.now, end()));
                ended(again.flatten(), result)
            }
            Body::Repeat(run) => {
                let (mut next, result) = match caught(|| run(firing)) {
                    Ok(next) => (next, Ok(())),
                    Err(panic) => (Next::Stop, Err(panic)),
                };
                if firing.stopped {
                    next = Next::Stop;
                }
                let again = match next {
                    Next::Stop => None,
                    Next::After(span) => Some(end().saturating_add(span)),
                    Next::At(at) => Some(at),
                };
                ended(again, result)
            }
            Body::Fallible {
                run,
                failures,
                backoff,
                ..
            } => {
                firing.attempt = failures.saturating_add(1);
                let result = match caught(|| run(firing)) {
                    Ok(result) => result.map_err(Fault::Failed),
                    Err(panic) => Err(Fault::Panicked(panic)),
                };
                let again = result.is_err() && !firing.stopped;
                if result.is_err() {
                    *failures = firing.attempt;
                }
                let wait = again.then(|| backoff.wait(*failures)).flatten();
                Ended {
                    again: wait.map(|wait| end().saturating_add(wait)),
                    result,
                }
            }
        }
    }

    /// Whom it wakes, if it is one that is kept.
    pub(super) fn kept(&self) -> Option<&Waker> {
        match &self.body {
            #[cfg(feature = "typed")]
            Body::Kept(waker) => Some(waker),
            Body::Once(_) | Body::Every { .. } | Body::Repeat(_) | Body::Fallible { .. } => None,
        }
    }

    /// Takes note of the deadline for which it fires. If somebody has moved it, it counts from there.
    pub(super) fn due(&mut self, deadline: Tick, resolution: Resolution) {
        if let Body::Every { nominal, armed, .. } = &mut self.body {
            if *armed != deadline {
                *nominal = resolution.start_of(deadline);
            }
        }
    }

    /// Takes note of the deadline for which the runtime arms it.
    pub(super) fn armed_for(&mut self, deadline: Tick) {
        if let Body::Every { armed, .. } = &mut self.body {
            *armed = deadline;
        }
    }

    /// Lets the gauge show a fallible timer for as long as it waits for another attempt.
    pub(super) fn remember_failing(&mut self, again: bool, gauge: &Gauge) {
        if let Body::Fallible { failing, .. } = &mut self.body {
            if !again {
                *failing = None;
            } else if failing.is_none() {
                *failing = Some(gauge.one_more());
            }
        }
    }

    /// How often it has failed.
    pub(super) fn failures(&self) -> u32 {
        match &self.body {
            Body::Fallible { failures, .. } => *failures,
            Body::Once(_) | Body::Every { .. } | Body::Repeat(_) => 0,
            #[cfg(feature = "typed")]
            Body::Kept(_) => 0,
        }
    }
}

impl Body {
    /// When a periodic callback is due again that began and returned at these times.
    fn next(&mut self, began: Timestamp, ended: Timestamp) -> Option<Timestamp> {
        let Self::Every {
            period,
            missed,
            nominal,
            skipped,
            ..
        } = self
        else {
            return None;
        };
        let (next, over) = missed.next(*nominal, *period, ended.max(began));
        *nominal = next;
        *skipped = over;
        Some(*nominal)
    }
}

impl Missed {
    /// When a timer is due next that should have fired at `nominal` and was served by `now`; and how
    /// many times it passes over.
    pub(super) fn next(
        self,
        nominal: Timestamp,
        period: Duration,
        now: Timestamp,
    ) -> (Timestamp, u64) {
        match self {
            Self::Burst => (nominal.saturating_add(period), 0),
            Self::Delay => (now.saturating_add(period), 0),
            Self::Skip => in_step(nominal, period, now),
        }
    }
}

/// The first multiple of `period` after `start` that is later than `now`, and how many before it
/// are not later.
fn in_step(start: Timestamp, period: Duration, now: Timestamp) -> (Timestamp, u64) {
    let nanos = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX).max(1);
    let over = now.as_nanos().saturating_sub(start.as_nanos()) / nanos;
    let next = over
        .checked_add(1)
        .and_then(|periods| periods.checked_mul(nanos))
        .and_then(|span| start.as_nanos().checked_add(span));
    (next.map_or(Timestamp::NEVER, Timestamp::from_nanos), over)
}

/// Runs somebody's code and catches its panic. What it panicked with is to be [discarded](discard).
///
/// What it leaves half done is its own: nothing of the runtime is borrowed by it.
pub(super) fn caught<R>(run: impl FnOnce() -> R) -> std::thread::Result<R> {
    catch_unwind(AssertUnwindSafe(run))
}

/// Drops what somebody's code panicked with, which is somebody's code as well. What that panics
/// with, in turn, is leaked: it has had its chance.
pub(super) fn discard(payload: Box<dyn core::any::Any + Send>) {
    if let Err(again) = caught(|| drop(payload)) {
        core::mem::forget(again);
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("label", &self.label)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    //! Properties: a job is as small as an entry's line allows; being in step is what counting says.

    use alloc::vec::Vec;

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_job_leaves_an_entry_of_the_wheel_at_one_cache_line() {
        assert_eq!(size_of::<Job>(), 16);
    }

    proptest! {
        #[test]
        fn a_timer_in_step_is_due_at_the_next_multiple(
            start in 0u64..1000, period in 1u64..50, past in 0u64..1000,
        ) {
            let now = start + past;
            let (next, over) = in_step(
                Timestamp::from_nanos(start),
                Duration::from_nanos(period),
                Timestamp::from_nanos(now),
            );
            let steps: Vec<_> = (1..).map(|n| start + n * period).take_while(|at| *at <= now).collect();
            prop_assert_eq!(over as usize, steps.len());
            prop_assert_eq!(next.as_nanos(), start + (steps.len() as u64 + 1) * period);
        }
    }
}
