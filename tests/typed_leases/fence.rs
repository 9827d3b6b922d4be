//! The resource's side, and why there is one.

use std::sync::Barrier;
use std::thread;

use tickwheel::{
    Clock, FenceGate, FencingToken, LeaseGuardOptions, Leases, ManualClock, Stale, Timers,
    Timestamp,
};

use crate::{at, secs};

/// A clock that runs at half the speed of another.
struct Half(ManualClock);

impl Clock for Half {
    fn now(&self) -> Timestamp {
        Timestamp::from_nanos(self.0.now().as_nanos() / 2)
    }
}

/// The lessor's clock is right. The holder's runs at half speed, so that its lease of ten seconds seems to
/// it to last for twenty.
#[test]
fn a_holder_whose_clock_runs_at_half_speed_believes_in_its_lease_and_is_refused() {
    let clock = ManualClock::new();
    let lessor = Timers::builder().clock(clock.clone());
    let lessor = lessor.build_hand_driven().unwrap();
    let leases: Leases<String> = Leases::new(&lessor);
    let slow = Timers::builder().clock(Half(clock.clone()));
    let slow = slow.build_hand_driven().unwrap(); // and nobody drives it: it never renews
    let store = FenceGate::new();

    let request = ("store".to_owned(), "slow".to_owned());
    let holder = LeaseGuardOptions::new(&slow)
        .acquire(leases.clone(), request, secs(10))
        .unwrap();
    assert_eq!(store.check(holder.token()), Ok(()));

    clock.set(at(12)); // six seconds for the slow one
    lessor.turn_fully().unwrap();
    let next = leases.try_acquire("store", "next", secs(10)).unwrap();
    assert_eq!(store.check(next.token()), Ok(()));

    assert!(!holder.is_lost(), "it believes in its lease");
    let highest = next.token();
    assert_eq!(store.check(holder.token()), Err(Stale { highest }));
    drop(holder); // its late release does nothing to the next
    assert!(next.is_live());
}

#[test]
fn a_gate_lets_the_same_and_larger_tokens_pass_and_remembers() {
    let gate = FenceGate::default();
    assert_eq!(gate.highest().get(), 0);
    let token = FencingToken::new;
    for (next, passes) in [
        (5, true),
        (5, true),
        (4, false),
        (7, true),
        (5, false),
        (u64::MAX, true),
    ] {
        assert_eq!(gate.check(token(next)).is_ok(), passes, "{next}");
    }
    let again = FenceGate::starting_at(token(9));
    assert_eq!(again.check(token(8)), Err(Stale { highest: token(9) }));
    assert_eq!(again.check(token(9)), Ok(()));
}

#[test]
fn of_many_at_the_gate_none_passes_after_a_larger_one() {
    let (gate, start) = (FenceGate::new(), Barrier::new(4));
    thread::scope(|scope| {
        for me in 0..4u64 {
            let (gate, start) = (&gate, &start);
            scope.spawn(move || {
                start.wait();
                for round in 0..2000 {
                    let before = gate.highest();
                    let token = FencingToken::new(round * 4 + me);
                    match gate.check(token) {
                        Ok(()) => assert!(token >= before && gate.highest() >= token),
                        Err(Stale { highest }) => assert!(highest > token),
                    }
                }
            });
        }
    });
    assert_eq!(gate.highest().get(), 1999 * 4 + 3);
}
