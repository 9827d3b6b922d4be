//! What errors say, and what debug output shows: something, and of no two the same.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Display;

use tickwheel::{
    AcquireError, FenceGate, FencingToken, GuardError, LeaseGuardOptions, Leases, Loss, Lost,
};

use crate::{Bed, Task, at, secs};

/// What each of these says, all of it different.
fn texts<T: Display>(all: &[T]) -> Vec<String> {
    let texts: Vec<String> = all.iter().map(T::to_string).collect();
    let different: BTreeSet<&String> = texts.iter().collect();
    assert_eq!(different.len(), texts.len(), "{texts:?}");
    assert!(texts.iter().all(|text| text.len() > 10), "{texts:?}");
    texts
}

fn unpersisted() -> AcquireError {
    AcquireError::Unpersisted(Box::<dyn Error + Send + Sync>::from("the disk is full").into())
}

#[test]
fn each_refusal_says_what_is_wrong_and_the_hook_is_the_source_of_its_own() {
    let token = FencingToken::new(7);
    let held = AcquireError::Held {
        token,
        deadline: at(3),
    };
    let delayed = AcquireError::Delayed { until: at(3) };
    assert!(held.is_held() && delayed.is_held());
    let others = [
        AcquireError::ZeroTtl,
        AcquireError::TimedOut,
        AcquireError::Lapsed,
        AcquireError::Full,
        AcquireError::ShutDown,
        AcquireError::TokensExhausted,
        unpersisted(),
    ];
    for error in &others {
        assert!(!error.is_held(), "{error}: nobody is to be waited for");
        let of_the_hook = matches!(error, AcquireError::Unpersisted(_));
        assert_eq!(error.source().is_some(), of_the_hook, "{error}");
    }
    let source = unpersisted();
    assert_eq!(source.source().unwrap().to_string(), "the disk is full");
    let all: Vec<AcquireError> = [held, delayed].into_iter().chain(others).collect();
    assert!(texts(&all)[0].contains('7'), "who holds it");
}

#[test]
fn each_loss_says_how_it_came_about() {
    texts(&[
        Lost::Expired,
        Lost::Released,
        Lost::Revoked,
        Lost::ShutDown,
        Lost::Foreign,
    ]);
    texts(&[
        Loss::Expired,
        Loss::Refused,
        Loss::Released,
        Loss::ShutDown,
        Loss::Detached,
    ]);
    let full = tickwheel::ArmError::Full;
    let all = [
        GuardError::Refused(unpersisted()),
        GuardError::TooLate,
        GuardError::Timer(full),
    ];
    let said = texts(&all);
    assert_eq!(said[0], unpersisted().to_string(), "the lessor's words");
    assert_eq!(said[2], full.to_string());
    let sources = all.each_ref().map(|error| error.source().is_some());
    assert_eq!(sources, [true, false, false]);
    let stale = FenceGate::starting_at(FencingToken::new(9)).check(FencingToken::new(8));
    assert!(stale.unwrap_err().to_string().contains('9'));
}

#[test]
fn what_is_shown_for_debugging_has_its_name() {
    let bed = Bed::new();
    let grant = bed.ask("A", 10).unwrap();
    let task = Task::new();
    let mut acquire = bed.leases.acquire("r", "B", secs(10));
    let step = |shown: &str, step: &str| assert!(shown.contains(step), "{shown} and not {step}");
    step(&format!("{acquire:?}"), "Acquire(\"not polled\")");
    assert!(task.poll(&mut acquire).is_pending());
    step(&format!("{acquire:?}"), "Acquire(\"waiting\")");
    bed.leases.release(&grant).unwrap();
    assert!(task.poll(&mut acquire).is_ready());
    step(&format!("{acquire:?}"), "Acquire(\"over\")");

    let builder = Leases::<String, String>::builder().lock_delay(secs(77));
    step(&format!("{builder:?}"), "77s");
    step(&format!("{:?}", bed.leases), "Leases { high_water:");
    let options = LeaseGuardOptions::new(&bed.timers).jitter(13);
    step(&format!("{options:?}"), "LeaseGuardOptions { jitter: 13");
    let guard = bed.leases.hold("s", "A", secs(10)).unwrap();
    step(&format!("{guard:?}"), "LeaseGuard { token:");
    step(&format!("{:?}", guard.lost()), "WhenLost");
}
