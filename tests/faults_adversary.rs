#![cfg(not(loom))]
//! Callbacks as adversaries: they arm, cancel and re-arm at random, themselves, siblings of
//! the batch and everything else, while a map of due ticks says what may happen.
//!
//! Properties:
//! * what fires is armed, is due at the very tick that is being fired, and is not one that
//!   has to wait for the next turn;
//! * after a turn nothing is left that was due in it, also when a turn of `poll` or of
//!   `advance_bounded` was left open, or cut short by an `advance`;
//! * equal ticks fire in the order of arming, unless re-armed, tolerant or late;
//! * every operation inside a callback answers as the map does.

mod support;

use std::collections::BTreeMap;

use support::{at, drive_by_next_deadline, drive_to};
use tickwheel::{Expired, Tick, Ticks, TimerKey, Turn, Wheel};

/// What the map knows of a timer.
#[derive(Clone, Copy, Debug)]
struct Armed {
    key: TimerKey,
    due: u64,
    tolerance: Ticks,
    /// Armed for the tick the wheel was at, or before: not in the turn that is under way.
    waits: bool,
    /// Neither re-armed, nor tolerant, nor late: keeps its place among equal ticks.
    ordered: bool,
}

/// An operation on the wheel, or on a turn of it.
#[derive(Clone, Copy, Debug)]
enum Op {
    Arm(Tick, Ticks, u64),
    Rearm(TimerKey, Tick),
    Cancel(TimerKey),
}

/// What the operation gave back.
#[derive(Debug, PartialEq)]
enum Answer {
    Armed(TimerKey),
    Moved(bool),
    Gone(Option<u64>),
}

/// Values count up, so that their order is the order of arming.
struct Adversary {
    armed: BTreeMap<u64, Armed>,
    stale: Vec<TimerKey>,
    made: u64,
    state: u64,
    /// Whether a turn of `poll` or `advance_bounded` was left open.
    open: bool,
    /// Tick and value of the last that fired of those that keep their place.
    last: (u64, u64),
}

impl Adversary {
    fn new(seed: u64) -> Self {
        let state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let (armed, stale) = (BTreeMap::new(), Vec::new());
        Self {
            armed,
            stale,
            made: 0,
            state,
            open: false,
            last: (0, 0),
        }
    }

    /// A number below `below`, by xorshift.
    fn random(&mut self, below: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state % below
    }

    /// A tick at `now`, before it, or at any distance after it.
    fn tick(&mut self, now: u64) -> u64 {
        let magnitude = self.random(16);
        let distance = self.random(1 << magnitude);
        match self.random(10) {
            0 => now,
            1 => now.saturating_sub(distance),
            2 if distance == 0 => u64::MAX,
            _ => now.saturating_add(distance),
        }
    }

    fn any(&mut self) -> Option<(u64, Armed)> {
        let nth = self.random(self.armed.len().max(1) as u64) as usize;
        self.armed
            .iter()
            .nth(nth)
            .map(|(value, armed)| (*value, *armed))
    }

    /// Does a few things at `now`, and compares the answers.
    fn act(&mut self, now: u64, mut wheel: impl FnMut(Op) -> Answer) {
        for _ in 0..self.random(4) {
            let tick = self.tick(now);
            match (self.random(8), self.any()) {
                (0, _) => {
                    let nth = self.random(self.stale.len().max(1) as u64) as usize;
                    let Some(key) = self.stale.get(nth).copied() else {
                        continue;
                    };
                    assert_eq!(wheel(Op::Cancel(key)), Answer::Gone(None), "stale {key:?}");
                    assert_eq!(
                        wheel(Op::Rearm(key, at(tick))),
                        Answer::Moved(false),
                        "{key:?}"
                    );
                }
                (1, Some((value, Armed { key, .. }))) => {
                    assert_eq!(wheel(Op::Cancel(key)), Answer::Gone(Some(value)), "{key:?}");
                    self.armed.remove(&value);
                    self.stale.push(key);
                }
                (2 | 3, Some((value, Armed { key, tolerance, .. }))) => {
                    assert_eq!(
                        wheel(Op::Rearm(key, at(tick))),
                        Answer::Moved(true),
                        "{value}"
                    );
                    self.note(now, tick, tolerance, value, key);
                }
                (kind, _) => {
                    let tolerance = Ticks::new(if kind == 4 { self.random(500) } else { 0 });
                    let value = self.made;
                    self.made += 1;
                    let answer = wheel(Op::Arm(at(tick), tolerance, value));
                    let Answer::Armed(key) = answer else {
                        panic!("{answer:?} to an arm")
                    };
                    self.note(now, tick, tolerance, value, key);
                    self.armed
                        .entry(value)
                        .and_modify(|armed| armed.ordered = kind != 4);
                }
            }
        }
    }

    /// Notes that a timer was armed or re-armed for `tick`.
    fn note(&mut self, now: u64, tick: u64, tolerance: Ticks, value: u64, key: TimerKey) {
        let due = at(tick).coalesce(tolerance).get();
        let armed = Armed {
            key,
            due,
            tolerance,
            waits: due <= now,
            ordered: false,
        };
        self.armed.insert(value, armed);
    }

    /// A timer has fired at `now`; says for when to arm it again, if at all.
    fn fired(&mut self, now: u64, expired: &Expired<u64>) -> Option<u64> {
        let armed = self.armed.remove(&expired.value).unwrap();
        assert!(
            armed.due == now && !armed.waits,
            "{expired:?} fired at {now}: {armed:?}"
        );
        assert_eq!(
            (expired.key, expired.tolerance),
            (armed.key, armed.tolerance),
            "{expired:?}"
        );
        if armed.ordered {
            let place = (now, expired.value);
            assert!(
                self.last <= place,
                "(tick, value): {:?}, and then {place:?}",
                self.last
            );
            self.last = place;
        }
        if self.random(3) > 0 {
            self.stale.push(armed.key);
            return None;
        }
        Some(self.tick(now))
    }

    /// A turn begins at `now`: whoever waited for it is due at once.
    fn begin(&mut self, now: u64) {
        for armed in self.armed.values_mut() {
            armed.ordered &= !armed.waits;
            armed.waits = false;
            armed.due = armed.due.max(now);
        }
    }

    /// Begins a turn, unless one was left open.
    fn continue_turn(&mut self, now: u64) {
        if !self.open {
            self.begin(now);
        }
        self.open = true;
    }

    /// What happens in the callback of a timer.
    fn in_callback<const BITS: u32>(
        &mut self,
        turn: &mut Turn<'_, u64, BITS>,
        expired: Expired<u64>,
    ) {
        let now = turn.now().get();
        let again = self.fired(now, &expired);
        self.act(now, |op| match op {
            Op::Arm(due, tolerance, value) => {
                Answer::Armed(turn.arm_tolerant(due, tolerance, value))
            }
            Op::Rearm(key, due) => Answer::Moved(turn.rearm(key, due).is_ok()),
            Op::Cancel(key) => Answer::Gone(turn.cancel(key)),
        });
        if let Some(tick) = again {
            self.note(now, tick, expired.tolerance, expired.value, expired.key);
            let key = expired.key;
            assert_eq!(turn.rearm_expired(expired, at(tick)), key, "lost its key");
        }
    }

    /// A turn to `target` has ended.
    fn end(&self, target: u64) {
        let due = |armed: &Armed| armed.due <= target && armed.due < u64::MAX && !armed.waits;
        let left: Vec<_> = self.armed.iter().filter(|(_, armed)| due(armed)).collect();
        assert!(left.is_empty(), "not fired by {target}: {left:?}");
    }
}

/// One turn of `advance`, in which everything happens in the callback.
fn advance<const BITS: u32>(wheel: &mut Wheel<u64, BITS>, adversary: &mut Adversary, target: u64) {
    adversary.begin(wheel.now().get());
    adversary.open = false;
    wheel.advance(at(target), |turn, expired| {
        adversary.in_callback(turn, expired);
    });
    adversary.end(target);
}

/// One call of `advance_bounded`, which may go on with a turn that was left open.
fn advance_bounded<const BITS: u32>(
    wheel: &mut Wheel<u64, BITS>,
    adversary: &mut Adversary,
    target: u64,
    budget: usize,
) {
    adversary.continue_turn(wheel.now().get());
    let progress = wheel.advance_bounded(at(target), budget, |turn, expired| {
        adversary.in_callback(turn, expired);
    });
    if progress.is_done() {
        adversary.open = false;
        adversary.end(target);
    }
}

/// At most `most` timers of a turn of `poll`, which may go on with one that was left open.
fn poll<const BITS: u32>(
    wheel: &mut Wheel<u64, BITS>,
    adversary: &mut Adversary,
    target: u64,
    most: u64,
) {
    adversary.continue_turn(wheel.now().get());
    for _ in 0..most {
        let Some(expired) = wheel.poll(at(target)) else {
            adversary.open = false;
            adversary.end(target);
            return;
        };
        let again = adversary.fired(wheel.now().get(), &expired);
        act(wheel, adversary);
        if let Some(tick) = again {
            let (now, key) = (wheel.now().get(), expired.key);
            adversary.note(now, tick, expired.tolerance, expired.value, key);
            assert_eq!(wheel.rearm_expired(expired, at(tick)), key, "lost its key");
        }
        wheel.check();
    }
}

/// Does a few things outside of any callback.
fn act<const BITS: u32>(wheel: &mut Wheel<u64, BITS>, adversary: &mut Adversary) {
    adversary.act(wheel.now().get(), |op| match op {
        Op::Arm(due, tolerance, value) => Answer::Armed(wheel.arm_tolerant(due, tolerance, value)),
        Op::Rearm(key, due) => Answer::Moved(wheel.rearm(key, due).is_ok()),
        Op::Cancel(key) => Answer::Gone(wheel.cancel(key)),
    });
}

fn run<const BITS: u32>(seed: u64) {
    let mut adversary = Adversary::new(seed);
    let start = adversary.random(1 << 20);
    let mut wheel = Wheel::<u64, BITS>::starting_at(at(start));
    for _ in 0..60 {
        for _ in 0..adversary.random(6) {
            act(&mut wheel, &mut adversary);
            wheel.check();
        }
        let now = wheel.now().get();
        let target = adversary.tick(now).clamp(now, now + 5_000);
        match adversary.random(6) {
            0 => poll(&mut wheel, &mut adversary, target, u64::MAX),
            1 | 2 => poll(&mut wheel, &mut adversary, target, 3),
            3 | 4 => advance_bounded(&mut wheel, &mut adversary, target, 7),
            _ => advance(&mut wheel, &mut adversary, target),
        }
        wheel.check();
        assert_eq!(wheel.len(), adversary.armed.len(), "seed {seed}");
    }
    let now = wheel.now().get();
    let rest = match seed % 2 {
        0 => drive_to(&mut wheel, u64::MAX - 1),
        _ => drive_by_next_deadline(&mut wheel, u64::MAX),
    };
    for (tick, value) in &rest.log {
        let armed = adversary.armed.remove(value).unwrap();
        assert_eq!(*tick, armed.due.max(now), "{value} of seed {seed}");
    }
    assert!(
        adversary.armed.values().all(|armed| armed.due == u64::MAX),
        "seed {seed}"
    );
}

#[test]
fn adversaries_find_the_wheel_as_the_map_says() {
    for seed in 0..25 {
        run::<8>(seed);
        run::<2>(seed);
    }
}

#[test]
fn adversaries_find_a_small_wheel_as_the_map_says() {
    for seed in 0..25 {
        run::<3>(seed);
        run::<4>(seed);
    }
}
