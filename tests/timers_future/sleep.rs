//! Sleeps: when they are ready, what they register, and where they are moved to.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Mutex;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use tickwheel::{ArmError, Resolution, Sleep, Timers, Timestamp};

use crate::rig::{Counted, Rig, Task, at, block_on, ms};

const READY: Poll<Result<(), ArmError>> = Poll::Ready(Ok(()));

#[test]
fn it_is_ready_at_its_time_and_not_before() {
    let rig = Rig::new();
    for after in [1, 2, 255, 256, 257, 4_100, 70_000] {
        let (task, begin) = (Task::new(), rig.now());
        let mut sleep = rig.timers.sleep(ms(after));
        assert_eq!(task.poll(&mut sleep), Poll::Pending, "after {after}");
        rig.go(begin + after - 1);
        let early = (task.wakes(), task.poll(&mut sleep), sleep.is_elapsed());
        assert_eq!(early, (0, Poll::Pending, false), "after {after}");
        rig.go(begin + after);
        assert_eq!(
            (task.wakes(), sleep.is_elapsed()),
            (1, true),
            "after {after}"
        );
        assert_eq!(task.poll(&mut sleep), READY, "after {after}");
        assert_eq!(task.poll(&mut sleep), READY, "again, after {after}");
        assert_eq!((rig.timers.len(), task.wakers()), (0, 1), "after {after}");
    }
}

#[test]
fn it_is_exact_on_the_clock_and_woken_at_the_tick_that_follows() {
    let rig = Rig::with(Timers::builder().resolution(Resolution::MILLISECOND));
    let at = Timestamp::from_nanos(1_500_000);
    let (waiting, polling) = (Task::new(), Task::new());
    let (mut one, mut other) = (rig.timers.sleep_until(at), rig.timers.sleep_until(at));
    assert_eq!(waiting.poll(&mut one), Poll::Pending);
    rig.clock.set(Timestamp::from_nanos(1_499_999));
    assert_eq!(polling.poll(&mut other), Poll::Pending);
    rig.clock.set(at);
    assert_eq!(rig.timers.turn().unwrap().fired, 0); // the tick is at 2 ms
    assert_eq!((polling.poll(&mut other), waiting.wakes()), (READY, 0));
    assert_eq!((rig.go(2), waiting.wakes(), polling.wakes()), (1, 1, 0));
}

#[test]
fn a_driver_that_lags_does_not_make_a_poll_late() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut sleep = rig.timers.sleep(ms(10));
    assert_eq!(task.poll(&mut sleep), Poll::Pending);
    rig.stall(10);
    assert_eq!(task.poll(&mut sleep), READY);
    assert_eq!(rig.timers.len(), 0); // and there is nothing left to fire
    assert_eq!((rig.go(11), task.wakes()), (0, 0));
}

/// embassy-rs/embassy#4529, embassy-rs/embassy#4531
#[test]
fn a_time_that_is_past_is_ready_at_the_first_poll() {
    let (rig, task) = (Rig::new(), Task::new());
    rig.go(20);
    for past in [at(0), at(15), at(20)] {
        let mut sleep = rig.timers.sleep_until(past);
        assert_eq!(task.poll(&mut sleep), READY, "{past:?}");
    }
    assert_eq!(task.poll(&mut rig.timers.sleep(Duration::ZERO)), READY);
    assert_eq!((rig.timers.len(), task.wakers()), (0, 1));
}

#[test]
fn never_is_never_ready_and_leaves_when_it_is_dropped() {
    let (rig, task) = (Rig::new(), Task::new());
    let never = rig.timers.sleep(Duration::MAX);
    for mut sleep in [never, rig.timers.sleep_until(Timestamp::NEVER)] {
        assert_eq!(task.poll(&mut sleep), Poll::Pending);
        rig.clock.set(Timestamp::NEVER);
        rig.timers.turn().unwrap();
        assert_eq!((task.poll(&mut sleep), task.wakes()), (Poll::Pending, 0));
        assert_eq!((rig.timers.len(), sleep.is_elapsed()), (1, false));
        drop(sleep);
        assert_eq!(rig.timers.len(), 0);
    }
}

/// tokio-rs/tokio#1125
#[test]
fn a_relative_time_counts_from_the_first_poll() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut sleep = rig.timers.sleep(ms(30));
    rig.go(20);
    assert_eq!((sleep.deadline(), sleep.is_elapsed()), (None, false));
    assert_eq!(task.poll(&mut sleep), Poll::Pending);
    assert_eq!(sleep.deadline(), Some(at(50)));
    rig.go(49);
    assert_eq!(task.poll(&mut sleep), Poll::Pending);
    rig.go(50);
    assert_eq!((task.wakes(), task.poll(&mut sleep)), (1, READY));
    assert_eq!(sleep.deadline(), Some(at(50)));
}

#[test]
fn each_poll_reads_the_clock_once_and_making_one_does_not() {
    let clock = Counted::new();
    let timers = Timers::builder().clock(clock.clone());
    let (timers, task) = (timers.build_hand_driven().unwrap(), Task::new());
    let before = clock.reads();
    let mut sleeps = [timers.sleep(ms(5)), timers.sleep_until(at(5))];
    assert_eq!(clock.reads(), before);
    for sleep in &mut sleeps {
        for polls in 0..3 {
            let before = clock.reads();
            assert_eq!(task.poll(sleep), Poll::Pending);
            assert_eq!(clock.reads(), before + 1, "poll {polls}");
        }
    }
}

#[test]
fn dropped_in_any_state_it_leaves_nothing() {
    let (rig, task) = (Rig::new(), Task::new());
    let unpolled = rig.timers.sleep(ms(1));
    let mut armed = rig.timers.sleep(ms(1));
    let mut fired = rig.timers.sleep(ms(1));
    let mut elapsed = rig.timers.sleep(ms(1));
    for sleep in [&mut fired, &mut elapsed] {
        assert_eq!(task.poll(sleep), Poll::Pending);
    }
    rig.go(1);
    assert_eq!(task.poll(&mut elapsed), READY);
    assert_eq!(task.poll(&mut armed), Poll::Pending);
    assert_eq!((rig.timers.len(), task.wakers()), (1, 2));
    for sleep in [unpolled, armed, fired, elapsed] {
        drop(sleep);
    }
    assert_eq!((rig.timers.len(), task.wakers()), (0, 1));
    assert_eq!(rig.go(9), 0);
}

#[test]
fn a_full_runtime_refuses_what_would_wait_and_it_may_try_again() {
    let rig = Rig::with(Timers::builder().limit(1));
    let task = Task::new();
    let mut first = rig.timers.sleep(ms(10));
    let mut second = rig.timers.sleep(ms(10));
    assert_eq!(task.poll(&mut first), Poll::Pending);
    assert_eq!(task.poll(&mut second), Poll::Ready(Err(ArmError::Full)));
    assert_eq!(task.poll(&mut rig.timers.sleep(ms(0))), READY); // needs no room
    drop(first);
    assert_eq!(task.poll(&mut second), Poll::Pending);
    assert_eq!((rig.go(10), task.poll(&mut second)), (1, READY)); // counted from its first poll
}

#[test]
fn a_pause_delays_the_wake_up_only() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut waiting = rig.timers.sleep(ms(10));
    let mut polled = rig.timers.sleep(ms(10));
    assert_eq!(task.poll(&mut waiting), Poll::Pending);
    assert_eq!(Task::new().poll(&mut polled), Poll::Pending);
    rig.timers.pause();
    assert_eq!((rig.go(10), task.wakes()), (0, 0));
    assert_eq!(task.poll(&mut polled), READY);
    rig.timers.resume();
    assert_eq!((rig.go(10), task.wakes()), (1, 1));
    assert_eq!(task.poll(&mut waiting), READY);
}

#[test]
fn while_a_clock_has_gone_back_time_stands_still() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut sleep = rig.timers.sleep(ms(10));
    assert_eq!(task.poll(&mut sleep), Poll::Pending);
    assert_eq!(rig.go(10), 1);
    rig.clock.jump(at(5)); // after the task was woken, before it polls
    assert_eq!(task.poll(&mut sleep), READY);

    let mut next = rig.timers.sleep(ms(2)); // from 10 on
    assert_eq!(task.poll(&mut next), Poll::Pending);
    for now in 5..12 {
        assert_eq!(
            (rig.go(now), task.poll(&mut next)),
            (0, Poll::Pending),
            "at {now}"
        );
    }
    assert_eq!((rig.go(12), task.wakes()), (1, 2));
    assert_eq!(task.poll(&mut next), READY);
}

// --- reset ---

/// tokio-rs/tokio#849
#[test]
fn reset_to_sooner_wakes_then_and_not_at_a_slot_boundary() {
    for first in [70, 130, 199, 200, 4_100, 70_000] {
        let (rig, task) = (Rig::new(), Task::new());
        rig.go(1);
        let mut sleep = rig.timers.sleep_until(at(first));
        assert_eq!(task.poll(&mut sleep), Poll::Pending);
        rig.go(3);
        sleep.reset_at(at(5));
        assert_eq!((rig.go(4), task.wakes()), (0, 0), "first {first}");
        assert_eq!((rig.go(5), task.wakes()), (1, 1), "first {first}");
        assert_eq!(task.poll(&mut sleep), READY, "first {first}");
    }
}

/// tokio-rs/tokio#2290
#[test]
fn reset_within_a_slot_whose_start_is_past_wakes_once_and_then() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut sleep = rig.timers.sleep_until(at(300));
    assert_eq!(task.poll(&mut sleep), Poll::Pending);
    rig.go(280);
    sleep.reset_at(at(320));
    for now in 281..320 {
        assert_eq!((rig.go(now), task.wakes()), (0, 0), "at {now}");
    }
    assert_eq!((rig.go(320), task.wakes()), (1, 1));
    assert_eq!(task.poll(&mut sleep), READY);
}

/// tokio-rs/tokio#2290, tokio-rs/tokio#8274
#[test]
fn reset_into_the_past_wakes_the_task_without_the_clock_moving() {
    let called = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let calls = std::sync::Arc::clone(&called);
    let rig = Rig::with(Timers::builder().wake(move || {
        calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    }));
    let task = Task::new();
    let mut sleep = rig.timers.sleep(ms(1_000));
    assert_eq!(task.poll(&mut sleep), Poll::Pending);
    rig.go(50);
    assert!(rig.timers.next_timeout().unwrap() > ms(100)); // the driver sleeps
    let before = called.load(std::sync::atomic::Ordering::SeqCst);
    sleep.reset_at(at(49));
    let after = called.load(std::sync::atomic::Ordering::SeqCst);
    assert_eq!(after, before + 1, "the driver is called");
    assert_eq!((rig.go(50), task.wakes()), (1, 1));
    assert_eq!(task.poll(&mut sleep), READY);
}

/// tokio-rs/tokio#2290, tokio-rs/tokio#8274
#[test]
fn reset_into_the_past_by_another_task_wakes_one_that_waits_for_a_driver_in_a_thread() {
    let timers = Timers::new().unwrap();
    for _ in 0..100 {
        let sleep = Mutex::new(timers.sleep(Duration::from_secs(3_600)));
        thread::scope(|scope| {
            let waits = scope
                .spawn(|| block_on(poll_fn(|cx| Pin::new(&mut *sleep.lock().unwrap()).poll(cx))));
            while timers.is_empty() {
                thread::yield_now(); // it does not wait yet
            }
            sleep.lock().unwrap().reset_at(Timestamp::ZERO);
            assert_eq!(waits.join().unwrap(), Ok(()));
        });
    }
}

/// tokio-rs/tokio#868, tokio-rs/tokio#871
#[test]
fn of_several_resets_the_last_counts() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut sleep = rig.timers.sleep(ms(200));
    assert_eq!(task.poll(&mut sleep), Poll::Pending);
    for (deadline, again) in [(300, false), (250, true), (90_000, false), (400, true)] {
        sleep.reset_at(at(deadline));
        if again {
            assert_eq!(task.poll(&mut sleep), Poll::Pending);
        }
    }
    assert_eq!((rig.go(399), task.wakes()), (0, 0));
    assert_eq!((rig.go(400), task.wakes()), (1, 1));
    assert_eq!((task.poll(&mut sleep), rig.timers.len()), (READY, 0));
}

#[test]
fn reset_moves_the_timer_and_registers_nothing() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut sleep = rig.timers.sleep(ms(10));
    assert_eq!(task.poll(&mut sleep), Poll::Pending);
    sleep.reset(ms(20));
    assert_eq!(task.poll(&mut sleep), Poll::Pending);
    let stats = rig.timers.stats();
    assert_eq!((stats.armed, stats.cancelled, stats.rearmed), (1, 0, 1));
}

#[test]
fn reset_counts_from_the_call_in_every_state() {
    type Prepare = fn(&Rig, &Task, &mut Sleep);
    let states: [(&str, Prepare); 4] = [
        ("unpolled", |_, _, _| {}),
        ("armed", |_, task, sleep| {
            assert_eq!(task.poll(sleep), Poll::Pending);
        }),
        ("fired", |rig, task, sleep| {
            assert_eq!(task.poll(sleep), Poll::Pending);
            assert_eq!(rig.go(10), 1);
        }),
        ("elapsed", |rig, task, sleep| {
            rig.stall(10);
            sleep.reset(ms(0));
            assert_eq!(task.poll(sleep), READY);
        }),
    ];
    for (state, prepare) in states {
        let (rig, task) = (Rig::new(), Task::new());
        let mut sleep = rig.timers.sleep(ms(10));
        prepare(&rig, &task, &mut sleep);
        let (begin, wakes) = (rig.now(), task.wakes());
        sleep.reset(ms(7));
        rig.stall(begin + 2);
        assert_eq!(sleep.deadline(), Some(at(begin + 7)), "{state}");
        assert_eq!(task.poll(&mut sleep), Poll::Pending, "{state}");
        assert_eq!((rig.go(begin + 6), task.wakes()), (0, wakes), "{state}");
        assert_eq!((rig.go(begin + 7), task.wakes()), (1, wakes + 1), "{state}");
        assert_eq!(
            (task.poll(&mut sleep), rig.timers.len()),
            (READY, 0),
            "{state}"
        );
    }
}

#[test]
fn the_handle_of_a_callback_makes_them_too() {
    let (rig, task) = (Rig::new(), Task::new());
    let (send, receive) = std::sync::mpsc::channel();
    let arm = rig.timers.arm(ms(5), move |firing| {
        let timers = firing.timers();
        send.send([timers.sleep(ms(3)), timers.sleep_until(at(8))])
            .unwrap();
    });
    assert!(arm.is_ok());
    assert_eq!(rig.go(5), 1);
    for mut sleep in receive.recv().unwrap() {
        assert_eq!(task.poll(&mut sleep), Poll::Pending);
        assert_eq!(sleep.deadline(), Some(at(8)));
    }
    assert_eq!(rig.timers.len(), 0);
}

#[test]
fn made_polled_and_dropped_in_three_threads_it_is_the_same() {
    let (rig, task) = (Rig::new(), Task::new());
    for _ in 0..100 {
        let timers = &rig.timers;
        let sleep = thread::scope(|scope| {
            let sleep = scope.spawn(|| timers.sleep(ms(3))).join().unwrap();
            let poll = |mut sleep| {
                assert_eq!(task.poll(&mut sleep), Poll::Pending);
                sleep
            };
            scope.spawn(move || poll(sleep)).join().unwrap()
        });
        assert_eq!((timers.len(), task.wakers()), (1, 2));
        drop(sleep);
        assert_eq!((timers.len(), task.wakers()), (0, 1));
    }
}

#[test]
fn it_may_cross_threads_and_be_stored() {
    fn check<T: Send + Sync + Unpin + 'static>() {}
    check::<Sleep>();
    check::<tickwheel::Interval>();
    check::<tickwheel::Expirations<String>>();
    let _ = Rig::new().timers.expirations::<std::rc::Rc<u8>>(); // values may stay in their thread
    check::<tickwheel::Timeout<'static, std::future::Ready<u8>>>();
}

#[test]
fn the_text_of_its_states_tells_them_apart() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut sleep = rig.timers.sleep(ms(1));
    let unpolled = format!("{sleep:?}");
    let _ = task.poll(&mut sleep);
    let armed = format!("{sleep:?}");
    rig.go(1);
    let _ = task.poll(&mut sleep);
    let elapsed = format!("{sleep:?}");
    let has = |text: &str, word| text.contains(word);
    assert!(has(&unpolled, "after: 1ms"), "{unpolled}");
    assert!(has(&armed, "key") && has(&armed, "deadline"), "{armed}");
    assert!(has(&elapsed, "elapsed: true"), "{elapsed}");
}
