//! The driver's own thread, on the real clock: never early, eventually, and asleep in between.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use tickwheel::{Cancel, ManualClock, Missed, Timers};

use crate::ms;

#[test]
fn timers_fire_in_real_time_and_never_early() {
    let timers = Timers::new().unwrap();
    let (done, wait) = mpsc::channel();
    for after in [0, 1, 3, 20, 7, 7] {
        let (done, from) = (done.clone(), Instant::now());
        timers
            .arm(ms(after), move |_| {
                done.send((after, from.elapsed())).unwrap();
            })
            .unwrap();
    }
    for _ in 0..6 {
        let (after, took) = wait.recv().unwrap();
        assert!(took >= ms(after), "{after} ms took {took:?}");
    }
}

/// quinn-rs/quinn#587 and esp-rs/esp-hal#4212: an earlier timer did not wake the driver; a later
/// one put its wake-up off.
#[test]
fn an_earlier_timer_wakes_the_driver_and_a_later_one_does_not_put_it_off() {
    let timers = Timers::new().unwrap();
    let (done, wait) = mpsc::channel();
    let arm = |name, after| {
        let done = done.clone();
        timers
            .arm(after, move |_| done.send(name).unwrap())
            .unwrap()
    };
    arm("far", Duration::from_secs(3600));
    thread::sleep(ms(2)); // for the driver to go to sleep; it need not have
    arm("soon", ms(10));
    arm("later", Duration::from_secs(1800));
    assert_eq!(wait.recv(), Ok("soon"));
}

#[test]
fn a_runtime_that_waits_for_something_far_does_not_wake_up() {
    let timers = Timers::new().unwrap();
    for n in 0..1_000 {
        timers.arm(Duration::from_secs(3600 + n), |_| {}).unwrap();
    }
    // Arming wakes it a few times at first.
    let mut before = timers.stats().wake_ups;
    loop {
        thread::sleep(ms(20));
        let now = timers.stats().wake_ups;
        if now == before {
            break;
        }
        before = now;
    }
    thread::sleep(ms(200));
    assert_eq!(timers.stats().wake_ups, before);
}

#[test]
fn a_callback_that_parks_its_thread_takes_no_wake_up_away() {
    let timers = Timers::new().unwrap();
    let (done, wait) = mpsc::channel();
    timers
        .every(ms(1), Missed::Skip, |_| {
            thread::park_timeout(Duration::from_micros(10));
        })
        .unwrap();
    for _ in 0..50 {
        let done = done.clone();
        timers.arm(ms(1), move |_| done.send(()).unwrap()).unwrap();
        wait.recv().unwrap();
    }
}

#[test]
fn a_thread_ends_with_the_last_handle_also_from_a_callback() {
    let timers = Timers::builder().thread_name("ends").build().unwrap();
    let (done, wait) = mpsc::channel();
    let ends = Ends(done);
    let mut last = Some(timers.clone());
    timers
        .arm(ms(1), move |_| {
            assert_eq!(thread::current().name(), Some("ends"));
            drop(last.take());
            drop(ends);
        })
        .unwrap();
    drop(timers);
    assert_eq!(wait.recv(), Ok(()));
}

struct Ends(mpsc::Sender<()>);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

/// valkey-io/valkey#4345: with a clock that stands still nothing expires, and nothing may spin.
#[test]
fn a_clock_that_stands_still_does_not_keep_the_thread_busy() {
    let clock = ManualClock::new();
    let timers = Timers::builder().clock(clock.clone()).build().unwrap();
    let (done, wait) = mpsc::channel();
    timers
        .arm(Duration::from_nanos(1), move |_| done.send(()).unwrap())
        .unwrap();
    thread::sleep(ms(50));
    let wake_ups = timers.stats().wake_ups;
    assert!(wake_ups <= 60, "{wake_ups} in 50 ms");
    clock.advance(ms(1)); // it does move after all
    wait.recv().unwrap();
}

#[test]
fn to_pause_and_resume_wakes_the_thread_when_it_should() {
    let timers = Timers::new().unwrap();
    let fired = Arc::new(AtomicUsize::new(0));
    timers.pause();
    let count = fired.clone();
    let (done, wait) = mpsc::channel();
    timers
        .arm(ms(1), move |_| {
            count.fetch_add(1, Ordering::SeqCst);
            done.send(()).unwrap();
        })
        .unwrap();
    thread::sleep(ms(10));
    assert_eq!(fired.load(Ordering::SeqCst), 0);
    timers.resume();
    wait.recv().unwrap();
}

#[test]
fn a_cancel_that_waits_returns_after_the_callback() {
    let timers = Timers::new().unwrap();
    for _ in 0..200 {
        let ran = Arc::new(AtomicUsize::new(0));
        let inner = ran.clone();
        let key = timers
            .arm(Duration::ZERO, move |_| {
                inner.store(1, Ordering::Relaxed);
                thread::yield_now();
                inner.store(2, Ordering::Relaxed);
            })
            .unwrap();
        let waited = timers.cancel_wait(key);
        let ran = ran.load(Ordering::Relaxed);
        match waited {
            Cancel::Cancelled(()) => assert_eq!(ran, 0),
            Cancel::Stale => assert_eq!(ran, 2),
            Cancel::Running => unreachable!("this is no callback"),
        }
    }
}

#[test]
fn the_runtime_of_the_process_is_one() {
    assert!(Timers::global().is_same(Timers::global()));
    let (done, wait) = mpsc::channel();
    Timers::global()
        .arm(ms(1), move |_| done.send(7).unwrap())
        .unwrap();
    assert_eq!(wait.recv(), Ok(7));
}

/// How a suspended machine resumes cannot be tested here. That it sleeps and wakes can.
#[cfg(feature = "boot-clock")]
#[test]
fn a_thread_on_a_clock_that_counts_suspended_time_sleeps_and_wakes() {
    let timers = Timers::builder().boot_clock().build().unwrap();
    let (done, wait) = mpsc::channel();
    let arm = |after| {
        let (done, from) = (done.clone(), Instant::now());
        let callback = move |_: &mut tickwheel::Firing<'_>| {
            done.send((after, from.elapsed())).unwrap();
        };
        timers.arm(after, callback).unwrap()
    };
    arm(ms(20));
    thread::sleep(ms(2)); // for it to go to sleep; it need not have
    arm(ms(3));
    for expected in [3, 20] {
        let (after, took) = wait.recv().unwrap();
        assert_eq!(after, ms(expected));
        assert!(took >= after, "{after:?} took {took:?}");
    }
    let far = arm(Duration::from_secs(3600));
    let before = timers.stats().wake_ups;
    thread::sleep(ms(50));
    assert!(
        timers.stats().wake_ups <= before + 1,
        "one to see the far one"
    );
    timers.rearm(far, ms(1)).unwrap();
    wait.recv().unwrap();
}

/// Snapchat/KeyDB#904: a mass expiry held up those who had nothing to do with it.
#[test]
fn arming_and_cancelling_go_on_while_a_callback_blocks_the_driver() {
    let timers = Timers::new().unwrap();
    let (began, wait) = mpsc::channel();
    let (go_on, stuck) = mpsc::channel::<()>();
    timers
        .arm(Duration::ZERO, move |_| {
            began.send(()).unwrap();
            assert!(stuck.recv().is_err());
        })
        .unwrap();
    wait.recv().unwrap();
    let (done, wait) = mpsc::channel();
    for n in 0..1_000 {
        let done = done.clone();
        let key = timers.arm(ms(1), move |_| done.send(n).unwrap()).unwrap();
        if n % 2 == 0 {
            assert!(timers.cancel(key).is_cancelled());
        }
    }
    drop(go_on);
    for _ in 0..500 {
        assert_eq!(wait.recv().unwrap() % 2, 1);
    }
}

/// The driver has announced until when it sleeps. A turn by somebody else takes that back.
#[test]
fn a_turn_by_somebody_else_does_not_cost_the_driver_its_wake_up() {
    for ask in [
        |timers: &Timers| {
            let _ = timers.turn();
        },
        |timers: &Timers| {
            let _ = timers.turn_fully();
        },
        |timers: &Timers| {
            let _ = timers.next_timeout();
        },
        |timers: &Timers| {
            let _ = timers.advance_to_next(&ManualClock::new());
        },
    ] {
        let timers = Timers::new().unwrap();
        thread::sleep(ms(5)); // for the driver to go to sleep; it need not have
        ask(&timers);
        let (done, wait) = mpsc::channel();
        timers.arm(ms(5), move |_| done.send(()).unwrap()).unwrap();
        wait.recv().unwrap();
    }
}
