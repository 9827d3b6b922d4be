#![cfg(not(loom))]
//! Two wheels run the same random program, one on a budget and one without.
//!
//! Property: both fire the same timers at the same ticks in exactly the same order, those
//! that were re-armed or have a tolerance included, whatever the budget.

use proptest::prelude::*;
use tickwheel::{Tick, Ticks, TimerKey, Wheel};

#[derive(Clone, Debug)]
enum Op {
    Arm { after: u64, tolerance: u64 },
    Crowd { after: u64 },
    Rearm { which: usize, after: u64 },
    Cancel { which: usize },
    Advance { by: u64, budget: usize },
}

fn op() -> impl Strategy<Value = Op> {
    let after = 0u64..3_000;
    prop_oneof![
        3 => (after.clone(), 0u64..300).prop_map(|(after, tolerance)| Op::Arm { after, tolerance }),
        3 => after.clone().prop_map(|after| Op::Crowd { after }),
        4 => (0usize..500, after.clone()).prop_map(|(which, after)| Op::Rearm { which, after }),
        2 => (0usize..500).prop_map(|which| Op::Cancel { which }),
        3 => (after, 1usize..30).prop_map(|(by, budget)| Op::Advance { by, budget }),
    ]
}

/// A wheel, all keys ever, and what it has fired.
struct Side<const BITS: u32> {
    wheel: Wheel<usize, BITS>,
    keys: Vec<TimerKey>,
    fired: Vec<(Tick, usize)>,
}

impl<const BITS: u32> Side<BITS> {
    fn new(start: u64) -> Self {
        Self {
            wheel: Wheel::starting_at(Tick::new(start)),
            keys: Vec::new(),
            fired: Vec::new(),
        }
    }

    fn arm(&mut self, after: u64, tolerance: u64) {
        let deadline = self.wheel.now() + Ticks::new(after);
        let key = self
            .wheel
            .arm_tolerant(deadline, Ticks::new(tolerance), self.keys.len());
        self.keys.push(key);
    }

    fn step(&mut self, op: &Op, bounded: bool) {
        let now = self.wheel.now();
        match *op {
            Op::Arm { after, tolerance } => self.arm(after, tolerance),
            Op::Crowd { after } => (0..20).for_each(|more| self.arm(after + more / 3, 0)),
            Op::Rearm { which, after } => {
                let key = self.keys.get(which).copied();
                let _ = key.map(|key| self.wheel.rearm(key, now + Ticks::new(after)));
            }
            Op::Cancel { which } => {
                let key = self.keys.get(which).copied();
                let _ = key.map(|key| self.wheel.cancel(key));
            }
            Op::Advance { by, budget } => {
                let (target, fired) = (now + Ticks::new(by), &mut self.fired);
                if bounded {
                    let mut more = true;
                    while more {
                        let progress =
                            self.wheel.advance_bounded(target, budget, |turn, expired| {
                                fired.push((turn.now(), expired.value));
                            });
                        more = !progress.is_done();
                    }
                } else {
                    self.wheel.advance(target, |turn, expired| {
                        fired.push((turn.now(), expired.value));
                    });
                }
            }
        }
        self.wheel.check();
    }
}

fn compare<const BITS: u32>(start: u64, program: &[Op]) {
    let (mut free, mut bounded) = (Side::<BITS>::new(start), Side::<BITS>::new(start));
    for op in program {
        free.step(op, false);
        bounded.step(op, true);
        assert_eq!(
            free.fired, bounded.fired,
            "(tick, timer), without and with a budget"
        );
        assert_eq!(
            free.wheel.now(),
            bounded.wheel.now(),
            "the ticks they are at"
        );
    }
}

proptest! {
    #[test]
    fn a_budget_changes_nothing_but_the_number_of_calls(
        start in 0u64..10_000, program in proptest::collection::vec(op(), 1..60),
    ) {
        compare::<2>(start, &program);
        compare::<3>(start, &program);
        compare::<6>(start, &program);
        compare::<8>(start, &program);
    }
}
