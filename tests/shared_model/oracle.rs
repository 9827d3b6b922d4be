//! What the oracle knows of each timer, and what it says may happen to it.

use std::collections::BTreeMap;

use tickwheel::{Expired, Tick, Ticks, TimerKey};

#[derive(Clone, Debug)]
pub(crate) struct Timer {
    pub(crate) key: TimerKey,
    pub(crate) deadline: Tick,
    pub(crate) tolerance: Ticks,
    pub(crate) due: u64,
    claim: Claim,
}

/// What a timer that is due may expect of the turn under way, or of the next one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Claim {
    /// It fires in it.
    Must,
    /// It may fire in it or wait for the next: armed for the past between two calls of a turn
    /// whose budget had run out; or moved there from a tick that the turn may come to.
    May,
    /// Armed for the past by a callback: not in this call, unless it took over the entry of one
    /// that was cancelled.
    Not,
}

/// Where time stands.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Rest,
    /// Within a call: callbacks run.
    Call,
    /// Between two calls, the budget of the first of which ran out.
    Between,
}

#[derive(Debug)]
pub(crate) struct Oracle {
    /// Live timers by value.
    pub(crate) timers: BTreeMap<u64, Timer>,
    /// Keys that must be refused for ever.
    pub(crate) stale: Vec<TimerKey>,
    /// Arms and re-arms so far: each may leave a trace that costs a wake-up.
    pub(crate) moves: u64,
    /// Timers that were cancelled: the wheel may still come by where each was, and find another.
    traces: u64,
    /// Whether something was armed for the past since the turn began; where it went since
    /// does not matter.
    waits: bool,
    phase: Phase,
}

impl Oracle {
    pub(crate) fn new() -> Self {
        Self {
            timers: BTreeMap::new(),
            stale: Vec::new(),
            moves: 0,
            traces: 0,
            waits: false,
            phase: Phase::Rest,
        }
    }

    /// A value that no timer has had before.
    pub(crate) fn next_value(&self) -> u64 {
        self.moves
    }

    pub(crate) fn pick(&self, which: usize) -> Option<u64> {
        let nth = which % self.timers.len().max(1);
        self.timers.keys().nth(nth).copied()
    }

    /// One of those that are held at [`Tick::NEVER`].
    pub(crate) fn pick_held(&self, which: usize) -> Option<u64> {
        let held: Vec<u64> = self
            .timers
            .iter()
            .filter(|(_, timer)| timer.deadline.is_never())
            .map(|(value, _)| *value)
            .collect();
        held.get(which % held.len().max(1)).copied()
    }

    pub(crate) fn armed(
        &mut self,
        value: u64,
        key: TimerKey,
        deadline: Tick,
        tolerance: Ticks,
        cursor: Tick,
    ) {
        self.moves += 1;
        let due = deadline.coalesce(tolerance).get();
        let claim = self.claim(due, cursor);
        let timer = Timer {
            key,
            deadline,
            tolerance,
            due,
            claim,
        };
        let before = self.timers.insert(value, timer);
        assert!(before.is_none(), "{value} was armed already: {before:?}");
    }

    pub(crate) fn moved(&mut self, value: u64, deadline: Tick, cursor: Tick) {
        self.moves += 1;
        let was = &self.timers[&value];
        let due = deadline.coalesce(was.tolerance).get();
        let met_anyhow = was.claim != Claim::Not;
        let claim = match self.claim(due, cursor) {
            Claim::Not if met_anyhow => Claim::May,
            claim @ (Claim::Must | Claim::May | Claim::Not) => claim,
        };
        let timer = self.timers.get_mut(&value).unwrap();
        (timer.deadline, timer.due, timer.claim) = (deadline, due, claim);
    }

    /// A timer is cancelled, and its key is stale.
    pub(crate) fn gone(&mut self, value: u64) -> Timer {
        let timer = self.timers.remove(&value).unwrap();
        self.traces += 1;
        self.stale.push(timer.key);
        timer
    }

    pub(crate) fn all_gone(&mut self) {
        self.traces += self.timers.len() as u64;
        self.stale
            .extend(self.timers.values().map(|timer| timer.key));
        self.timers.clear();
    }

    /// The claim of what is armed now, with time at `cursor`.
    fn claim(&mut self, due: u64, cursor: Tick) -> Claim {
        if due > cursor.get() || self.phase == Phase::Rest {
            return Claim::Must;
        }
        self.waits = true;
        match self.phase {
            Phase::Call => Claim::Not,
            Phase::Between | Phase::Rest => Claim::May,
        }
    }

    /// A call begins. A bounded one goes on with the turn there is; any other is a new one.
    pub(crate) fn begin(&mut self, bounded: bool) {
        let goes_on = bounded && self.phase == Phase::Between;
        self.phase = Phase::Call;
        self.waits &= goes_on;
        for timer in self.timers.values_mut() {
            timer.claim = match timer.claim {
                Claim::Not | Claim::May if goes_on => Claim::May,
                Claim::Must | Claim::Not | Claim::May => Claim::Must,
            };
        }
    }

    /// A timer fires at `tick`, in a call that began at `begun` for `target`.
    pub(crate) fn fires(&mut self, tick: u64, begun: u64, target: u64, expired: &Expired<u64>) {
        let value = expired.value;
        let Some(timer) = self.timers.get(&value) else {
            panic!("{value} fired at {tick}, but is not armed");
        };
        let said = (expired.key, expired.deadline, expired.tolerance);
        let armed = (timer.key, timer.deadline, timer.tolerance);
        assert_eq!(said, armed, "{value} fired as the first, not as the second");
        assert!(
            timer.due <= tick,
            "{value} fired early at {tick}: {timer:?}"
        );
        assert!(
            tick <= target.max(begun),
            "{value} fired at {tick}, past {target}"
        );
        if timer.claim == Claim::Not {
            assert!(self.traces > 0, "{value} did not wait: {timer:?}");
            self.traces -= 1;
        }
        let turn_of = |timer: &Timer| timer.due.max(begun);
        if timer.claim == Claim::Must {
            assert_eq!(
                tick,
                turn_of(timer),
                "{value} fired at the first: {timer:?}"
            );
        }
        let passed = self
            .timers
            .iter()
            .find(|(_, other)| other.claim == Claim::Must && turn_of(other) < tick);
        assert!(
            passed.is_none(),
            "{value} fired at {tick}, before {passed:?}"
        );
    }

    /// A call for `target` ends; if it is done, nothing may be left that had to fire.
    pub(crate) fn end(&mut self, done: bool, target: u64) {
        self.phase = if done { Phase::Rest } else { Phase::Between };
        let left = self.timers.iter().find(|(_, timer)| {
            timer.claim == Claim::Must && timer.due <= target && timer.due != u64::MAX
        });
        assert!(!done || left.is_none(), "not fired by {target}: {left:?}");
    }

    /// Whether the next turn may have something to do at the very tick where this one ended.
    pub(crate) fn may_wait(&self) -> bool {
        self.waits
    }

    /// The earliest tick at which anything is due.
    pub(crate) fn earliest(&self) -> Option<u64> {
        let due = self.timers.values().map(|timer| timer.due);
        due.filter(|due| *due != u64::MAX).min()
    }
}
