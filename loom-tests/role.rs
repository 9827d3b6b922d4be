//! The driver's role goes from thread to thread.
//!
//! Properties:
//! * whoever advances, and whoever finds the wheel busy, each timer fires once, in order of tick;
//! * an advance that was not busy leaves nothing unfired that its thread had armed;
//! * a turn that one thread began another ends;
//! * looking ahead, announcing a sleep and checking take the role too, or say that another
//!   has it;
//! * who sees where the cursor is sees that what was due before has fired.
//!
//! What belongs to the driver is in a cell that loom watches, so that two holders at a time,
//! or one that does not see what the last one did, fail any of these.

use std::sync::atomic::Ordering::Relaxed;

use loom::sync::Arc;
use tickwheel::modelled::AtomicBool;
use tickwheel::{Park, Progress, Tick};

use crate::bed::Bed;
use crate::harness::{Bound, model};

/// The faults that these models have to notice.
pub(crate) const MUTANTS: &[(&str, &str)] = &[
    ("RoleUnasked", "role::each_timer_fires_once_whoever_drives"),
    ("RoleRelaxed", "role::each_timer_fires_once_whoever_drives"),
    ("RoleRelaxed", "role::a_turn_that_one_began_another_ends"),
    ("RoleRelaxed", "role::a_walker_sees_what_the_driver_did"),
    ("RoleUnasked", "role::nobody_looks_ahead_beside_the_driver"),
    (
        "RoleUnasked",
        "role::nobody_announces_a_sleep_beside_the_driver",
    ),
    ("NowRelaxed", "role::what_is_behind_the_cursor_has_fired"),
    (
        "RoleUnasked",
        "role::each_timer_fires_once_whoever_of_three_drives",
    ),
    (
        "RoleUnasked",
        "role::an_advance_that_was_not_busy_leaves_nothing_behind",
    ),
];

/// A wheel with these timers, of which the driver has not heard yet. Values are deadlines.
fn bed(timers: &[u32]) -> Bed {
    let bed = Bed::new();
    for &due in timers {
        bed.arm(due);
    }
    bed
}

/// Two threads advance, each perhaps in vain.
///
/// Killed by: `RoleUnasked`, `RoleRelaxed`.
#[test]
fn each_timer_fires_once_whoever_drives() {
    model("each_timer_fires_once", Bound::None, 50, || {
        let bed = bed(&[5, 10]);
        let other = bed.spawn(|bed| bed.advance(10));
        let own = bed.advance(10);
        let other = other.join().unwrap();
        assert!(own.is_ok() || other.is_ok(), "busy, though nobody drove");
        let counted = own.unwrap_or(0) + other.unwrap_or(0);
        assert_eq!(counted, 2, "timers fired, say {own:?} and {other:?}");
        bed.assert_fired(&[(5, 5), (10, 10)]);
    });
}

/// Three threads advance, to different ticks.
///
/// Killed by: `RoleUnasked`, `RoleRelaxed`.
#[test]
fn each_timer_fires_once_whoever_of_three_drives() {
    model(
        "whoever_of_three_drives",
        Bound::Preemptions(3),
        930,
        || {
            let bed = bed(&[5, 10]);
            let others = [5, 10].map(|now| bed.spawn(move |bed| bed.advance(now)));
            let own = bed.advance(20);
            let others = others.map(|other| other.join().unwrap());
            let all = [own, others[0], others[1]];
            let counted: usize = all.iter().flatten().sum();
            assert_eq!(counted, bed.fired().len(), "timers fired, say {all:?}");
            assert!(counted > 0, "{all:?}, and something was due for each");
            bed.assert_fired(&[(5, 5), (10, 10)]);
        },
    );
}

/// A thread arms, then advances; another advances too.
///
/// Killed by: `RoleUnasked`, `RoleRelaxed`.
#[test]
fn an_advance_that_was_not_busy_leaves_nothing_behind() {
    model("an_advance_that_was_not_busy", Bound::None, 9_600, || {
        let bed = Bed::new();
        let key = bed.wheel.arm(Tick::NEVER, 5);
        let other = bed.spawn(move |bed| {
            assert_eq!(
                bed.wheel.rearm(key, Tick::new(5)),
                Ok(()),
                "it is suspended"
            );
            let advanced = bed.advance(10);
            (advanced, bed.fired())
        });
        let own = bed.advance(4);
        let (advanced, fired) = other.join().unwrap();
        assert!(
            advanced.is_err() || fired == [(5, 5)],
            "{advanced:?} timers fired, {fired:?} in all; the other's was {own:?}"
        );
        bed.assert_fired(&[(5, 5)]);
    });
}

/// Two threads advance with a budget of one visit each, so that neither gets far.
///
/// Killed by: `RoleUnasked`, `RoleRelaxed`.
#[test]
fn a_turn_that_one_began_another_ends() {
    model("a_turn_that_one_began", Bound::None, 50, || {
        let bed = bed(&[5, 6]);
        let other = bed.spawn(|bed| bed.advance_by_one(10));
        let own = bed.advance_by_one(10);
        let other = other.join().unwrap();
        let fired = [own, other].into_iter().flatten().map(Progress::fired);
        assert_eq!(
            fired.sum::<usize>(),
            bed.fired().len(),
            "timers fired, say {own:?} and {other:?}"
        );
        while bed.advance_by_one(10).is_ok_and(|turn| !turn.is_done()) {}
        assert_eq!(bed.fired(), [(5, 5), (6, 6)], "what fired by tick 10");
        bed.assert_fired(&[(5, 5), (6, 6)]);
    });
}

/// One advances, another asks what comes next.
///
/// Killed by: `RoleUnasked`, `RoleRelaxed`.
#[test]
fn nobody_looks_ahead_beside_the_driver() {
    model("nobody_looks_ahead", Bound::None, 7_900, || {
        let bed = bed(&[5, 20]);
        let driver = bed.spawn(|bed| bed.advance(10));
        let next = bed.wheel.next_deadline();
        let driven = driver.join().unwrap();
        assert!(
            next.is_some_and(|next| next <= Tick::new(20)),
            "{next:?} is next, but a timer is due at 20"
        );
        assert!(
            driven.is_err() || driven == Ok(1),
            "one timer is due by tick 10, and the advance said {driven:?}"
        );
        bed.assert_fired(&[(5, 5), (20, 20)]);
    });
}

/// One advances, another announces that it goes to sleep.
///
/// Killed by: `RoleUnasked`, `RoleRelaxed`.
#[test]
fn nobody_announces_a_sleep_beside_the_driver() {
    model("nobody_announces_a_sleep", Bound::None, 50, || {
        let bed = bed(&[5, 20]);
        let driver = bed.spawn(|bed| bed.advance(10));
        let park = bed.wheel.prepare_park();
        let fired_then = bed.fired().len();
        let driven = driver.join().unwrap();
        let earliest = Tick::new(if fired_then == 0 { 5 } else { 20 });
        let in_time = match park {
            Ok(Park::Until(tick)) => tick <= earliest,
            Ok(Park::Now) | Err(_) => true,
            Ok(Park::Idle) => false,
        };
        assert!(in_time, "told {park:?}, and a timer is due at {earliest:?}");
        assert!(driven.is_ok() || park.is_ok(), "busy, though nobody drove");
        bed.assert_fired(&[(5, 5), (20, 20)]);
    });
}

/// The walker looks at everything as soon as the driver has returned. That it has, it learns
/// in a way that shows nothing else.
///
/// Killed by: `RoleRelaxed`.
#[test]
fn a_walker_sees_what_the_driver_did() {
    model("a_walker_sees", Bound::None, 18, || {
        let bed = bed(&[5, 20]);
        let returned = Arc::new(AtomicBool::new(false));
        let tells = Arc::clone(&returned);
        let driver = bed.spawn(move |bed| {
            let driven = bed.advance(10);
            tells.store(true, Relaxed);
            driven
        });
        if returned.load(Relaxed) {
            bed.wheel.check();
            assert_eq!(bed.wheel.next_deadline().map(Tick::get), Some(20));
        }
        assert_eq!(driver.join().unwrap(), Ok(1), "timers fired by tick 10");
        bed.assert_fired(&[(5, 5), (20, 20)]);
    });
}

/// A thread that does not drive sees the cursor, and looks for a timer that was due before.
///
/// Killed by: `NowRelaxed`.
#[test]
fn what_is_behind_the_cursor_has_fired() {
    model(
        "what_is_behind_the_cursor",
        Bound::Preemptions(4),
        6_200,
        || {
            let bed = Bed::new();
            let key = bed.arm(5);
            bed.file();
            let onlooker = bed.spawn(move |bed| (bed.wheel.now(), bed.wheel.contains(key)));
            assert_eq!(bed.advance(10), Ok(1), "timers fired by tick 10");
            let (now, armed) = onlooker.join().unwrap();
            assert!(
                now <= Tick::new(5) || !armed,
                "armed for tick 5, and the cursor is at {now:?}"
            );
            bed.assert_fired(&[(5, 5)]);
        },
    );
}
