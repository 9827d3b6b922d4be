//! Limits and budgets: what is free is found, and what is due is not held up by what is new.

use tickwheel::{SharedWheel, Tick};

/// An entry whose timer has fired serves the next arm, though the advance goes on.
#[test]
fn what_has_fired_makes_room_while_its_siblings_fire() {
    let wheel: SharedWheel<u32> = SharedWheel::builder().limit(8).build();
    for id in 0..8 {
        wheel.arm(Tick::new(1), id);
    }
    let (mut fired, mut refused) = (0, 0);
    let done = wheel.advance(Tick::new(1), |turn, expired| {
        fired += 1;
        refused += u32::from(turn.try_arm(Tick::new(2), expired.value).is_err());
    });
    assert_eq!(done, Ok(8));
    // The entry of the timer that is firing is not free yet.
    assert_eq!(refused, 1, "{fired} fired, {} armed again", wheel.len());
    wheel.check();
}

/// New timers do not keep what is due from firing, if from call to call there are fewer of them
/// than the budget.
#[test]
fn new_timers_do_not_starve_a_bounded_driver() {
    for budget in [2, 10] {
        let wheel: SharedWheel<u32> = SharedWheel::builder().build();
        wheel.arm(Tick::new(5), 0);
        let mut fired = 0;
        for call in 0..100 {
            for _ in 1..budget {
                wheel.arm(Tick::new(1_000_000), 1);
            }
            let now = Tick::new(10 + call);
            let progress = wheel.advance_bounded(now, budget, |_, _| fired += 1);
            assert!(progress.is_ok(), "nobody else drives");
        }
        assert_eq!(fired, 1, "budget {budget}: not fired in a hundred calls");
        wheel.check();
    }
}

/// A hook that panics costs its caller the answer, and the wheel nothing.
#[test]
fn a_hook_that_panics_loses_no_entry() {
    let wheel: SharedWheel<u32> = SharedWheel::builder().wake(|| panic!("the hook")).build();
    let key = wheel.arm(Tick::new(1 << 50), 7);
    let mut panics = 0;
    for step in 0..200_u64 {
        let _ = wheel.prepare_park();
        let earlier = Tick::new((1 << 45) - step);
        let moved = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            wheel.rearm(key, earlier).is_ok()
        }));
        panics += u32::from(moved.is_err());
    }
    assert!(panics > 0, "the hook was never called");
    assert!(
        wheel.entries() <= 128,
        "{} entries for one timer",
        wheel.entries()
    );
    assert_eq!(wheel.cancel(key).value(), Some(7));
    wheel.check();
}
