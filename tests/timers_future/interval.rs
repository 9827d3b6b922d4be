//! Intervals: when they tick, what they do about ticks nobody awaited, and what they lose: nothing.

use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tickwheel::{ArmError, Interval, Missed, Timestamp};

use crate::rig::{Rig, Task, at, ms};

type Tick = Poll<Result<Timestamp, ArmError>>;

fn tick(task: &Task, interval: &mut Interval) -> Tick {
    task.with(|cx| interval.poll_tick(cx))
}

/// A tick that should have come at that time.
fn due(millis: u64) -> Tick {
    Poll::Ready(Ok(at(millis)))
}

#[test]
fn a_period_of_zero_is_refused() {
    let rig = Rig::new();
    let refused = rig.timers.interval(Duration::ZERO, Missed::Skip);
    assert_eq!(refused.unwrap_err(), ArmError::ZeroPeriod);
    let interval = rig.timers.interval(ms(5), Missed::Skip).unwrap();
    assert_eq!(interval.period(), ms(5));
}

/// tokio-rs/tokio#1125
#[test]
fn the_first_tick_comes_one_period_after_the_first_poll() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut interval = rig.timers.interval(ms(10), Missed::Skip).unwrap();
    rig.go(7);
    assert_eq!(tick(&task, &mut interval), Poll::Pending);
    assert_eq!((rig.go(16), task.wakes()), (0, 0));
    assert_eq!((rig.go(17), task.wakes()), (1, 1));
    assert_eq!(tick(&task, &mut interval), due(17));
}

#[test]
fn served_in_time_it_does_not_drift() {
    for missed in [Missed::Skip, Missed::Burst] {
        let (rig, task) = (Rig::new(), Task::new());
        let mut interval = rig.timers.interval(ms(10), missed).unwrap();
        assert_eq!(tick(&task, &mut interval), Poll::Pending);
        for nominal in (10..200).step_by(10) {
            rig.go(nominal);
            rig.stall(nominal + 3); // the task is a little late each time
            assert_eq!(tick(&task, &mut interval), due(nominal), "{missed:?}");
            assert_eq!(rig.timers.len(), 0, "nobody waits");
            assert_eq!(tick(&task, &mut interval), Poll::Pending, "{missed:?}");
        }
    }
}

#[test]
fn ticks_that_nobody_awaited_are_passed_over_made_up_for_or_put_off() {
    let cases = [
        (Missed::Skip, vec![10, 60, 70]),
        (Missed::Burst, vec![10, 20, 30, 40, 50, 60, 70]),
        (Missed::Delay, vec![10, 65, 75]),
    ];
    for (missed, nominals) in cases {
        let (rig, task) = (Rig::new(), Task::new());
        let mut interval = rig.timers.interval(ms(10), missed).unwrap();
        assert_eq!(tick(&task, &mut interval), Poll::Pending);
        rig.go(55);
        for nominal in nominals {
            if nominal > rig.now() {
                assert_eq!(tick(&task, &mut interval), Poll::Pending, "{missed:?}");
                assert_eq!(rig.go(nominal - 1), 0, "{missed:?}");
                assert_eq!(rig.go(nominal), 1, "{missed:?}");
            }
            assert_eq!(tick(&task, &mut interval), due(nominal), "{missed:?}");
        }
    }
}

#[test]
fn a_wait_that_is_given_up_loses_no_tick() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut interval = rig.timers.interval(ms(10), Missed::Burst).unwrap();
    for nominal in [10, 20, 30] {
        for _ in 0..3 {
            let mut wait = pin!(interval.tick());
            assert_eq!(task.poll_pin(wait.as_mut()), Poll::Pending);
        }
        rig.go(nominal);
        assert_eq!(task.poll_pin(pin!(interval.tick())), due(nominal));
    }
    assert_eq!(task.wakes(), 3);
}

#[test]
fn reset_counts_from_the_call() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut interval = rig.timers.interval(ms(10), Missed::Skip).unwrap();
    assert_eq!(tick(&task, &mut interval), Poll::Pending);
    rig.go(6);
    interval.reset();
    assert_eq!((rig.go(15), task.wakes()), (0, 0));
    assert_eq!((rig.go(16), task.wakes()), (1, 1));
    for nominal in [16, 26, 36] {
        rig.go(nominal);
        assert_eq!(tick(&task, &mut interval), due(nominal));
        assert_eq!(tick(&task, &mut interval), Poll::Pending);
    }
}

#[test]
fn a_period_beyond_the_end_of_time_never_ticks() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut interval = rig.timers.interval(Duration::MAX, Missed::Burst).unwrap();
    assert_eq!(tick(&task, &mut interval), Poll::Pending);
    rig.clock.set(Timestamp::NEVER);
    rig.timers.turn().unwrap();
    assert_eq!(tick(&task, &mut interval), Poll::Pending);
    drop(interval);
    assert_eq!(rig.timers.len(), 0);
}
