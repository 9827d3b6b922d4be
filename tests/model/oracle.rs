//! The oracle, and the wheel it is compared with.

use std::collections::BTreeMap;

use tickwheel::{Expired, Tick, Ticks, TimerKey, Wheel};

use crate::program::Op;

/// What the oracle knows of a timer.
#[derive(Clone, Debug)]
pub(crate) struct Timer {
    key: TimerKey,
    deadline: Tick,
    tolerance: Ticks,
    due: u64,
    order: u64,
    /// Neither re-armed nor tolerant: keeps its place among equal ticks.
    ordered: bool,
}

pub(crate) struct Model<const BITS: u32> {
    wheel: Wheel<u64, BITS>,
    /// Live timers by value.
    timers: BTreeMap<u64, Timer>,
    /// Keys that must be refused for ever.
    stale: Vec<TimerKey>,
    next_value: u64,
}

impl<const BITS: u32> Model<BITS> {
    pub(crate) fn new(start: u64) -> Self {
        let wheel = Wheel::starting_at(Tick::new(start));
        let mut model = Self {
            wheel,
            timers: BTreeMap::new(),
            stale: Vec::new(),
            next_value: 0,
        };
        model.arm(Tick::new(u64::MAX - 1), Ticks::ZERO); // the very far one
        model
    }

    pub(crate) fn now(&self) -> u64 {
        self.wheel.now().get()
    }

    pub(crate) fn arm(&mut self, deadline: Tick, tolerance: Ticks) {
        let value = self.next_value;
        self.next_value += 1;
        let key = self.wheel.arm_tolerant(deadline, tolerance, value);
        let due = deadline.coalesce(tolerance).get();
        let ordered = tolerance == Ticks::ZERO;
        self.timers.insert(
            value,
            Timer {
                key,
                deadline,
                tolerance,
                due,
                order: value,
                ordered,
            },
        );
    }

    pub(crate) fn pick(&self, which: usize) -> Option<u64> {
        let nth = which % self.timers.len().max(1);
        self.timers.keys().nth(nth).copied()
    }

    pub(crate) fn rearm(&mut self, which: usize, deadline: Tick) {
        let Some(value) = self.pick(which) else {
            return;
        };
        let timer = self.timers.get_mut(&value).unwrap();
        timer.deadline = deadline;
        timer.due = deadline.coalesce(timer.tolerance).get();
        timer.ordered = false;
        assert_eq!(
            self.wheel.rearm(timer.key, deadline),
            Ok(()),
            "re-arm of live {value}"
        );
    }

    /// The timers due by `target`, in the order in which they must fire where that is fixed.
    pub(crate) fn due_by(&self, target: u64) -> Vec<(u64, u64)> {
        let now = self.now();
        let mut due: Vec<_> = self
            .timers
            .iter()
            .filter(|(_, timer)| timer.due <= target && timer.due != u64::MAX)
            .map(|(value, timer)| (timer.due.max(now), timer.order, *value))
            .collect();
        due.sort_unstable();
        due.into_iter()
            .map(|(tick, _, value)| (tick, value))
            .collect()
    }

    /// Compares what fired with what was due, and forgets it.
    pub(crate) fn settle(&mut self, fired: &[(u64, Expired<u64>)], due: &[(u64, u64)]) {
        let ticks: Vec<u64> = fired.iter().map(|(tick, _)| *tick).collect();
        assert!(ticks.is_sorted(), "out of order of tick: {ticks:?}");
        let mut got: Vec<(u64, u64)> = fired
            .iter()
            .map(|(tick, expired)| (*tick, expired.value))
            .collect();
        let mut want = due.to_vec();
        let ordered = |pair: &(u64, u64)| self.timers[&pair.1].ordered;
        let got_order: Vec<_> = got.iter().copied().filter(ordered).collect();
        let want_order: Vec<_> = want.iter().copied().filter(ordered).collect();
        assert_eq!(got_order, want_order, "equal ticks out of order of arming");
        got.sort_unstable();
        want.sort_unstable();
        assert_eq!(got, want, "fired (tick, value), but due were the others");
        for (tick, expired) in fired {
            let timer = self.timers.remove(&expired.value).unwrap();
            assert!(
                *tick >= timer.due,
                "{} fired at {tick}, early: due {}",
                expired.value,
                timer.due
            );
            assert_eq!(
                (expired.key, expired.deadline),
                (timer.key, timer.deadline),
                "wrong key or deadline"
            );
            assert_eq!(expired.tolerance, timer.tolerance, "wrong tolerance");
            self.stale.push(timer.key);
        }
    }

    pub(crate) fn advance(&mut self, target: u64) {
        let due = self.due_by(target);
        let mut fired = Vec::new();
        let count = self.wheel.advance(Tick::new(target), |turn, expired| {
            fired.push((turn.now().get(), expired));
        });
        assert_eq!(count, fired.len(), "wrong count");
        self.settle(&fired, &due);
        let now = self.now();
        assert!(now >= target, "the wheel is at {now}, short of {target}");
        if let Some(next) = self.wheel.next_deadline() {
            assert!(
                next.get() > now,
                "after advance({target}) the next deadline is {next:?}"
            );
        }
    }

    pub(crate) fn advance_bounded(&mut self, target: u64, budget: usize) {
        let due = self.due_by(target);
        let mut fired = Vec::new();
        for calls in 0.. {
            let before = fired.len();
            let progress =
                self.wheel
                    .advance_bounded(Tick::new(target), budget, |turn, expired| {
                        fired.push((turn.now().get(), expired));
                    });
            assert_eq!(progress.fired(), fired.len() - before, "wrong count");
            assert!(
                progress.fired() <= budget.max(1),
                "{} fired on a budget of {budget}",
                progress.fired()
            );
            if progress.is_done() {
                break;
            }
            self.wheel.check();
            // Each call visits at least one; a timer is visited at most once per level and
            // once more for each re-arm.
            assert!(calls < 100_000, "no end after {calls} calls");
        }
        self.settle(&fired, &due);
    }

    pub(crate) fn poll(&mut self, target: u64) {
        let due = self.due_by(target);
        let mut fired = Vec::new();
        while let Some(expired) = self.wheel.poll(Tick::new(target)) {
            fired.push((self.wheel.now().get(), expired));
            self.wheel.check();
        }
        self.settle(&fired, &due);
    }

    pub(crate) fn forget_all(&mut self) {
        self.stale
            .extend(self.timers.values().map(|timer| timer.key));
        self.timers.clear();
    }

    pub(crate) fn step(&mut self, op: &Op) {
        let now = self.now();
        match *op {
            Op::Arm { after, tolerance } => {
                self.arm(Tick::new(now) + Ticks::new(after), Ticks::new(tolerance));
            }
            Op::ArmLike { which } => {
                let deadline = self
                    .pick(which)
                    .map_or(Tick::new(now), |value| self.timers[&value].deadline);
                self.arm(deadline, Ticks::ZERO);
            }
            Op::ArmPast { before } => self.arm(Tick::new(now.saturating_sub(before)), Ticks::ZERO),
            Op::ArmNever => self.arm(Tick::NEVER, Ticks::ZERO),
            Op::Cancel { which } => {
                let Some(value) = self.pick(which) else {
                    return;
                };
                let timer = self.timers.remove(&value).unwrap();
                assert_eq!(
                    self.wheel.cancel(timer.key),
                    Some(value),
                    "cancel of a live timer"
                );
                self.stale.push(timer.key);
            }
            Op::Rearm { which, after } => self.rearm(which, Tick::new(now) + Ticks::new(after)),
            Op::RearmNever { which } => self.rearm(which, Tick::NEVER),
            Op::RearmPast { which } => self.rearm(which, Tick::new(now / 2)),
            Op::Touch { which } => {
                let Some(value) = self.pick(which) else {
                    return;
                };
                let later = self.timers[&value].deadline + Ticks::new(1 + which as u64 % 300);
                self.rearm(which, later);
            }
            Op::Advance { by } => self.advance(now.saturating_add(by)),
            Op::AdvanceBounded { by, budget } => {
                self.advance_bounded(now.saturating_add(by), budget);
            }
            Op::AdvanceToNext => {
                if let Some(next) = self.wheel.next_deadline() {
                    self.advance(next.get());
                }
            }
            Op::AdvanceToWork => {
                if let Some(work) = self.wheel.next_work() {
                    let next = self.wheel.next_deadline();
                    assert!(
                        Some(work) <= next,
                        "work at {work:?} after the next deadline {next:?}"
                    );
                    self.advance(work.get());
                }
            }
            Op::Poll { by } => self.poll(now.saturating_add(by)),
            Op::Shrink => self.wheel.shrink_to_fit(),
            Op::Clear => {
                self.wheel.clear();
                self.forget_all();
                self.arm(Tick::new(u64::MAX - 1), Ticks::ZERO);
            }
        }
    }

    /// Compares everything that can be asked.
    pub(crate) fn compare(&mut self) {
        self.wheel.check();
        assert_eq!(self.wheel.len(), self.timers.len(), "length");
        for (value, timer) in &self.timers {
            assert_eq!(self.wheel.get(timer.key), Some(value), "value");
            assert_eq!(
                self.wheel.deadline(timer.key),
                Some(timer.deadline),
                "deadline of {value}"
            );
        }
        for key in self.stale.iter().rev().take(20) {
            assert!(!self.wheel.contains(*key), "a stale key is contained");
            assert_eq!(self.wheel.cancel(*key), None, "a stale key cancels");
            assert!(
                self.wheel.rearm(*key, Tick::ZERO).is_err(),
                "a stale key re-arms"
            );
        }
        let mut listed: Vec<_> = self
            .wheel
            .iter()
            .map(|(key, at, value)| (*value, key, at))
            .collect();
        listed.sort_unstable_by_key(|(value, ..)| *value);
        let want: Vec<_> = self
            .timers
            .iter()
            .map(|(value, timer)| (*value, timer.key, timer.deadline))
            .collect();
        assert_eq!(listed, want, "iteration");
        let earliest = self
            .timers
            .values()
            .map(|timer| timer.due)
            .filter(|due| *due != u64::MAX)
            .min();
        match (self.wheel.next_deadline(), earliest) {
            (None, earliest) => assert_eq!(earliest, None, "waits for nothing"),
            (Some(next), None) => assert!(next.get() >= self.now(), "next deadline {next:?}"),
            (Some(next), Some(earliest)) => {
                assert!(
                    next.get() <= earliest.max(self.now()),
                    "next deadline {next:?}, but due {earliest}"
                );
            }
        }
    }

    /// Fires everything there is by following `next_deadline`: the bound must converge.
    pub(crate) fn finish(mut self) {
        let mut wakes = 0;
        // At most one wake per level for each timer, and as many again for what was re-armed.
        let levels = 64u64.div_ceil(u64::from(BITS));
        let most = 2 * (levels + 1) * (self.timers.len() as u64 + 1);
        while let Some(next) = self.wheel.next_deadline() {
            self.advance(next.get());
            wakes += 1;
            assert!(wakes <= most, "{wakes} wakes for what should need {most}");
        }
        self.compare();
        let left: Vec<_> = self.wheel.drain().map(|(_, _, value)| value).collect();
        assert_eq!(left.len(), self.timers.len(), "drained {left:?}");
        assert!(
            self.timers.values().all(|timer| timer.deadline.is_never()),
            "left: {:?}",
            self.timers
        );
        self.wheel.check();
    }
}
