//! Pausing, shutting down, and waiting for what still runs.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::task::Waker;
use core::time::Duration;

use super::inside::Inside;
use super::job::{Call, Job};
use super::{Shared, Timers, WaitError, inside};
use crate::shared::mutant::mutant;
use crate::{Ticks, TimerKey, Timestamp};

/// What becomes of the timers of a runtime that is shut down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shutdown {
    /// They are dropped, by the caller.
    Drop,
    /// They are handed back to the caller.
    HandBack,
    /// Those that are due fire; then the rest is dropped, by whoever drives.
    FireDue,
}

/// A callback that was handed back by a [shutdown](Shutdown::HandBack).
#[must_use = "the callback has not run"]
pub struct Unfired {
    shared: Arc<Shared>,
    key: TimerKey,
    deadline: Timestamp,
    call: Box<Call>,
}

// === impl Timers ===

impl Timers {
    /// Lets nothing fire until it is [resumed](Self::resume). Time goes on, and so does everything
    /// else: timers may be armed and cancelled. Returns `true` if this call has paused it.
    ///
    /// A callback that is running, or just about to, is not stopped. Futures are not woken either; one that is
    /// polled all the same is ready if its time has come.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tickwheel::{ManualClock, Timers};
    ///
    /// let clock = ManualClock::new();
    /// let timers = Timers::builder().clock(clock.clone()).build_hand_driven()?;
    /// timers.arm(Duration::from_secs(1), |_| {})?;
    /// assert!(timers.pause());
    /// clock.advance(Duration::from_secs(2));
    /// assert_eq!(timers.turn()?.fired, 0);
    /// assert!(timers.resume());
    /// assert_eq!(timers.turn()?.fired, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pause(&self) -> bool {
        self.shared.gate.pause(true)
    }

    /// Lets timers fire again; what became due meanwhile does so now, by batches. Returns
    /// `true` if this call has resumed it.
    pub fn resume(&self) -> bool {
        let was = self.shared.gate.pause(false);
        if was {
            self.shared.call_driver();
        }
        was
    }

    /// Whether nothing fires because of a [`pause`](Self::pause).
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.shared.gate.look().is_paused()
    }

    /// Ends the runtime: from now on nothing can be armed, and what is armed is dropped, handed back, or
    /// fires if it is due.
    ///
    /// May be called from anywhere, callbacks included, and by several at once: the first decides, and
    /// all others do nothing. Each timer has exactly one outcome: an [`arm`](Self::arm) that runs at
    /// the same time is refused, or its timer is among those that this concerns. Futures end with
    /// [`ArmError::ShutDown`](super::ArmError::ShutDown), unless their time had come.
    ///
    /// It does not wait. A callback that is running, or just about to, runs to its end; a
    /// periodic one is not armed again, and a fallible one not tried again. [`wait`](Self::wait) waits for all that. With
    /// [`FireDue`](Shutdown::FireDue) what is due fires in this call, or in the runtime's thread if it has one.
    ///
    /// Returns the callbacks for [`HandBack`](Shutdown::HandBack), in no particular order, and nothing
    /// otherwise. Callbacks that were not handed back are dropped, one by one; their panics are
    /// caught and counted.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tickwheel::{Shutdown, Timers};
    ///
    /// let timers = Timers::new()?;
    /// timers.options().label("upload").arm(Duration::from_secs(60), |_| println!("uploaded"))?;
    /// for unfired in timers.shutdown(Shutdown::HandBack) {
    ///     assert_eq!(unfired.label(), "upload");
    ///     unfired.run(); // now, then
    /// }
    /// timers.wait(Duration::from_secs(10))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn shutdown(&self, mode: Shutdown) -> Vec<Unfired> {
        self.shared.shut_down(mode)
    }

    /// Whether it has been shut down.
    #[must_use]
    pub fn is_shut_down(&self) -> bool {
        self.shared.gate.look().is_closed()
    }

    /// Waits until nothing runs any more of a runtime that was shut down: no callback, here or in an
    /// executor, and no thread.
    ///
    /// # Errors
    ///
    /// [`WaitError::TimedOut`] if that takes longer than `timeout`;
    /// [`WaitError::FromCallback`] at once from a callback, for which it would wait;
    /// [`WaitError::NotShutDown`].
    pub fn wait(&self, timeout: Duration) -> Result<(), WaitError> {
        if self.shared.wheel.is_driven_here() || inside::is_inside(&self.shared) {
            return Err(WaitError::FromCallback);
        }
        self.shared.phase.wait(timeout)
    }
}

// === impl Shared ===

impl Shared {
    pub(super) fn shut_down(self: &Arc<Self>, mode: Shutdown) -> Vec<Unfired> {
        let fire_due = mode == Shutdown::FireDue;
        let mut rest = Vec::new();
        // Until the end, also if somebody's code panics that is called here: it may not wait for this.
        let closing = Closing {
            shared: self,
            _inside: inside::enter(self, None),
        };
        self.phase.run_begins();
        if self.gate.close(fire_due) {
            // See `arm_job`.
            if !mutant!(SealSkipped) {
                self.wheel.seal();
            }
            self.phase.close(fire_due);
            self.event_shut_down(mode);
            match mode {
                Shutdown::Drop => self.take_rest(drop),
                Shutdown::HandBack => self.take_rest(|unfired| rest.push(unfired)),
                Shutdown::FireDue if self.has_thread => {}
                Shutdown::FireDue => self.fire_due(),
            }
            if !mutant!(EndUntold) {
                self.call_driver();
            }
        }
        drop(closing);
        rest
    }

    /// Fires what is due when this begins, and drops the rest. If somebody else is driving, or this
    /// thread in whose callback this is called, that is left to it: see `Phase::run_ends`.
    pub(super) fn fire_due(self: &Arc<Self>) {
        let due = self.resolution.now(self.now());
        // The first to end may have been begun before, and passes over what was armed since.
        let mut ended = 0;
        while ended < 2 && self.gate.look().fires_due() {
            // A turn under way is told at its end. Who only looks is waited for.
            let retry = self.pulse.turn().is_none() && !self.wheel.is_driven_here();
            match self.batch(self.now(), due, self.pace.batch(), retry) {
                Err(_) => return,
                Ok(turned) => ended += u32::from(!turned.more),
            }
        }
        self.take_rest(drop);
        self.phase.due_ends();
    }

    /// Takes out everything that is armed, after the gate was closed and the wheel sealed.
    fn take_rest(self: &Arc<Self>, mut each: impl FnMut(Unfired)) {
        loop {
            for (key, deadline, job) in self.wheel.drain() {
                self.counters.returned.add(1);
                match job {
                    Job::Wake(waker) => drop(self.guarded(key, "", || waker.wake())),
                    Job::Call(call) if call.kept().is_some() => {
                        let waker = call.kept().cloned();
                        self.guarded(key, "", || waker.into_iter().for_each(Waker::wake));
                        self.guarded(key, "", || drop(call));
                    }
                    Job::Call(call) => {
                        let unfired = Unfired {
                            shared: Arc::clone(self),
                            key,
                            deadline: self.resolution.start_of(deadline),
                            call,
                        };
                        self.guarded(key, "", || each(unfired));
                    }
                }
            }
            if self.wheel.is_empty() || mutant!(RestHurried) {
                return;
            }
            // Somebody is in the middle of arming.
            self.wheel.pause();
        }
    }
}

/// A shutdown, until it is done.
struct Closing<'a> {
    shared: &'a Shared,
    _inside: Inside,
}

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.shared.phase.run_ends();
    }
}

// === impl Unfired ===

impl Unfired {
    /// The key it was armed under.
    #[must_use]
    pub fn key(&self) -> TimerKey {
        self.key
    }

    /// The label it was armed with, or an empty one.
    #[must_use]
    pub fn label(&self) -> &'static str {
        self.call.label
    }

    /// The time it was armed for, rounded up to a tick; [`Timestamp::NEVER`] if it was suspended.
    #[must_use]
    pub fn deadline(&self) -> Timestamp {
        self.deadline
    }

    /// Runs the callback, once, here and now. Its panic is caught, counted and reported.
    pub fn run(mut self) {
        let deadline = self.shared.resolution.deadline(self.deadline);
        let began = self.shared.now();
        // It is over: there is nothing to call it again.
        let _ = self
            .shared
            .run_call(self.key, deadline, Ticks::ZERO, &mut self.call, began);
    }
}

impl fmt::Debug for Unfired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unfired")
            .field("key", &self.key)
            .field("label", &self.label())
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}
