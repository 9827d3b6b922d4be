//! What a clock that goes back keeps from whom.

use std::time::Duration;

use tickwheel::{AcquireError, Timestamp};

use crate::{Bed, at, secs};

/// Without a delay at the start there is none, also if the clock goes back behind the start.
#[test]
fn a_clock_behind_the_start_keeps_nobody_from_a_lease() {
    let bed = Bed::new();
    bed.set(3_600);
    let leases = tickwheel::Leases::<String>::builder().build(&bed.timers);
    bed.clock.jump(Timestamp::ZERO);
    assert_eq!(bed.timers.now(), Timestamp::ZERO, "nobody has driven");
    let grant = leases.try_acquire("r", "A", secs(10)).unwrap();
    assert_eq!(grant.deadline(), at(10));
}

/// One that there is lasts as long as it was to, by the clock.
#[test]
fn a_delay_at_the_start_ends_when_the_clock_says_so() {
    let bed = Bed::new();
    bed.set(100);
    let builder = tickwheel::Leases::<String>::builder().start_delay(secs(10));
    let leases = builder.build(&bed.timers);
    bed.clock.jump(at(50));
    let until = at(110);
    let delayed = |error| matches!(error, AcquireError::Delayed { until: is } if is == until);
    assert!(delayed(leases.try_acquire("r", "A", secs(10)).unwrap_err()));
    bed.clock.jump(Timestamp::from_nanos(until.as_nanos() - 1));
    assert!(delayed(leases.try_acquire("r", "A", secs(10)).unwrap_err()));
    bed.clock.advance(Duration::from_nanos(1));
    assert!(leases.try_acquire("r", "A", secs(10)).is_ok());
}

/// As what has expired, be the resource remembered or not.
#[test]
fn a_lock_delay_that_was_found_to_be_over_is_over_for_good() {
    let bed = Bed::with(|builder| builder.lock_delay(secs(5)));
    let one = bed.ask("A", 60).unwrap();
    bed.set(10);
    assert_eq!(bed.leases.revoke("r"), Some(one.token()));
    bed.set(15);
    assert_eq!(bed.leases.waiters("r"), 0);
    bed.clock.jump(at(14));
    assert_eq!(bed.timers.now(), at(14), "nobody has driven");
    assert!(bed.ask("B", 10).is_ok());
}
