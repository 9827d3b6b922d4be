//! `WallAnchor`: equals the same arithmetic in 128 bits, and heeds no wall clock set later.

use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use tickwheel::{Clock, Resolution, Timestamp, WallAnchor, Wheel};

use super::{Fixed, LAST, at, printed};

/// The steps in which `SystemTime` counts, in nanoseconds.
const GRAIN: u64 = if cfg!(windows) { 100 } else { 1 };

const YEAR: u64 = 366 * 24 * 3600 * 1_000_000_000;

/// Nanoseconds since the Unix epoch, which may be negative.
fn epoch_nanos(wall: SystemTime) -> i128 {
    let nanos = |span: Duration| i128::try_from(span.as_nanos()).expect("no 2^127 ns");
    match wall.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => nanos(after),
        Err(before) => -nanos(before.duration()),
    }
}

fn grained(nanos: u64) -> u64 {
    nanos / GRAIN * GRAIN
}

/// Readings: ordinary ones, those next to either end, any.
fn reading() -> impl Strategy<Value = u64> {
    let nanos = prop_oneof![
        0..100 * YEAR,
        0..100u64,
        LAST.as_nanos() - 200..=LAST.as_nanos(),
        0..=LAST.as_nanos()
    ];
    nanos.prop_map(grained)
}

/// Times of day around the present, in this century and the two next.
fn wall() -> impl Strategy<Value = SystemTime> {
    (30 * YEAR..300 * YEAR)
        .prop_map(|nanos| SystemTime::UNIX_EPOCH + Duration::from_nanos(grained(nanos)))
}

proptest! {
    #[test]
    fn there_and_back_is_exact(
        anchor in reading(), wall in wall(), off in 0..300 * YEAR, back in any::<bool>(),
    ) {
        let anchored = WallAnchor::new(at(anchor), wall);
        let there = if back { anchor.saturating_sub(off) } else { anchor.saturating_add(off) };
        let there = grained(there.min(LAST.as_nanos()));
        let Some(shown) = anchored.to_wall(at(there)) else {
            return Err(TestCaseError::fail(format!("{anchored:?} cannot say {there}")));
        };
        let want = epoch_nanos(wall) + i128::from(there) - i128::from(anchor);
        prop_assert_eq!(epoch_nanos(shown), want, "{:?} to the wall from {}", anchored, there);
        prop_assert_eq!(anchored.from_wall(shown), at(there), "{:?} there and back", anchored);
    }

    #[test]
    fn times_of_day_out_of_reach_become_zero_or_never(
        anchor in reading(), wall in wall(),
        secs in 0..40_000_000_000u64, sub in 0..1_000_000_000u64, back in any::<bool>(),
    ) {
        let anchored = WallAnchor::new(at(anchor), wall);
        let off = Duration::from_secs(secs) + Duration::from_nanos(grained(sub));
        // Not before 1601, where some systems' time begins.
        let most = Duration::from_nanos(300 * YEAR);
        let shown = if back { wall - off.min(most) } else { wall + off };
        let want = i128::from(anchor) + epoch_nanos(shown) - epoch_nanos(wall);
        let want = u64::try_from(want.clamp(0, u64::MAX.into())).expect("clamped");
        prop_assert_eq!(anchored.from_wall(shown), at(want), "{:?} from {:?}", anchored, shown);
    }
}

#[test]
fn the_past_is_zero_and_zero_is_a_time() {
    let wall = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let anchor = WallAnchor::new(at(500), wall);
    assert_eq!(anchor.from_wall(SystemTime::UNIX_EPOCH), Timestamp::ZERO);
    assert_eq!(
        anchor.from_wall(wall - Duration::from_nanos(500)),
        Timestamp::ZERO
    );

    // What has passed is due at once, and is not taken for "never".
    let ns = Resolution::NANOSECOND;
    let mut wheel: Wheel<&str> = Wheel::starting_at(ns.now(at(500)));
    wheel.arm(
        ns.deadline(anchor.from_wall(SystemTime::UNIX_EPOCH)),
        "past",
    );
    let fired = wheel.poll(ns.now(at(500))).map(|timer| timer.value);
    assert_eq!(fired, Some("past"));
}

#[test]
fn never_has_no_time_of_day_and_the_far_future_is_never() {
    let anchor = WallAnchor::new(Timestamp::ZERO, SystemTime::UNIX_EPOCH);
    assert_eq!(anchor.to_wall(Timestamp::NEVER), None);
    assert!(anchor.to_wall(LAST).is_some(), "{LAST:?}");
    let end = SystemTime::UNIX_EPOCH + Duration::from_nanos(grained(u64::MAX));
    let beyond = end + Duration::from_secs(1);
    assert_eq!(anchor.from_wall(beyond), Timestamp::NEVER);
    let before = end - Duration::from_secs(1);
    assert_eq!(
        anchor.from_wall(before),
        at(grained(u64::MAX) - 1_000_000_000)
    );
}

/// Goes from the epoch as far as `step` can, to within a second of the last time there is.
fn end_of_system_time(step: fn(&SystemTime, Duration) -> Option<SystemTime>) -> SystemTime {
    (0..u64::BITS)
        .rev()
        .fold(SystemTime::UNIX_EPOCH, |wall, bit| {
            step(&wall, Duration::from_secs(1 << bit)).unwrap_or(wall)
        })
}

#[test]
fn what_system_time_cannot_say_is_none() {
    let (day, reading) = (Duration::from_secs(86_400), at(YEAR));
    let last = end_of_system_time(SystemTime::checked_add);
    let anchor = WallAnchor::new(reading, last);
    assert_eq!(anchor.to_wall(reading), Some(last));
    assert_eq!(anchor.to_wall(reading + day), None, "a day after {last:?}");

    let first = end_of_system_time(SystemTime::checked_sub);
    let anchor = WallAnchor::new(reading, first);
    assert_eq!(anchor.to_wall(reading), Some(first));
    let day_before = at(YEAR - 86_400_000_000_000);
    assert_eq!(anchor.to_wall(day_before), None, "a day before {first:?}");
}

#[test]
fn a_wall_clock_that_is_set_moves_no_timer() {
    let minute = Duration::from_secs(60);
    let wall = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let (start, ns) = (at(1_000), Resolution::NANOSECOND);
    let anchor = WallAnchor::new(start, wall);
    let promised = wall + 10 * minute;
    let deadline = start + 10 * minute;
    assert_eq!(anchor.from_wall(promised), deadline);

    // A minute on, somebody sets the wall clock. An anchor taken then would tell.
    for set in [wall + 60 * minute, wall - 60 * minute] {
        let mut wheel: Wheel<&str> = Wheel::starting_at(ns.now(start));
        wheel.arm(ns.deadline(anchor.from_wall(promised)), "lease");
        let taken_then = WallAnchor::new(start + minute, set);
        assert_ne!(
            taken_then.from_wall(promised),
            deadline,
            "wall clock set to {set:?}"
        );
        assert_eq!(
            anchor.from_wall(promised),
            deadline,
            "wall clock set to {set:?}"
        );
        assert_eq!(
            anchor.to_wall(deadline),
            Some(promised),
            "wall clock set to {set:?}"
        );

        for (now, due) in [
            (at(deadline.as_nanos() - 1), None),
            (deadline, Some("lease")),
        ] {
            let fired = wheel.poll(ns.now(now)).map(|timer| timer.value);
            assert_eq!(fired, due, "at {now:?}, wall clock set to {set:?}");
        }
    }
}

#[test]
fn the_wall_clock_is_read_once_and_together_with_the_clock() {
    let before = SystemTime::now();
    // Taking the reading for another would show: an hour is far more than this test takes.
    let reading = 3_600_000_000_000;
    let clock: &dyn Clock = &Fixed(reading);
    let anchor = WallAnchor::now(clock);
    let shown = anchor.to_wall(at(reading));
    let after = SystemTime::now();
    assert!(
        Some(before) <= shown && shown <= Some(after),
        "{before:?} {shown:?} {after:?}"
    );

    // The time of day has moved on; what the anchor says has not.
    while SystemTime::now() == after {
        std::hint::spin_loop();
    }
    assert_eq!(anchor.to_wall(at(reading)), shown);
    assert_eq!(shown.map(|wall| anchor.from_wall(wall)), Some(at(reading)));
    let printed = printed(&anchor);
    assert!(printed.starts_with("WallAnchor"), "{printed}");
}
