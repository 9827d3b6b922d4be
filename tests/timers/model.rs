//! Property: random programs fire what a map from keys to deadlines says, when it says.
//!
//! The oracle is a `BTreeMap` of deadlines in nanoseconds. A timer is due when its deadline,
//! rounded up to a tick, has come; a periodic one then gets another deadline, by the rule of its
//! policy, until that has not come.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use tickwheel::{ManualClock, Missed, Resolution, Shutdown, TimerKey, Timers};

const TICK: u64 = 1_000;

#[derive(Clone, Debug)]
enum Step {
    Arm(u64),
    Every(u64, Missed),
    Cancel(usize),
    Rearm(usize, u64),
    Disarm(usize),
    Drive(u64),
    Pause(bool),
}

#[derive(Clone, Debug)]
struct Timer {
    /// `None` while it is suspended.
    deadline: Option<u64>,
    every: Option<(u64, Missed)>,
    /// For when it was armed, by the runtime and not by a move.
    nominal: u64,
}

#[derive(Default)]
struct Oracle {
    now: u64,
    paused: bool,
    timers: BTreeMap<usize, Timer>,
}

impl Oracle {
    /// What fires now: the ticks, with the numbers of the timers, sorted.
    fn fire(&mut self) -> Vec<(u64, usize)> {
        let mut fired = Vec::new();
        if self.paused {
            return fired;
        }
        let now = self.now;
        let is_due = |deadline: &u64| deadline.div_ceil(TICK) <= now / TICK;
        for (id, timer) in &mut self.timers {
            while let Some(deadline) = timer.deadline.filter(is_due) {
                fired.push((deadline.div_ceil(TICK), *id));
                timer.deadline = timer.every.map(|(period, missed)| match missed {
                    Missed::Burst => deadline + period,
                    Missed::Delay => now + period,
                    Missed::Skip => {
                        deadline + ((now.saturating_sub(deadline)) / period + 1) * period
                    }
                });
                timer.nominal = timer.deadline.unwrap_or_default();
                if timer.every.is_none() {
                    break;
                }
            }
        }
        self.timers
            .retain(|_, timer| timer.deadline.is_some() || timer.every.is_some());
        fired.sort_unstable();
        fired
    }
}

fn step() -> impl Strategy<Value = Step> {
    let span = || prop_oneof![0..5 * TICK, 0..300 * TICK, 0..70_000 * TICK];
    let period = prop_oneof![TICK / 3..5 * TICK, TICK..300 * TICK];
    let missed = prop_oneof![Just(Missed::Skip), Just(Missed::Burst), Just(Missed::Delay)];
    prop_oneof![
        4 => span().prop_map(Step::Arm),
        1 => (period, missed).prop_map(|(period, missed)| Step::Every(period, missed)),
        2 => any::<usize>().prop_map(Step::Cancel),
        3 => (any::<usize>(), span()).prop_map(|(which, span)| Step::Rearm(which, span)),
        1 => any::<usize>().prop_map(Step::Disarm),
        6 => (0..400 * TICK).prop_map(Step::Drive),
        1 => any::<bool>().prop_map(Step::Pause),
    ]
}

proptest! {
    #[test]
    fn a_runtime_fires_what_the_oracle_says(steps in prop::collection::vec(step(), 1..60)) {
        let clock = ManualClock::new();
        let timers = Timers::builder()
            .clock(clock.clone())
            .resolution(Resolution::new(Duration::from_nanos(TICK)).unwrap())
            .batch(64, Duration::MAX)
            .build_hand_driven()
            .unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        let mut oracle = Oracle::default();
        let mut keys: Vec<TimerKey> = Vec::new();

        for step in steps {
            let id = keys.len();
            let told = log.clone();
            let tell = move |firing: &mut tickwheel::Firing<'_>| {
                assert!(firing.deadline() <= firing.now());
                told.lock().unwrap().push((firing.deadline().as_nanos() / TICK, id));
            };
            match step {
                Step::Arm(after) => {
                    keys.push(timers.arm(Duration::from_nanos(after), tell).unwrap());
                    let deadline = Some(oracle.now + after);
                    oracle.timers.insert(id, Timer { deadline, every: None, nominal: 0 });
                }
                Step::Every(period, missed) => {
                    keys.push(timers.every(Duration::from_nanos(period), missed, tell).unwrap());
                    let deadline = Some(oracle.now + period);
                    oracle.timers.insert(id, Timer { deadline, every: Some((period, missed)), nominal: oracle.now + period });
                }
                Step::Cancel(which) => if !keys.is_empty() {
                    let which = which % keys.len();
                    let cancelled = timers.cancel(keys[which]).is_cancelled();
                    prop_assert_eq!(cancelled, oracle.timers.remove(&which).is_some());
                }
                Step::Rearm(which, after) => if !keys.is_empty() {
                    let which = which % keys.len();
                    let moved = timers.rearm(keys[which], Duration::from_nanos(after)).is_ok();
                    let timer = oracle.timers.get_mut(&which);
                    prop_assert_eq!(moved, timer.is_some());
                    if let Some(timer) = timer {
                        let deadline = oracle.now + after;
                        // Of a periodic timer the tick is all that is kept of it.
                        timer.deadline = Some(match timer.every {
                            None => deadline,
                            Some(_) => moved_to(timer.nominal, deadline),
                        });
                    }
                }
                Step::Disarm(which) => if !keys.is_empty() {
                    let which = which % keys.len();
                    // One that is suspended is not told from one that is over by the oracle's map.
                    if let Some(timer) = oracle.timers.get_mut(&which).filter(|timer| timer.every.is_some()) {
                        prop_assert!(timers.disarm(keys[which]).is_ok());
                        timer.deadline = None;
                    }
                }
                Step::Drive(span) => {
                    oracle.now += span;
                    clock.advance(Duration::from_nanos(span));
                    while timers.turn_fully().unwrap().fired > 0 {}
                    let mut fired = std::mem::take(&mut *log.lock().unwrap());
                    fired.sort_unstable();
                    prop_assert_eq!(fired, oracle.fire());
                }
                Step::Pause(pause) => {
                    let changed = if pause { timers.pause() } else { timers.resume() };
                    prop_assert_eq!(changed, oracle.paused != pause);
                    oracle.paused = pause;
                }
            }
            prop_assert_eq!(timers.len(), oracle.timers.len());
            for (id, timer) in &oracle.timers {
                let deadline = timers.deadline(keys[*id]).map(|at| if at.is_never() { u64::MAX } else { at.as_nanos() / TICK });
                prop_assert_eq!(deadline, Some(timer.deadline.map_or(u64::MAX, |at| at.div_ceil(TICK))));
            }
        }
        prop_assert_eq!(timers.shutdown(Shutdown::HandBack).len(), oracle.timers.len());
    }
}

/// From where a periodic timer counts on that was moved: from the tick, unless that is the one for
/// which it was armed.
fn moved_to(nominal: u64, deadline: u64) -> u64 {
    let tick = deadline.div_ceil(TICK);
    if nominal.div_ceil(TICK) == tick {
        nominal
    } else {
        tick * TICK
    }
}
