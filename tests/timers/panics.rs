//! Properties: a panic anywhere in somebody's code loses nothing but itself; callbacks may do
//! whatever they like.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tickwheel::{Cancel, Missed, Shutdown};

use crate::{Bed, Log, ms};

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("dropped");
        }
    }
}

/// tokio-rs/tokio#6584: a waker that panicked took the rest of its batch with it.
#[test]
fn the_rest_of_a_batch_fires_in_the_same_turn_when_a_callback_panics() {
    let bed = Bed::new();
    for n in 0..10 {
        let mut logs = bed.logs("fired");
        bed.timers
            .arm(ms(10), move |firing| {
                assert_ne!(n, 4, "as planned");
                logs(firing);
            })
            .unwrap();
    }
    assert_eq!(bed.drive_to(10), 10);
    assert_eq!(bed.log.len(), 9);
    assert_eq!(bed.timers.stats().panics, 1);
}

#[test]
fn a_panic_is_reported_with_its_message_and_the_label() {
    let log = Arc::new(std::sync::Mutex::new(Vec::new()));
    let told = log.clone();
    let bed = Bed::with(|builder| {
        builder.on_panic(move |panic| {
            let message = panic.message().map(ToOwned::to_owned);
            told.lock().unwrap().push((panic.label, message));
            panic!("the hook as well");
        })
    });
    let options = bed.timers.options().label("sweep");
    options.arm(ms(1), |_| panic!("plain")).unwrap();
    options.arm(ms(2), |_| panic!("number {}", 7)).unwrap();
    options.arm(ms(3), |_| std::panic::panic_any(7)).unwrap();
    while bed.timers.advance_to_next(&bed.clock) > 0 {}
    let told = log.lock().unwrap();
    assert_eq!(
        *told,
        [
            ("sweep", Some("plain".to_owned())),
            ("sweep", Some("number 7".to_owned())),
            ("sweep", None),
        ]
    );
    assert_eq!(bed.timers.stats().panics, 6);
}

#[test]
fn a_periodic_timer_goes_on_after_a_panic_and_a_repeating_one_does_not() {
    let bed = Bed::new();
    bed.timers
        .every(ms(10), Missed::Skip, |_| panic!("as planned"))
        .unwrap();
    let over = bed
        .timers
        .arm_repeating(ms(10), |_| panic!("as planned"))
        .unwrap();
    for now in 1..=50 {
        bed.drive_to(now);
    }
    assert_eq!(bed.timers.stats().panics, 6);
    assert_eq!(bed.timers.cancel(over), Cancel::Stale);
    assert_eq!(bed.timers.len(), 1);
}

#[test]
fn destructors_that_panic_are_caught_wherever_the_driver_drops() {
    let bed = Bed::with(|builder| {
        builder.before_fire(|pending| match pending.label {
            "vetoed" => tickwheel::Verdict::Veto,
            _ => tickwheel::Verdict::Fire,
        })
    });
    let bomb = Bomb;
    bed.timers
        .options()
        .label("vetoed")
        .arm(ms(1), move |_| drop(bomb))
        .unwrap();
    let bomb = Bomb;
    bed.timers.arm(ms(1), move |_| drop(bomb)).unwrap();
    let bomb = Bomb;
    bed.timers
        .every(ms(1), Missed::Skip, move |firing| {
            let _ = &bomb;
            firing.stop(); // dropped after the call
        })
        .unwrap();
    bed.timers
        .arm(ms(1), |_| std::panic::panic_any(Bomb))
        .unwrap();
    bed.timers.arm(ms(1), bed.logs("after all that")).unwrap();
    bed.drive_to(1);
    assert_eq!(bed.log.len(), 1);
    assert_eq!(bed.timers.stats().panics, 5); // the last one twice: with it, and by it
    assert!(bed.timers.is_empty());
}

#[test]
fn destructors_that_panic_do_not_keep_a_shutdown_from_its_end() {
    let bed = Bed::new();
    for _ in 0..3 {
        let bomb = Bomb;
        bed.timers.arm(ms(1), move |_| drop(bomb)).unwrap();
    }
    assert!(bed.timers.shutdown(Shutdown::Drop).is_empty());
    assert!(bed.timers.is_empty());
    assert_eq!(bed.timers.stats().panics, 3);
    assert_eq!(bed.timers.stats().returned, 3);
}

#[test]
fn a_callback_may_arm_cancel_and_move_itself_and_others() {
    let bed = Bed::new();
    let sibling = bed.timers.arm(ms(11), bed.logs("sibling")).unwrap();
    let moved = bed.timers.arm(ms(12), bed.logs("moved")).unwrap();
    let log = bed.log.clone();
    bed.timers
        .arm(ms(10), move |firing| {
            let timers = firing.timers();
            assert_eq!(timers.cancel(firing.key()), Cancel::Running);
            assert_eq!(timers.cancel_wait(firing.key()), Cancel::Running);
            assert!(timers.rearm(firing.key(), ms(1)).is_err());
            assert!(timers.cancel(sibling).is_cancelled());
            timers.rearm(moved, ms(20)).unwrap();
            timers.arm(ms(0), move |_| log.add(0, "zero")).unwrap();
        })
        .unwrap();
    bed.clock.advance(ms(12));
    // The one for no time at all is due at 12, and so in this same turn.
    assert_eq!(bed.timers.turn_fully().unwrap().fired, 2);
    while bed.timers.advance_to_next(&bed.clock) > 0 {}
    let names: Vec<_> = bed.log.take().into_iter().map(|(_, name)| name).collect();
    assert_eq!(names, ["zero", "moved"]);
    assert_eq!(bed.timers.stats().panics, 0);
}

/// libuv/libuv#4245: a callback that armed itself for no time at all kept the loop for ever.
#[test]
fn a_callback_that_comes_back_at_once_does_not_keep_a_turn_busy() {
    let bed = Bed::new();
    bed.timers
        .arm_repeating(ms(10), |firing| tickwheel::Next::At(firing.now()))
        .unwrap();
    bed.timers.arm(ms(10), bed.logs("other")).unwrap();
    assert_eq!(bed.drive_to(10), 2);
    assert_eq!(bed.timers.turn_fully().unwrap().fired, 1);
    assert_eq!(bed.timers.next_timeout(), Some(ms(0)));
}

#[test]
fn a_periodic_timer_that_was_cancelled_in_its_callback_does_not_come_back() {
    let bed = Bed::new();
    let log = bed.log.clone();
    bed.timers
        .every(ms(10), Missed::Skip, move |firing| {
            log.add(0, "beat");
            assert_eq!(firing.timers().cancel(firing.key()), Cancel::Running);
        })
        .unwrap();
    for now in 1..=50 {
        bed.drive_to(now);
    }
    assert_eq!(bed.log.len(), 1);
    assert!(bed.timers.is_empty());
}

/// All callbacks may drop the last handle of the runtime that calls them.
#[test]
fn a_callback_may_drop_the_last_handle() {
    let bed = Bed::new();
    let dropped = Arc::new(AtomicUsize::new(0));
    let count = dropped.clone();
    bed.timers
        .arm(ms(20), {
            let held = Counted(count.clone());
            move |_| drop(held)
        })
        .unwrap();
    let Bed { clock, timers, .. } = bed;
    let last = Arc::new(std::sync::Mutex::new(None));
    let inner = last.clone();
    timers
        .arm(ms(10), move |_| drop(inner.lock().unwrap().take()))
        .unwrap();
    *last.lock().unwrap() = Some(timers.clone());
    clock.advance(ms(10));
    let turned = timers.turn();
    drop(timers); // now it is the last
    assert_eq!(turned.unwrap().fired, 1);
    assert_eq!(dropped.load(Ordering::Relaxed), 1);
}

struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_log_is_what_the_callbacks_said() {
    // The bed itself: what is not logged is not there.
    let log = Log::default();
    log.add(1, "a");
    assert_eq!(log.take(), [(1, "a")]);
    assert_eq!(log.len(), 0);
}

/// A payload that panics when it is dropped, with one that does the same, and so on.
struct Chain(u32);

impl Drop for Chain {
    fn drop(&mut self) {
        if self.0 > 0 {
            std::panic::panic_any(Self(self.0 - 1));
        }
    }
}

#[test]
fn what_was_panicked_with_may_panic_when_it_is_dropped_and_so_on() {
    let bed = Bed::with(|builder| builder.on_panic(|_| std::panic::panic_any(Chain(3))));
    bed.timers
        .every(ms(1), Missed::Skip, |_| std::panic::panic_any(Chain(5)))
        .unwrap();
    for now in 1..=3 {
        assert_eq!(bed.drive_to(now), 1);
    }
    assert_eq!(bed.timers.len(), 1);
}

#[test]
fn a_clock_that_panics_stands_still_and_harms_nothing() {
    struct Flaky(tickwheel::ManualClock, Arc<AtomicUsize>);

    impl tickwheel::Clock for Flaky {
        fn now(&self) -> tickwheel::Timestamp {
            assert_eq!(self.1.load(Ordering::Relaxed), 0, "as planned");
            self.0.now()
        }
    }

    let (clock, broken) = (tickwheel::ManualClock::new(), Arc::new(AtomicUsize::new(0)));
    let timers = tickwheel::Timers::builder()
        .clock(Flaky(clock.clone(), broken.clone()))
        .executor(|run: tickwheel::Run| run.run())
        .limit(1)
        .build_hand_driven()
        .unwrap();
    let breaks = broken.clone();
    let key = timers
        .every(ms(1), Missed::Skip, move |_| {
            breaks.store(1, Ordering::Relaxed);
        })
        .unwrap();
    clock.advance(ms(1));
    assert_eq!(timers.turn().unwrap().fired, 1);
    broken.store(0, Ordering::Relaxed);
    assert!(timers.is_armed(key), "it goes on");
    assert!(timers.cancel_wait(key).is_cancelled());
    assert!(timers.arm(ms(1), |_| {}).is_ok(), "its place is free");
}
