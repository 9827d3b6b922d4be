#![cfg(all(not(loom), feature = "std"))]
//! Many threads and one wheel, as fast as they can. What each of them saw is written down
//! with stamps and judged afterwards.
//!
//! Properties:
//! * every arm has exactly one outcome: armed = fired + cancelled + left, and every value is
//!   dropped once;
//! * nothing fires early, or for another deadline than the last one acknowledged;
//! * nothing fires late: an advance that began after an arm or a re-arm returned fires it,
//!   if it goes so far;
//! * a cancel that succeeded, by whatever thread, stopped the timer, and one that was refused
//!   did not; one that met the callback keeps it from arming the timer again;
//! * [`SharedWheel::cancel_wait`] does not return while the callback runs;
//! * one thread drives at a time, and any thread may be the next;
//! * clearing and draining lose nothing, whoever arms meanwhile;
//! * whoever arms earlier than a sleeping driver's tick wakes it, whoever arms later does not;
//! * entries do not outnumber the timers armed at one time by more than the slack.
//!
//! The default takes seconds. Longer, and in the builds that find races and misuse of memory,
//! for which a nightly toolchain is enough (`.ci/sanitize` runs both, for `shared_faults` too):
//!
//! ```console
//! $ TICKWHEEL_STRESS=100 cargo test --release --test shared_stress
//! $ RUSTFLAGS="-Zsanitizer=address -Cunsafe-allow-abi-mismatch=sanitizer" \
//!   cargo +nightly test --target x86_64-unknown-linux-gnu --test shared_stress
//! $ TSAN_OPTIONS="suppressions=$PWD/.ci/tsan-suppressions.txt" \
//!   RUSTFLAGS="-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer" \
//!   cargo +nightly test --target x86_64-unknown-linux-gnu --test shared_stress
//! ```

#[path = "shared_stress/bulk.rs"]
mod bulk;
#[path = "shared_stress/crew.rs"]
mod crew;
#[path = "shared_stress/record.rs"]
mod record;
#[path = "shared_stress/role.rs"]
mod role;
#[path = "shared_stress/same_keys.rs"]
mod same_keys;
#[path = "shared_stress/storm.rs"]
mod storm;
#[path = "shared_stress/token.rs"]
mod token;
#[path = "shared_stress/wake.rs"]
mod wake;

use record::Account;
use storm::Storm;
use token::scale;

/// Runs storms of all sizes, and says what became of all their timers.
fn storms<const BITS: u32>(drivers: usize, budget: Option<usize>) -> Account {
    let mut sum = Account::default();
    for seed in 0..scale() as u64 {
        for (workers, shards, ahead) in [(2, 1, 4), (3, 2, 40), (4, 4, 1_000), (8, 2, 12)] {
            let one = storm::run::<BITS>(Storm {
                seed,
                workers,
                drivers,
                shards,
                ops: 4_000 / workers,
                ahead,
                budget,
            });
            sum.armed += one.armed;
            sum.fired += one.fired;
            sum.cancelled += one.cancelled;
            sum.left += one.left;
        }
    }
    sum
}

/// A storm in which hardly anything happens shows nothing.
#[track_caller]
fn assert_lively(account: Account) {
    let least = account.armed / 50;
    let Account {
        fired,
        cancelled,
        left,
        ..
    } = account;
    assert!(
        fired > least && cancelled > least && left > 0,
        "{account:?}: not much of a storm"
    );
}

#[test]
fn each_arm_has_one_outcome_and_it_is_right() {
    assert_lively(storms::<8>(1, None));
    assert_lively(storms::<2>(1, None));
}

#[test]
fn two_drivers_take_turns() {
    assert_lively(storms::<8>(2, None));
    assert_lively(storms::<3>(2, Some(7)));
}

#[test]
fn a_budget_loses_nothing() {
    assert_lively(storms::<8>(1, Some(5)));
    assert_lively(storms::<2>(1, Some(1)));
}
