//! What the driver does with a timer that is due.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::task::Waker;

use super::Shared;
use super::executor::Run;
use super::firing::Firing;
use super::hooks::{Failure, Overrun, Panicked, Pending, Verdict};
use super::job::{Call, Ended, Fault, Job, caught, discard};
use super::pace::Allowance;
use crate::{Expired, SharedTurn, Tick, Ticks, TimerKey, Timestamp};

/// What the driver does at a time.
pub(super) struct Batch {
    /// The last reading of the clock.
    now: Timestamp,
    /// Whether that was made since the batch began.
    is_fresh: bool,
    /// How many may fire.
    most: usize,
    /// When it should be over.
    until: Timestamp,
    /// Callbacks that were called or handed over, and futures that were woken.
    fired: usize,
}

// === impl Batch ===

impl Batch {
    pub(super) fn new(now: Timestamp, allowance: Allowance) -> Self {
        Self {
            now,
            is_fresh: false,
            most: allowance.firings,
            until: now.saturating_add(allowance.time),
            fired: 0,
        }
    }

    /// How many have fired. What was vetoed or postponed has not.
    pub(super) fn fired(&self) -> usize {
        self.fired
    }

    /// When it ended, or the last callback of it.
    pub(super) fn now(&self) -> Timestamp {
        self.now
    }
}

// === impl Shared ===

impl Shared {
    /// Fires a timer, or does whatever else is to be done with one that is due.
    pub(super) fn fire(
        self: &Arc<Self>,
        turn: &mut SharedTurn<'_, Job>,
        expired: Expired<Job>,
        batch: &mut Batch,
    ) {
        if !batch.is_fresh {
            // What was due has been filed, which may have taken its time.
            batch.now = self.now();
            batch.is_fresh = true;
        }
        match expired.value {
            Job::Wake(waker) => {
                batch.fired += 1;
                self.late(expired.deadline, expired.tolerance, batch.now);
                self.counters.fired.add(1);
                self.guarded(expired.key, "", || waker.wake());
                batch.now = self.now();
            }
            Job::Call(call) => {
                let due = Expired {
                    key: expired.key,
                    deadline: expired.deadline,
                    tolerance: expired.tolerance,
                    value: call,
                };
                match due.value.kept().cloned() {
                    Some(waker) => self.fire_kept(turn, due, waker, batch),
                    None => self.fire_call(turn, due, batch),
                }
            }
        }
        let is_full = batch.now >= batch.until || batch.fired >= batch.most;
        if is_full || !self.gate.look().lets_fire() {
            turn.stop();
        }
    }

    /// Wakes who is kept. Its timer is armed before, so that whoever is woken finds it to be moved, and its place in a
    /// full runtime is taken by nobody else.
    fn fire_kept(
        self: &Arc<Self>,
        turn: &mut SharedTurn<'_, Job>,
        due: Expired<Box<Call>>,
        waker: Waker,
        batch: &mut Batch,
    ) {
        batch.fired += 1;
        self.late(due.deadline, due.tolerance, batch.now);
        self.counters.fired.add(1);
        let key = due.key;
        self.call_again(turn, due, Timestamp::NEVER);
        self.guarded(key, "", || waker.wake());
        batch.now = self.now();
    }

    fn fire_call(
        self: &Arc<Self>,
        turn: &mut SharedTurn<'_, Job>,
        mut due: Expired<Box<Call>>,
        batch: &mut Batch,
    ) {
        let verdict = self.verdict(&due, batch.now);
        if self.hooks.before_fire.is_some() {
            batch.now = self.now();
        }
        let began = batch.now;
        batch.fired += usize::from(verdict == Verdict::Fire);
        match (verdict, &self.executor) {
            (Verdict::Fire, None) => {
                let Expired {
                    key,
                    deadline,
                    tolerance,
                    value,
                } = &mut due;
                let again = self.run_call(*key, *deadline, *tolerance, value, began);
                if let Some(at) = again {
                    self.call_again(turn, due, at);
                } else {
                    self.guarded(due.key, due.value.label, || drop(due.value));
                }
                batch.now = self.now();
            }
            (Verdict::Fire, Some(executor)) => {
                let (key, label) = (due.key, due.value.label);
                let run = Run::new(self, turn.defer(), due);
                self.guarded(key, label, || executor.execute(run));
                batch.now = self.now();
            }
            (Verdict::Veto, _) => {
                self.counters.vetoed.add(1);
                self.guarded(due.key, due.value.label, || drop(due.value));
            }
            (Verdict::Postpone(span), _) => {
                self.counters.postponed.add(1);
                self.call_again(turn, due, began.saturating_add(span));
            }
        }
    }

    /// What the hook says about a callback that is due.
    fn verdict(&self, due: &Expired<Box<Call>>, now: Timestamp) -> Verdict {
        let Some(hook) = &self.hooks.before_fire else {
            return Verdict::Fire;
        };
        let pending = Pending {
            key: due.key,
            label: due.value.label,
            deadline: self.resolution.start_of(due.deadline),
            now,
        };
        // A hook that panics has not said no.
        let verdict = self.guarded(due.key, due.value.label, || hook(pending));
        verdict.unwrap_or(Verdict::Fire)
    }

    /// Runs a callback, and counts and reports what came of it. Says when it is to be called again.
    pub(super) fn run_call(
        self: &Arc<Self>,
        key: TimerKey,
        deadline: Tick,
        tolerance: Ticks,
        call: &mut Call,
        began: Timestamp,
    ) -> Option<Timestamp> {
        self.late(deadline, tolerance, began);
        self.counters.fired.add(1);
        call.due(deadline, self.resolution);
        let mut firing = Firing {
            shared: self,
            key,
            label: call.label,
            deadline: self.resolution.start_of(deadline),
            now: began,
            skipped: 0,
            attempt: 1,
            stopped: false,
        };
        let Ended { again, result } = call.run(&mut firing, || self.now());
        // Shut down, it is not called again.
        let again = again.filter(|_| !self.gate.look().is_closed());
        if let Err(fault) = result {
            self.fault(key, call, again, &fault);
            // What somebody fails or panics with may panic when it is dropped.
            self.guarded(key, call.label, || drop(fault));
        }
        call.remember_failing(again.is_some(), &self.counters.failing);
        if let Some((bound, overran)) = &self.hooks.overran {
            let took = self.now().saturating_since(began);
            if took > *bound {
                self.counters.overruns.add(1);
                let label = call.label;
                let overrun = Overrun { key, label, took };
                self.event_overran(&overrun);
                self.guarded(key, label, || overran(overrun));
            }
        }
        again
    }

    fn fault(&self, key: TimerKey, call: &Call, again: Option<Timestamp>, fault: &Fault) {
        let label = call.label;
        if let Fault::Panicked(payload) = fault {
            self.panicked(key, label, &**payload);
        }
        let attempt = call.failures();
        if attempt == 0 {
            return;
        }
        self.counters.failures.add(1);
        if again.is_none() {
            self.counters.gave_up.add(1);
        }
        let error = match fault {
            Fault::Panicked(_) => None,
            Fault::Failed(error) => Some(&**error),
        };
        let failure = Failure {
            key,
            label,
            attempt,
            again,
            error,
        };
        self.event_failed(&failure);
        if let Some(hook) = &self.hooks.failed {
            self.guarded(key, label, || hook(failure));
        }
    }

    fn panicked(&self, key: TimerKey, label: &'static str, payload: &(dyn core::any::Any + Send)) {
        self.counters.panics.add(1);
        let panicked = Panicked {
            key,
            label,
            payload,
        };
        self.event_panicked(&panicked);
        if let Some(hook) = &self.hooks.panicked {
            // What a hook for panics panics with has nobody left to go to.
            if let Err(again) = caught(|| hook(panicked)) {
                self.counters.panics.add(1);
                discard(again);
            }
        }
    }

    /// Runs somebody's code; a panic is counted and reported.
    pub(super) fn guarded<R>(
        &self,
        key: TimerKey,
        label: &'static str,
        run: impl FnOnce() -> R,
    ) -> Option<R> {
        match caught(run) {
            Ok(result) => Some(result),
            Err(payload) => {
                self.panicked(key, label, &*payload);
                discard(payload);
                None
            }
        }
    }

    /// Runs somebody's code that belongs to no timer; a panic is counted.
    pub(super) fn caught<R>(&self, run: impl FnOnce() -> R) -> Option<R> {
        match caught(run) {
            Ok(result) => Some(result),
            Err(payload) => {
                self.counters.panics.add(1);
                discard(payload);
                None
            }
        }
    }

    // --- firing again ---

    fn call_again(
        &self,
        turn: &mut SharedTurn<'_, Job>,
        mut due: Expired<Box<Call>>,
        at: Timestamp,
    ) {
        let deadline = self.resolution.deadline(at);
        due.value.armed_for(deadline);
        let again = Expired {
            key: due.key,
            deadline,
            tolerance: due.tolerance,
            value: Job::Call(due.value),
        };
        self.again(turn, again);
    }

    /// Arms a timer that was taken once more, for the deadline it has, under its key.
    fn again(&self, turn: &mut SharedTurn<'_, Job>, expired: Expired<Job>) {
        let (key, deadline) = (expired.key, expired.deadline);
        // Shut down, or cancelled by its callback, it is over.
        if self.gate.look().is_closed() {
            self.counters.unfired.add(1);
            self.guarded(key, "", || drop(expired));
        } else {
            match turn.rearm_expired(expired, deadline) {
                Ok(key) => self.recheck(key),
                Err(revoked) => drop(self.guarded(key, "", || drop(revoked))),
            }
        }
    }

    fn late(&self, deadline: Tick, tolerance: Ticks, now: Timestamp) {
        let due = self.resolution.start_of(deadline.coalesce(tolerance));
        self.counters.lateness.record(now.saturating_since(due));
    }
}
