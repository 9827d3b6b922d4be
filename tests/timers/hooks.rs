//! Properties: the hook before firing, and labels.

use tickwheel::{Cancel, Missed, Verdict};

use crate::{Bed, Log, ms};

#[test]
fn a_veto_ends_the_timer_and_drops_its_callback() {
    let bed = Bed::with(|builder| builder.before_fire(|_| Verdict::Veto));
    let witness = std::sync::Arc::new(());
    let held = witness.clone();
    let once = bed.timers.arm(ms(1), move |_| drop(held)).unwrap();
    let every = bed
        .timers
        .every(ms(1), Missed::Skip, bed.logs("beat"))
        .unwrap();
    bed.drive_to(1);
    assert_eq!(bed.log.len(), 0);
    assert_eq!(std::sync::Arc::strong_count(&witness), 1);
    assert_eq!(bed.timers.cancel(once), Cancel::Stale);
    assert_eq!(bed.timers.cancel(every), Cancel::Stale);
    assert_eq!(bed.timers.stats().vetoed, 2);
    assert_eq!(bed.timers.stats().fired, 0);
}

#[test]
fn what_is_postponed_keeps_its_key_and_is_asked_about_again() {
    let asked = Log::default();
    let told = asked.clone();
    let bed = Bed::with(|builder| {
        builder.before_fire(move |pending| {
            let now = pending.now.as_nanos() / 1_000_000;
            told.add(now, pending.label);
            if now < 30 {
                Verdict::Postpone(ms(10))
            } else {
                Verdict::Fire
            }
        })
    });
    let key = bed
        .timers
        .options()
        .label("archive")
        .arm(ms(5), bed.logs("fired"))
        .unwrap();
    bed.drive_to(5);
    assert_eq!(bed.timers.remaining(key), Some(ms(10)));
    bed.timers.rearm(key, ms(20)).unwrap(); // as any timer
    while bed.timers.advance_to_next(&bed.clock) > 0 {}
    assert_eq!(
        asked.take(),
        [(5, "archive"), (25, "archive"), (35, "archive")]
    );
    assert_eq!(bed.log.take(), [(35, "fired")]);
    assert_eq!(bed.timers.stats().postponed, 2);
    assert_eq!(bed.timers.stats().fired, 1);
}

#[test]
fn a_hook_that_panics_has_not_said_no() {
    let bed = Bed::with(|builder| builder.before_fire(|_| panic!("as planned")));
    bed.timers.arm(ms(1), bed.logs("fired")).unwrap();
    bed.drive_to(1);
    assert_eq!(bed.log.take(), [(1, "fired")]);
    assert_eq!(bed.timers.stats().panics, 1);
}

#[test]
fn a_hook_may_use_the_runtime() {
    let handle = std::sync::Arc::new(std::sync::Mutex::new(None::<tickwheel::Timers>));
    let inner = handle.clone();
    let bed = Bed::with(|builder| {
        builder.before_fire(move |pending| {
            let timers = inner.lock().unwrap().clone().unwrap();
            assert_eq!(timers.cancel(pending.key), Cancel::Running);
            timers.arm(ms(1), |_| {}).unwrap();
            Verdict::Postpone(ms(1)) // too late: it was cancelled
        })
    });
    *handle.lock().unwrap() = Some(bed.timers.clone());
    let key = bed.timers.arm(ms(1), |_| unreachable!()).unwrap();
    bed.drive_to(1);
    assert_eq!(bed.timers.cancel(key), Cancel::Stale);
    assert_eq!(bed.timers.len(), 1);
    drop(handle.lock().unwrap().take()); // or the hook would keep its runtime for ever
}

#[test]
fn a_periodic_timer_that_is_postponed_stays_in_step() {
    let bed = Bed::with(|builder| {
        builder.before_fire(|pending| match pending.now.as_nanos() {
            20_000_000 => Verdict::Postpone(ms(3)),
            _ => Verdict::Fire,
        })
    });
    bed.timers
        .every(ms(10), Missed::Skip, bed.logs("beat"))
        .unwrap();
    for now in 1..=40 {
        bed.drive_to(now);
    }
    let times: Vec<_> = bed.log.take().into_iter().map(|(at, _)| at).collect();
    assert_eq!(times, [10, 23, 30, 40]);
}
