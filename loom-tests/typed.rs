//! The typed layer: the one word of a record's deadline, and fencing tokens.
//!
//! Properties:
//! * of all who touch, expire and end a record one ends it, and none revives it;
//! * no deadline is moved back, and none is told a deadline that the record never had;
//! * whoever sees a deadline, or that a record has ended, sees what was done before;
//! * tokens strictly increase, each is handed out once, and none before it is durable.

use std::sync::Arc;

use loom::sync::atomic::AtomicU64;
use loom::sync::atomic::Ordering::Relaxed;
use loom::thread;
use tickwheel::typed_modelled::{ModelledDeadline as Deadline, ModelledTokens as Tokens};

use crate::harness::{Bound, model};

/// The faults that these models have to notice.
pub(crate) const MUTANTS: &[(&str, &str)] = &[
    ("TouchBlind", "typed::a_touch_or_an_expiry_and_never_both"),
    ("TouchBlind", "typed::no_deadline_is_moved_back"),
    ("TouchBlind", "typed::what_has_ended_is_not_revived"),
    ("EndBlind", "typed::of_those_who_end_a_record_one_does"),
    (
        "EndBlind",
        "typed::a_renewal_and_a_release_agree_on_the_deadline",
    ),
    (
        "TouchRelaxed",
        "typed::who_sees_a_deadline_sees_what_was_done_before",
    ),
    (
        "DeadlineUnseen",
        "typed::who_sees_a_deadline_sees_what_was_done_before",
    ),
    (
        "EndRelaxed",
        "typed::who_sees_an_end_sees_what_was_done_before",
    ),
    ("TokenBlind", "typed::tokens_increase_and_are_durable"),
    ("ReserveFirst", "typed::tokens_increase_and_are_durable"),
    ("ReserveRelaxed", "typed::tokens_increase_and_are_durable"),
    ("MoverUntold", "typed::tokens_increase_and_are_durable"),
];

/// A record that expires at 10.
fn record() -> Arc<Deadline> {
    Arc::new(Deadline::new(10))
}

/// Somebody has read the clock before the deadline, somebody else after it.
///
/// Killed by: `TouchBlind`.
#[test]
fn a_touch_or_an_expiry_and_never_both() {
    model("a_touch_or_an_expiry", Bound::None, 70, || {
        let record = record();
        let other = Arc::clone(&record);
        let touches = thread::spawn(move || other.touch(9, 19));
        let expired = record.expire(12);
        let touched = touches.join().unwrap();
        match (touched, expired) {
            (Some(19), None) => assert_eq!(record.get(), Some(19)),
            (None, Some(10)) => assert_eq!(record.get(), None),
            both => panic!("touched, expired: {both:?}"),
        }
    });
}

/// Killed by: `TouchBlind`.
#[test]
fn no_deadline_is_moved_back() {
    model("no_deadline_is_moved_back", Bound::None, 50, || {
        let record = record();
        let other = Arc::clone(&record);
        let touches = thread::spawn(move || other.touch(5, 20));
        let short = record.touch(5, 15);
        assert!(short == Some(15) || short == Some(20), "{short:?}");
        let seen = record.get();
        assert!(short <= seen, "{short:?}, then {seen:?}");
        assert_eq!(touches.join().unwrap(), Some(20));
        assert_eq!(record.get(), Some(20));
    });
}

/// Killed by: `TouchBlind`.
#[test]
fn what_has_ended_is_not_revived() {
    model("what_has_ended_is_not_revived", Bound::None, 5000, || {
        let record = record();
        let other = Arc::clone(&record);
        let touches = thread::spawn(move || (other.touch(1, 11), other.touch(2, 12)));
        let ended = record.end(3);
        assert!(ended.is_some() && !record.is_live(0), "{ended:?}");
        let (first, second) = touches.join().unwrap();
        assert!(second.is_none() || first.is_some(), "{first:?} {second:?}");
        // Whoever has ended it has seen all touches that were accepted.
        assert_eq!(ended, second.or(first).or(Some(10)));
        assert_eq!((record.get(), record.touch(0, 99)), (None, None));
    });
}

/// Killed by: `EndBlind`.
#[test]
fn of_those_who_end_a_record_one_does() {
    model("of_those_who_end_a_record", Bound::None, 50, || {
        let record = record();
        let other = Arc::clone(&record);
        let expires = thread::spawn(move || other.expire(20));
        let ends = [record.end(6), expires.join().unwrap()];
        assert!(
            ends == [Some(10), None] || ends == [None, Some(10)],
            "{ends:?}"
        );
        assert_eq!(record.get(), None);
    });
}

/// Killed by: `EndBlind`.
#[test]
fn a_renewal_and_a_release_agree_on_the_deadline() {
    model("a_renewal_and_a_release", Bound::None, 70, || {
        let record = record();
        let other = Arc::clone(&record);
        let renews = thread::spawn(move || other.touch(9, 19));
        let released = record.end(9);
        let renewed = renews.join().unwrap();
        assert_eq!(released, renewed.or(Some(10)), "renewed: {renewed:?}");
        assert_eq!(record.get(), None);
    });
}

/// Killed by: `TouchRelaxed`, `DeadlineUnseen`.
#[test]
fn who_sees_a_deadline_sees_what_was_done_before() {
    model("who_sees_a_deadline", Bound::None, 15, || {
        let shared = Arc::new((Deadline::new(10), AtomicU64::new(0)));
        let other = Arc::clone(&shared);
        let touches = thread::spawn(move || {
            other.1.store(1, Relaxed);
            other.0.touch(5, 15)
        });
        if shared.0.get() == Some(15) {
            assert_eq!(shared.1.load(Relaxed), 1, "written before it was moved");
        }
        assert_eq!(touches.join().unwrap(), Some(15));
    });
}

/// Killed by: `EndRelaxed`.
#[test]
fn who_sees_an_end_sees_what_was_done_before() {
    model("who_sees_an_end", Bound::None, 15, || {
        let shared = Arc::new((Deadline::new(10), AtomicU64::new(0)));
        let other = Arc::clone(&shared);
        let ends = thread::spawn(move || {
            other.1.store(1, Relaxed);
            other.0.end(5)
        });
        if shared.0.get().is_none() {
            assert_eq!(shared.1.load(Relaxed), 1, "written before it was ended");
        }
        assert_eq!(ends.join().unwrap(), Some(10));
    });
}

/// Two who take one token and two, each of which has to be made durable first.
///
/// Killed by: `TokenBlind`, `ReserveFirst`, `ReserveRelaxed`, `MoverUntold`.
#[test]
fn tokens_increase_and_are_durable() {
    model(
        "tokens_increase_and_are_durable",
        Bound::Preemptions(2),
        1000,
        || {
            let durable = Arc::new(AtomicU64::new(0));
            let store = Arc::clone(&durable);
            let tokens = Arc::new(Tokens::new(1, move |mark| {
                // One thread at a time, as the model has it: no mark goes back.
                assert!(store.load(Relaxed) < mark, "to {mark}");
                store.store(mark, Relaxed);
                true
            }));
            let take = |tokens: &Tokens, durable: &AtomicU64| {
                let token = tokens.next().expect("all can be made durable");
                let mark = durable.load(Relaxed);
                assert!(token <= mark, "{token} is beyond {mark}");
                token
            };
            let (others, seen) = (Arc::clone(&tokens), Arc::clone(&durable));
            let takes = thread::spawn(move || take(&others, &seen));
            let mine = [take(&tokens, &durable), take(&tokens, &durable)];
            let theirs = takes.join().unwrap();
            assert!(mine[0] < mine[1], "{mine:?}");
            let mut all = [mine[0], mine[1], theirs];
            all.sort_unstable();
            assert_eq!(all, [1, 2, 3]);
        },
    );
}
