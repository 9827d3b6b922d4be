//! `MonotonicClock` and `BootClock`: never back, and in step with `Instant`.

use std::thread;
use std::time::{Duration, Instant};

use tickwheel::{Clock, MonotonicClock, Timestamp};

use super::printed;

const READS: usize = 50_000;

/// Keeps busy until `Instant` has moved on by `span`.
fn spin(span: Duration) {
    let start = Instant::now();
    while start.elapsed() < span {
        std::hint::spin_loop();
    }
}

/// Reads `clock` over and over; the readings never go back.
fn watch(clock: &dyn Clock) -> Timestamp {
    let mut earlier = clock.now();
    for read in 0..READS {
        let now = clock.now();
        assert!(earlier <= now, "read {read}: {earlier:?}, then {now:?}");
        earlier = now;
    }
    earlier
}

/// What is asked of a clock of the system. `slack` is what two clocks of one system
/// may differ by because each rounds on its own.
fn properties<C: Clock + Copy + Send + Sync>(new: fn() -> C, slack: Duration) {
    let before = Instant::now();
    let clock = new();
    let first = clock.now();
    let most = before.elapsed() + slack;
    let since = first.saturating_since(Timestamp::ZERO);
    assert!(since <= most, "made within {most:?}, it read {since:?}");

    // What happened between two readings is not longer than what they are apart.
    let start = Instant::now();
    spin(Duration::from_micros(500));
    let least = start.elapsed();
    let apart = clock.now() - first;
    assert!(
        apart + slack >= least,
        "after {least:?} it had moved {apart:?}"
    );

    // Copies go on counting from the same origin.
    let copy = clock;
    let (one, two, three) = (clock.now(), copy.now(), clock.now());
    assert!(
        one <= two && two <= three,
        "{one:?}, copy {two:?}, {three:?}"
    );
    assert!(
        two >= first + least.saturating_sub(slack),
        "copy {two:?} after {first:?}"
    );

    // Order between threads is order of readings.
    let seen = watch(&clock);
    let there = thread::scope(|scope| {
        let reader = scope.spawn(move || watch(&copy));
        reader
            .join()
            .expect("readings do not go back in the other thread")
    });
    let after = clock.now();
    assert!(
        seen <= there && there <= after,
        "{seen:?}, thread {there:?}, {after:?}"
    );
    assert!(!after.is_never(), "{after:?}");
}

#[test]
fn the_monotonic_clock_never_goes_back_and_moves_with_instant() {
    properties(MonotonicClock::new, Duration::ZERO);
    properties(MonotonicClock::default, Duration::ZERO);
    let printed = printed(&MonotonicClock::new());
    assert!(printed.starts_with("MonotonicClock"), "{printed}");
}

#[test]
fn the_monotonic_clock_does_not_outrun_instant() {
    let clock = MonotonicClock::new();
    for read in 0..1_000 {
        let outer = Instant::now();
        let earlier = clock.now();
        let apart = clock.now() - earlier;
        let most = outer.elapsed();
        assert!(
            apart <= most,
            "read {read}: moved {apart:?} within {most:?}"
        );
    }
}

#[cfg(feature = "boot-clock")]
#[test]
fn the_boot_clock_never_goes_back_and_counts_no_less_than_instant() {
    use tickwheel::BootClock;

    properties(BootClock::new, Duration::from_micros(1));
    properties(BootClock::default, Duration::from_micros(1));
    let printed = printed(&BootClock::new());
    assert!(printed.starts_with("BootClock"), "{printed}");
}
