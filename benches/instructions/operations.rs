//! The operations that are counted, and the wheels they work on.

use std::future::Future;
use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use tickwheel::{Local, ManualClock, SharedWheel, Tick, Ticks, TimerKey, Timers, Wheel};

/// How often an operation runs, in the two processes whose counts are subtracted.
pub(crate) const FEW: usize = 1_000;
pub(crate) const MANY: usize = 11_000;

/// Timers of a wheel that is at rest: 10,000 over half an hour of milliseconds.
const TIMERS: u64 = 10_000;
const HALF_HOUR: u64 = 30 * 60_000;

/// From when on they are due: two slots of the level they lie on away, so that no share of
/// them moves ahead of need yet.
const REST: u64 = 600_000;

pub(crate) struct Operation {
    pub(crate) name: &'static str,
    /// Prepares, and then runs the operation so many times, `MANY` at most.
    pub(crate) run: fn(usize),
}

pub(crate) const LOOP: Operation = Operation {
    name: "the loop alone",
    run: |times| each(one_far(), times, |_, _| ()),
};

pub(crate) const OPERATIONS: [Operation; 23] = [
    Operation {
        name: "advance by a tick, 1 far timer",
        run: |times| each(one_far(), times, advance),
    },
    Operation {
        name: "advance by a tick, 10,000 timers",
        run: |times| each(at_rest(), times, advance),
    },
    Operation {
        name: "poll nothing, 1 far timer",
        run: |times| each(one_far(), times, poll),
    },
    Operation {
        name: "poll nothing, 10,000 timers",
        run: |times| each(at_rest(), times, poll),
    },
    Operation {
        name: "next_deadline, 1 far timer",
        run: |times| each(one_far(), times, |wheel, _| wheel.next_deadline()),
    },
    Operation {
        name: "next_deadline, 10,000 timers",
        run: |times| each(at_rest(), times, |wheel, _| wheel.next_deadline()),
    },
    Operation {
        name: "arm, memory never used",
        run: |times| {
            let wheel = Wheel::with_capacity(MANY);
            let at = deadlines();
            each(wheel, times, |wheel, time| wheel.arm(at[time], 0));
        },
    },
    Operation {
        name: "arm, memory of a cancelled timer",
        run: |times| {
            let (mut wheel, keys, at) = armed();
            for key in keys {
                wheel.cancel(key);
            }
            each(wheel, times, |wheel, time| wheel.arm(at[time], 0));
        },
    },
    Operation {
        name: "cancel",
        run: |times| {
            let (wheel, keys, _) = armed();
            each(wheel, times, |wheel, time| wheel.cancel(keys[time]));
        },
    },
    Operation {
        name: "cancel and arm",
        run: |times| {
            let (wheel, keys, at) = armed();
            each(wheel, times, |wheel, time| {
                (wheel.cancel(keys[time]), wheel.arm(at[time], 0))
            });
        },
    },
    Operation {
        name: "rearm later",
        run: |times| {
            let (wheel, keys, at) = armed();
            let later: Vec<_> = at.iter().map(|at| *at + Ticks::new(1_000)).collect();
            each(wheel, times, |wheel, time| {
                wheel.rearm(keys[time], later[time])
            });
        },
    },
    Operation {
        name: "rearm earlier",
        run: |times| {
            let (wheel, keys, at) = armed();
            let earlier: Vec<_> = at.iter().map(|at| Tick::new(at.get() / 2)).collect();
            each(wheel, times, |wheel, time| {
                wheel.rearm(keys[time], earlier[time])
            });
        },
    },
    Operation {
        name: "fire, ten timers to a tick",
        run: |times| {
            let mut wheel = Wheel::with_capacity(MANY);
            for timer in 0..MANY {
                wheel.arm(ten_to_a_tick(timer), 0);
            }
            wheel.advance(before(ten_to_a_tick(times)), |_, expired| {
                black_box(expired.value);
            });
            each(wheel, times, |_, _| ());
        },
    },
    Operation {
        name: "shared: arm, memory never used",
        run: |times| {
            let at = deadlines();
            each(shared().local(), times, |local, time| {
                local.arm(at[time], 0)
            });
        },
    },
    Operation {
        name: "shared: arm, memory never used, and file it",
        run: |times| {
            let (wheel, at) = (shared(), deadlines());
            each(wheel.local(), times, |local, time| local.arm(at[time], 0));
            advance_shared(wheel, Tick::ZERO);
        },
    },
    Operation {
        name: "shared: arm, memory of a cancelled timer",
        run: |times| {
            let (mut local, keys, at) = armed_shared();
            for key in keys {
                local.cancel(key).value().expect("the timer is armed");
            }
            each(local, times, |local, time| local.arm(at[time], 0));
        },
    },
    Operation {
        name: "shared: cancel",
        run: |times| {
            let (local, keys, _) = armed_shared();
            each(local, times, |local, time| local.cancel(keys[time]));
        },
    },
    Operation {
        name: "shared: cancel and arm",
        run: |times| {
            let (local, keys, at) = armed_shared();
            each(local, times, |local, time| {
                (local.cancel(keys[time]), local.arm(at[time], 0))
            });
        },
    },
    Operation {
        name: "shared: rearm later",
        run: |times| {
            let (local, keys, at) = armed_shared();
            let later: Vec<_> = at.iter().map(|at| *at + Ticks::new(1_000)).collect();
            each(local, times, |local, time| {
                local.rearm(keys[time], later[time])
            });
        },
    },
    Operation {
        name: "shared: rearm earlier",
        run: |times| {
            let (local, keys, at) = armed_shared();
            let earlier: Vec<_> = at.iter().map(|at| Tick::new(at.get() / 2)).collect();
            each(local, times, |local, time| {
                local.rearm(keys[time], earlier[time])
            });
        },
    },
    Operation {
        name: "shared: fire, ten timers to a tick",
        run: |times| {
            let wheel = shared();
            let mut local = wheel.local();
            for timer in 0..MANY {
                local.arm(ten_to_a_tick(timer), 0);
            }
            advance_shared(wheel, Tick::ZERO);
            advance_shared(wheel, before(ten_to_a_tick(times)));
            each(local, times, |_, _| ());
        },
    },
    Operation {
        name: "runtime: sleep, poll once, drop",
        run: |times| {
            let mut cx = Context::from_waker(Waker::noop());
            each(runtime(), times, |timers, _| {
                pin!(timers.sleep(AHEAD)).poll(&mut cx).is_pending()
            });
        },
    },
    Operation {
        name: "runtime: arm and cancel a callback",
        run: |times| {
            each(runtime(), times, |timers, _| {
                let key = timers.arm(AHEAD, |_| {}).expect("there is no limit");
                timers.cancel(key)
            });
        },
    },
];

// --- what the operations work on ---

/// Runs `operation` so many times, in a way the compiler cannot see through.
///
/// The wheel is not dropped: that would cost instructions by how many timers are left.
fn each<W, R>(mut wheel: W, times: usize, mut operation: impl FnMut(&mut W, usize) -> R) {
    for time in 0..times {
        let wheel = black_box(&mut wheel);
        black_box(operation(wheel, time));
    }
    std::mem::forget(wheel);
}

/// A wheel with nothing to do for years.
fn one_far() -> Wheel<u64> {
    let mut wheel = Wheel::new();
    wheel.arm(Tick::new(1 << 40), 0);
    wheel
}

/// A wheel that holds many timers and has nothing to do while an operation runs.
fn at_rest() -> Wheel<u64> {
    let mut wheel = Wheel::new();
    for timer in 0..TIMERS {
        wheel.arm(Tick::new(REST + timer * HALF_HOUR / TIMERS), timer);
    }
    let next = wheel.next_work();
    assert!(
        next > Some(Tick::new(MANY as u64)),
        "work at {next:?}, while the operation runs until {MANY}"
    );
    wheel
}

/// A wheel with one timer for every time that an operation may run, their keys, and what
/// they were armed for.
fn armed() -> (Wheel<u64>, Vec<TimerKey>, Vec<Tick>) {
    let mut wheel = Wheel::with_capacity(MANY);
    let at = deadlines();
    let keys = at.iter().map(|at| wheel.arm(*at, 0)).collect();
    (wheel, keys, at)
}

/// A shared wheel that is never dropped.
fn shared() -> &'static SharedWheel<u64> {
    Box::leak(Box::new(SharedWheel::new()))
}

/// As [`armed`], through a handle of this thread, and the driver has filed them all.
fn armed_shared() -> (Local<'static, u64>, Vec<TimerKey>, Vec<Tick>) {
    let wheel = shared();
    let (mut local, at) = (wheel.local(), deadlines());
    let keys = at.iter().map(|at| local.arm(*at, 0)).collect();
    advance_shared(wheel, Tick::ZERO);
    (local, keys, at)
}

/// How far ahead a runtime's deadlines are.
const AHEAD: Duration = Duration::from_secs(30);

/// A runtime whose clock stands still, and whose first timer was cancelled and is filed.
fn runtime() -> Timers {
    let builder = Timers::builder().clock(ManualClock::new());
    let timers = builder.build_hand_driven().expect("the settings are right");
    let key = timers.arm(AHEAD, |_| {}).expect("there is no limit");
    timers.turn().expect("nobody else drives");
    assert!(timers.cancel(key).is_cancelled());
    timers
}

fn ten_to_a_tick(timer: usize) -> Tick {
    Tick::new(FEW as u64 + timer as u64 / 10)
}

fn before(tick: Tick) -> Tick {
    Tick::new(tick.get() - 1)
}

/// Deadlines all over half an hour, none of them soon, in an order without a pattern.
fn deadlines() -> Vec<Tick> {
    let hashed = (0..MANY as u64).map(|time| time.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32);
    hashed
        .map(|hash| Tick::new(REST + ((hash * HALF_HOUR) >> 32)))
        .collect()
}

fn advance(wheel: &mut Wheel<u64>, _time: usize) -> usize {
    let next = wheel.now() + Ticks::new(1);
    wheel.advance(next, |_, expired| {
        black_box(expired.value);
    })
}

fn advance_shared(wheel: &SharedWheel<u64>, to: Tick) {
    let fired = wheel.advance(to, |_, expired| {
        black_box(expired.value);
    });
    fired.expect("nobody else drives");
}

fn poll(wheel: &mut Wheel<u64>, _time: usize) -> Option<u64> {
    let next = wheel.now() + Ticks::new(1);
    Some(wheel.poll(next)?.value)
}
