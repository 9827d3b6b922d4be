//! What the fault tests share: a recorder, and two ways to move time.
//!
//! Both walk every invariant before and after each step.

use std::fmt::Debug;

use tickwheel::{Expired, Tick, Turn, Wheel};

/// What fired, and at which tick of the wheel; compares with an array of such pairs.
#[derive(Debug)]
pub(crate) struct Fired<T> {
    pub(crate) log: Vec<(u64, T)>,
    /// Calls of `advance` that it took.
    pub(crate) wakes: u64,
}

impl<T: Debug> Fired<T> {
    pub(crate) fn new() -> Self {
        Self {
            log: Vec::new(),
            wakes: 0,
        }
    }

    /// Writes down one delivery, which must not be early.
    pub(crate) fn note<const BITS: u32>(&mut self, turn: &Turn<'_, T, BITS>, expired: Expired<T>) {
        let (now, due) = (turn.now(), due(&expired));
        assert!(
            due <= now,
            "{:?} fired at {now}, early: it is due at {due}",
            expired.value
        );
        self.log.push((now.get(), expired.value));
    }
}

impl<T: PartialEq, const N: usize> PartialEq<[(u64, T); N]> for Fired<T> {
    fn eq(&self, expected: &[(u64, T); N]) -> bool {
        self.log == expected
    }
}

pub(crate) fn at(tick: u64) -> Tick {
    Tick::new(tick)
}

/// Advances to `now` in one call.
pub(crate) fn drive_to<T: Debug, const BITS: u32>(
    wheel: &mut Wheel<T, BITS>,
    now: u64,
) -> Fired<T> {
    wheel.check();
    let (from, bound) = (wheel.now(), wheel.next_deadline());
    let mut fired = Fired {
        log: Vec::new(),
        wakes: 1,
    };
    let count = wheel.advance(at(now), |turn, expired| fired.note(turn, expired));
    wheel.check();

    assert_eq!(
        count,
        fired.log.len(),
        "advance({now}) says it fired {count}: {fired:?}"
    );
    assert_eq!(
        wheel.now(),
        from.max(at(now)),
        "time after advance({now}) from {from}"
    );
    if let Some((first, _)) = fired.log.first() {
        let timely = bound.is_some_and(|bound| bound.get() <= *first);
        assert!(timely, "{bound:?} was the next deadline, but {fired:?}");
    }
    let next = wheel.next_deadline();
    let (late, now) = (next.is_some_and(|next| next <= wheel.now()), wheel.now());
    assert!(!late, "after advance({now}) the next deadline is {next:?}");
    fired
}

/// Advances to `next_deadline` as long as that is not after `until`, and never otherwise.
///
/// Asserts that each timer fires at the very wake-up that its deadline asks for, and that
/// the wake-ups are few: a timer passes each level once, and once more after a re-arm.
pub(crate) fn drive_by_next_deadline<T: Debug, const BITS: u32>(
    wheel: &mut Wheel<T, BITS>,
    until: u64,
) -> Fired<T> {
    let levels = 64u64.div_ceil(u64::from(BITS));
    let (timers, most) = (wheel.len(), 2 * levels * wheel.len() as u64);
    let mut fired = Fired::new();
    while let Some(next) = wheel.next_deadline().filter(|next| next.get() <= until) {
        let from = wheel.now();
        wheel.check();
        wheel.advance(next, |turn, expired| {
            let due = due(&expired).max(from);
            assert_eq!(
                next, due,
                "{:?} is due at {due}, the wake-up came at {next}",
                expired.value
            );
            fired.note(turn, expired);
        });
        wheel.check();
        fired.wakes += 1;
        assert!(
            fired.wakes <= most,
            "more than {most} wakes for {timers} timers: {fired:?}"
        );
    }
    fired
}

fn due<T>(expired: &Expired<T>) -> Tick {
    expired.deadline.coalesce(expired.tolerance)
}
