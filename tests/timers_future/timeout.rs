//! Timeouts: the order of what is looked at, and what they cost when nothing is to wait for.

use std::future::{Future, pending, poll_fn, ready};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tickwheel::{ArmError, Resolution, Shutdown, TimeoutError, Timers};

use crate::rig::{Counted, Rig, Task, at, block_on, ms};

const ELAPSED: Poll<Result<(), TimeoutError>> = Poll::Ready(Err(TimeoutError::Elapsed));

/// tokio-rs/tokio#603, tokio-rs/tokio#8214
#[test]
fn a_future_that_is_ready_gives_its_value_even_without_any_time() {
    let (rig, task) = (Rig::new(), Task::new());
    rig.go(20);
    let zero = pin!(rig.timers.timeout(Duration::ZERO, ready(1)));
    assert_eq!(task.poll_pin(zero), Poll::Ready(Ok(1)));
    let past = pin!(rig.timers.timeout_at(at(5), ready(2)));
    assert_eq!(task.poll_pin(past), Poll::Ready(Ok(2)));
    // Ready and out of time at the same poll.
    let mut polls = 0;
    let second = poll_fn(|_| {
        polls += 1;
        if polls == 2 {
            Poll::Ready(3)
        } else {
            Poll::Pending
        }
    });
    let mut both = pin!(rig.timers.timeout(ms(10), second));
    assert_eq!(task.poll_pin(both.as_mut()), Poll::Pending);
    assert_eq!((rig.go(30), task.wakes()), (1, 1));
    assert_eq!(task.poll_pin(both), Poll::Ready(Ok(3)));
    assert_eq!((rig.timers.len(), task.wakers()), (0, 1));
}

#[test]
fn a_future_that_is_ready_at_once_costs_neither_a_timer_nor_a_look_at_the_clock() {
    let clock = Counted::new();
    let timers = Timers::builder().clock(clock.clone());
    let (timers, task) = (timers.build_hand_driven().unwrap(), Task::new());
    let before = clock.reads();
    let watched = poll_fn(|_| Poll::Ready(timers.len()));
    let timeout = pin!(timers.timeout(ms(5), watched));
    assert_eq!(task.poll_pin(timeout), Poll::Ready(Ok(0)));
    let owned = pin!(timers.timeout(ms(5), ready(())).owned());
    assert_eq!(task.poll_pin(owned), Poll::Ready(Ok(())));
    assert_eq!((clock.reads(), timers.len()), (before, 0));
    let stats = timers.stats();
    assert_eq!((stats.armed, stats.cancelled), (0, 0));
}

#[test]
fn a_future_that_is_stuck_is_given_up_at_its_time_and_not_before() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut relative = pin!(rig.timers.timeout(ms(50), pending::<()>()));
    let mut absolute = pin!(rig.timers.timeout_at(at(50), pending::<()>()).owned());
    for _ in 0..2 {
        assert_eq!(task.poll_pin(relative.as_mut()), Poll::Pending);
        assert_eq!(task.poll_pin(absolute.as_mut()), Poll::Pending);
    }
    assert_eq!((rig.go(49), task.wakes()), (0, 0));
    assert_eq!((rig.go(50), task.wakes()), (2, 2));
    assert_eq!(task.poll_pin(relative), ELAPSED);
    assert_eq!(task.poll_pin(absolute), ELAPSED);
}

/// tokio-rs/tokio#1125
#[test]
fn the_time_counts_from_the_first_poll() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut timeout = pin!(rig.timers.timeout(ms(30), pending::<()>()));
    let mut owned = pin!(rig.timers.timeout(ms(30), pending::<()>()).owned());
    rig.go(20);
    assert_eq!(task.poll_pin(timeout.as_mut()), Poll::Pending);
    assert_eq!(task.poll_pin(owned.as_mut()), Poll::Pending);
    rig.go(49);
    assert_eq!(task.poll_pin(timeout.as_mut()), Poll::Pending);
    assert_eq!(task.poll_pin(owned.as_mut()), Poll::Pending);
    rig.go(50);
    assert_eq!(task.poll_pin(timeout), ELAPSED);
    assert_eq!(task.poll_pin(owned), ELAPSED);
}

/// tokio-rs/tokio#4314, tokio-rs/tokio#4291
#[test]
fn a_future_that_keeps_its_task_busy_is_given_up_at_the_first_poll_in_time() {
    let (rig, task) = (Rig::new(), Task::new());
    let busy = poll_fn(|cx| {
        cx.waker().wake_by_ref();
        rig.clock.advance(ms(10)); // and nobody drives
        Poll::<()>::Pending
    });
    let mut timeout = pin!(rig.timers.timeout_at(at(50), busy));
    for now in [10, 20, 30, 40] {
        assert_eq!(task.poll_pin(timeout.as_mut()), Poll::Pending, "at {now}");
    }
    assert_eq!((task.poll_pin(timeout), rig.timers.len()), (ELAPSED, 0));
}

/// tokio-rs/tokio#4314, tokio-rs/tokio#4291
#[test]
fn a_future_that_spends_the_budget_of_its_task_is_given_up_all_the_same() {
    let rig = Rig::new();
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let mut polls = 0;
    let greedy = poll_fn(|cx| {
        polls += 1;
        rig.clock.advance(ms(10));
        loop {
            let spent = pin!(tokio::task::coop::consume_budget());
            if spent.poll(cx).is_pending() {
                return Poll::<()>::Pending; // the task is woken by that already
            }
        }
    });
    let timeout = rig.timers.timeout_at(at(50), greedy);
    let outcome = runtime.unwrap().block_on(timeout);
    assert_eq!((outcome, polls), (Err(TimeoutError::Elapsed), 5));
}

/// reactor/reactor-core#2260
#[test]
fn no_time_and_one_tick_always_end() {
    let (rig, task) = (Rig::new(), Task::new());
    for round in 0..100_000 {
        let begin = rig.now();
        let zero = pin!(rig.timers.timeout(Duration::ZERO, pending::<()>()));
        assert_eq!(task.poll_pin(zero), ELAPSED, "round {round}");
        let mut one = pin!(rig.timers.timeout(ms(1), pending::<()>()));
        assert_eq!(task.poll_pin(one.as_mut()), Poll::Pending, "round {round}");
        assert_eq!(rig.go(begin + 1), 1, "round {round}");
        assert_eq!(task.wakes(), round + 1);
        assert_eq!(task.poll_pin(one), ELAPSED, "round {round}");
    }
    assert_eq!((rig.timers.len(), task.wakers()), (0, 1));
}

/// reactor/reactor-core#2260
#[test]
fn one_tick_of_a_driver_in_a_thread_always_ends() {
    const AT_A_TIME: usize = 100;
    let resolution = Resolution::MICROSECOND;
    let timers = Timers::builder().resolution(resolution).build().unwrap();
    for _ in 0..100_000 / AT_A_TIME {
        let tick = |_| Box::pin(timers.timeout(resolution.tick(), pending::<()>()));
        let mut left: Vec<_> = (0..AT_A_TIME).map(tick).collect();
        block_on(poll_fn(|cx| {
            left.retain_mut(|timeout| {
                let polled = timeout.as_mut().poll(cx);
                assert!(polled.is_pending() || polled == ELAPSED, "{polled:?}");
                polled.is_pending()
            });
            if left.is_empty() {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        }));
    }
    assert_eq!(timers.len(), 0);
}

#[test]
fn dropped_it_leaves_nothing_and_drops_its_future() {
    let (rig, task) = (Rig::new(), Task::new());
    let held = Arc::new(());
    let inner = Arc::clone(&held);
    let stuck = async move {
        let _inner = inner;
        pending::<()>().await;
    };
    let mut timeout = Box::pin(rig.timers.timeout(ms(50), stuck));
    assert_eq!(task.poll_pin(timeout.as_mut()), Poll::Pending);
    assert_eq!((rig.timers.len(), Arc::strong_count(&held)), (1, 2));
    drop(timeout);
    assert_eq!((rig.timers.len(), Arc::strong_count(&held)), (0, 1));
    assert_eq!((rig.go(99), task.wakers()), (0, 1));
}

#[test]
fn once_owned_it_waits_on_for_the_same_time() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut timeout = rig.timers.timeout(ms(50), pending::<()>());
    assert_eq!(task.poll(&mut timeout), Poll::Pending);
    rig.go(20);
    let mut owned = timeout.owned();
    assert_eq!((rig.go(50), task.wakes()), (1, 1));
    assert_eq!(task.poll(&mut owned), ELAPSED);
}

#[test]
fn what_stands_in_the_way_of_waiting_is_said_only_when_it_has_to_wait() {
    let rig = Rig::with(Timers::builder().limit(1));
    let task = Task::new();
    let key = rig.timers.arm(ms(99), |_| {}).unwrap();
    let refused = |error| Poll::Ready(Err(error));
    let timeout = |ready: bool| {
        let inner = poll_fn(move |_| {
            if ready {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        });
        task.poll(&mut rig.timers.timeout(ms(5), inner))
    };
    assert_eq!(timeout(true), Poll::Ready(Ok(())));
    assert_eq!(timeout(false), refused(TimeoutError::Full));
    assert!(rig.timers.cancel(key).is_cancelled());
    assert_eq!(timeout(false), Poll::Pending);
    rig.timers.shutdown(Shutdown::Drop);
    assert_eq!(timeout(true), Poll::Ready(Ok(())));
    assert_eq!(timeout(false), refused(TimeoutError::ShutDown));
}

#[test]
fn every_refusal_is_passed_on_as_what_it_is() {
    let pairs = [
        (ArmError::Full, TimeoutError::Full),
        (ArmError::ShutDown, TimeoutError::ShutDown),
        (ArmError::ZeroPeriod, TimeoutError::ZeroPeriod),
    ];
    for (refused, passed) in pairs {
        assert_eq!(TimeoutError::from(refused), passed);
        assert_eq!(passed.to_string(), refused.to_string());
    }
}
