//! Where callbacks run, if not in the driver's thread.

use super::job::{Call, Job};
use super::{Shared, inside};
use crate::shared::Deferred;
use crate::{Expired, TimerKey};
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;

/// A thread pool or the like: takes callbacks that are due, and runs each of them, somewhere.
///
/// Any `Fn(Run)` is one. It is called by the driver, and should be quick; what it does not run
/// in time makes callbacks late, not the driver. A full queue is its own affair: it may run the
/// callback at once, or drop it.
///
/// ```
/// use std::sync::mpsc;
/// use std::time::Duration;
/// use tickwheel::{ManualClock, Run, Timers};
///
/// let (queue, work) = mpsc::channel::<Run>();
/// let clock = ManualClock::new();
/// let timers = Timers::builder()
///     .clock(clock.clone())
///     .executor(move |run| drop(queue.send(run)))
///     .build_hand_driven()?;
/// let key = timers.arm(Duration::from_millis(5), |_| println!("in another thread"))?;
/// timers.advance_to_next(&clock); // queues it
///
/// assert!(matches!(timers.cancel(key), tickwheel::Cancel::Running)); // no longer to be stopped
/// std::thread::spawn(move || work.recv().unwrap().run()).join().unwrap();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Executor: Send + Sync {
    /// Runs the callback, or sees to it that it is run.
    fn execute(&self, run: Run);
}

impl<F: Fn(Run) + Send + Sync> Executor for F {
    fn execute(&self, run: Run) {
        self(run);
    }
}

/// A callback that is due, on its way to where it runs.
///
/// Until it has run its timer counts as [running](crate::Cancel::Running): it can no longer be
/// cancelled, but waited for. A periodic timer is armed again when this has run, so that no
/// timer runs twice at a time. Dropped without having run, the callback is gone, and its timer is
/// over.
#[must_use = "dropped, it does not run"]
pub struct Run {
    /// There until this is dropped.
    shared: Option<Arc<Shared>>,
    /// Empty once it has run.
    due: Option<(Deferred, Expired<Box<Call>>)>,
}

// === impl Run ===

impl Run {
    pub(super) fn new(
        shared: &Arc<Shared>,
        deferred: Deferred,
        expired: Expired<Box<Call>>,
    ) -> Self {
        shared.phase.run_begins();
        Self {
            shared: Some(Arc::clone(shared)),
            due: Some((deferred, expired)),
        }
    }

    /// The key of the timer.
    #[must_use]
    pub fn key(&self) -> Option<TimerKey> {
        self.due.as_ref().map(|(_, expired)| expired.key)
    }

    /// The label of the timer, or an empty one: for sorting callbacks into queues.
    #[must_use]
    pub fn label(&self) -> &'static str {
        self.due
            .as_ref()
            .map_or("", |(_, expired)| expired.value.label)
    }

    /// Runs the callback, here and now. Its panic is caught, counted and reported.
    pub fn run(mut self) {
        let Some((deferred, expired)) = self.due.take() else {
            return;
        };
        let Expired {
            key,
            deadline,
            tolerance,
            mut value,
        } = expired;
        let Some(shared) = &self.shared else {
            return;
        };
        // Until the end: destructors are somebody's code too.
        let _inside = inside::enter(shared, Some(key));
        let began = shared.now();
        let again = shared.run_call(key, deadline, tolerance, &mut value, began);
        match again {
            Some(at) if !shared.gate.look().is_closed() => {
                let at = shared.resolution.deadline(at);
                value.armed_for(at);
                let again = Expired {
                    key,
                    deadline,
                    tolerance,
                    value: Job::Call(value),
                };
                match shared.wheel.finish_rearmed(deferred, again, at) {
                    Ok(key) => shared.recheck(key),
                    // It was cancelled meanwhile, and is over.
                    Err(revoked) => drop(shared.guarded(key, "", || drop(revoked))),
                }
            }
            _ => {
                // Before others take the entry.
                shared.guarded(key, value.label, || drop(value));
                shared.wheel.finish(deferred);
            }
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let Some(shared) = self.shared.take() else {
            return;
        };
        if let Some((deferred, expired)) = self.due.take() {
            let _inside = inside::enter(&shared, Some(expired.key));
            shared.counters.abandoned.add(1);
            shared.guarded(expired.key, expired.value.label, || drop(expired.value));
            shared.wheel.finish(deferred);
        }
        // Whoever waits for the end finds nothing of the runtime kept here.
        let phase = Arc::clone(&shared.phase);
        drop(shared);
        phase.run_ends();
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("key", &self.key())
            .field("label", &self.label())
            .finish_non_exhaustive()
    }
}
