//! How futures end with their runtime.

use std::future::pending;
use std::sync::Barrier;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use tickwheel::{ArmError, Missed, Shutdown, TimeoutError, Timers, Timestamp};

use crate::rig::{Rig, Task, at, block_on, ms};

const READY: Poll<Result<(), ArmError>> = Poll::Ready(Ok(()));
const ENDED: Poll<Result<(), ArmError>> = Poll::Ready(Err(ArmError::ShutDown));
const MODES: [Shutdown; 3] = [Shutdown::Drop, Shutdown::HandBack, Shutdown::FireDue];

#[test]
fn in_each_state_a_sleep_ends_with_an_error_unless_its_time_has_come() {
    for mode in MODES {
        let (rig, task) = (Rig::new(), Task::new());
        let mut relative = rig.timers.sleep(ms(30));
        let mut absolute = rig.timers.sleep_until(at(30));
        let mut armed = rig.timers.sleep(ms(30));
        let mut never = rig.timers.sleep(Duration::MAX);
        let mut due = rig.timers.sleep(ms(20));
        let mut fired = rig.timers.sleep(ms(10));
        let mut elapsed = rig.timers.sleep(ms(10));
        for sleep in [&mut armed, &mut never, &mut due, &mut fired, &mut elapsed] {
            assert_eq!(task.poll(sleep), Poll::Pending);
        }
        assert_eq!((rig.go(10), task.poll(&mut elapsed)), (2, READY));
        rig.stall(20);
        let wakes = task.wakes();
        assert!(rig.timers.shutdown(mode).is_empty(), "{mode:?}");
        assert_eq!(
            task.wakes(),
            wakes + 3,
            "{mode:?}: those that wait are woken"
        );
        assert_eq!((rig.timers.len(), task.wakers()), (0, 1), "{mode:?}");
        for sleep in [&mut armed, &mut never, &mut relative, &mut absolute] {
            assert_eq!(task.poll(sleep), ENDED, "{mode:?}: {sleep:?}");
            assert_eq!(task.poll(sleep), ENDED, "{mode:?}, again: {sleep:?}");
        }
        for sleep in [&mut due, &mut fired, &mut elapsed] {
            assert_eq!(task.poll(sleep), READY, "{mode:?}: {sleep:?}");
        }
        // The clock goes on, and what needs no driver needs none.
        rig.stall(30);
        assert_eq!(task.poll(&mut absolute), READY, "{mode:?}");
        assert_eq!(task.poll(&mut rig.timers.sleep(ms(0))), READY, "{mode:?}");
    }
}

#[test]
fn the_last_handle_ends_it_and_a_future_is_no_handle() {
    let (rig, task) = (Rig::new(), Task::new());
    let Rig { clock, timers } = rig;
    let mut sleep = timers.sleep(ms(10));
    let mut timeout = timers.timeout(ms(10), pending::<()>()).owned();
    let mut interval = timers.interval(ms(10), Missed::Skip).unwrap();
    assert_eq!(task.poll(&mut sleep), Poll::Pending);
    assert_eq!(task.poll(&mut timeout), Poll::Pending);
    assert_eq!(task.with(|cx| interval.poll_tick(cx)), Poll::Pending);
    drop(timers);
    assert_eq!((task.wakes(), task.wakers()), (3, 1));
    assert_eq!(task.poll(&mut sleep), ENDED);
    let ended = Poll::Ready(Err(TimeoutError::ShutDown));
    assert_eq!(task.poll(&mut timeout), ended);
    for _ in 0..2 {
        let tick = task.with(|cx| interval.poll_tick(cx));
        assert_eq!(tick, Poll::Ready(Err(ArmError::ShutDown)));
    }
    clock.set(at(10)); // it is held as long as they are
    assert_eq!(task.poll(&mut sleep), READY);
}

/// tokio-rs/tokio#1466
#[test]
fn a_sleep_that_is_first_polled_when_its_driver_is_gone_is_an_error() {
    let timers = Timers::new().unwrap();
    let mut sleep = timers.sleep(Duration::from_secs(3600));
    timers.shutdown(Shutdown::Drop);
    timers.wait(Duration::from_secs(60)).unwrap();
    assert_eq!(Task::new().poll(&mut sleep), ENDED);
    sleep.reset(ms(3_600_000));
    assert_eq!(Task::new().poll(&mut sleep), ENDED);
}

#[test]
fn moved_after_the_end_it_ends_at_its_next_poll() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut sleep = rig.timers.sleep(ms(10));
    assert_eq!(task.poll(&mut sleep), Poll::Pending);
    rig.timers.shutdown(Shutdown::Drop);
    sleep.reset_at(at(99));
    assert_eq!((task.wakes(), task.poll(&mut sleep)), (1, ENDED));
    sleep.reset_at(Timestamp::ZERO);
    assert_eq!(task.poll(&mut sleep), READY);
}

/// tokio-rs/tokio#2789
#[test]
fn threads_that_sleep_while_the_runtime_ends_all_end() {
    for mode in MODES {
        for after in [0, 1, 1_000, u64::MAX] {
            let after = Duration::from_millis(after);
            let timers = Timers::new().unwrap();
            let barrier = Barrier::new(5);
            thread::scope(|scope| {
                let sleepers = [(); 4].map(|()| {
                    scope.spawn(|| {
                        barrier.wait();
                        // Until the end is met: the first may be ready before.
                        loop {
                            let begin = timers.now();
                            match block_on(timers.sleep(after)) {
                                Err(error) => return error,
                                Ok(()) => assert!(timers.now() - begin >= after),
                            }
                            if after.is_zero() && timers.is_shut_down() {
                                return ArmError::ShutDown; // needs no driver
                            }
                        }
                    })
                });
                barrier.wait();
                thread::yield_now();
                assert!(timers.shutdown(mode).is_empty());
                for sleeper in sleepers {
                    assert_eq!(sleeper.join().unwrap(), ArmError::ShutDown, "{mode:?}");
                }
            });
            timers.wait(Duration::from_secs(60)).unwrap();
            assert_eq!(timers.len(), 0, "{mode:?}, {after:?}");
        }
    }
}

#[test]
fn expirations_give_out_what_is_due_then_end_and_hand_back_the_rest() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut queue = rig.timers.expirations();
    for after in [5, 10, 20, 30] {
        queue.insert(after, ms(after));
    }
    assert!(task.with(|cx| queue.poll_expired(cx)).is_pending());
    rig.stall(10);
    rig.timers.shutdown(Shutdown::Drop);
    assert_eq!(task.wakes(), 1);
    let mut values = Vec::new();
    while let Poll::Ready(Some(expired)) = task.with(|cx| queue.poll_expired(cx)) {
        values.push(expired.value);
    }
    assert_eq!(values, [5, 10]);
    assert_eq!((queue.error(), queue.len()), (Some(ArmError::ShutDown), 2));
    let mut wheel = queue.into_inner();
    let mut rest: Vec<_> = wheel
        .drain()
        .map(|(_, at, value)| (at.get(), value))
        .collect();
    rest.sort_unstable();
    assert_eq!(rest, [(20, 20), (30, 30)]);
}
