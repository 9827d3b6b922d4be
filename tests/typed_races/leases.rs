//! One lease.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tickwheel::{FenceGate, FencingToken, Leases, Stale};

use super::*;

/// Leases expire, are revoked, released and renewed under 64 threads while the clock is moved by all of them.
#[test]
fn whoever_sees_a_later_holder_has_lost() {
    let (clock, timers) = hand_driven();
    let durable = Arc::new(AtomicU64::new(0));
    let store = Arc::clone(&durable);
    let leases: Leases<u8, usize> = Leases::builder()
        .persist_tokens(3, move |mark| {
            let before = store.swap(mark.get(), Ordering::SeqCst);
            assert!(before < mark.get(), "one mark after the other");
            Ok::<(), std::io::Error>(())
        })
        .build(&timers);
    let gate = FenceGate::new();
    let highest = AtomicU64::new(0);
    let taken = race(THREADS, |n| {
        let mut mine = Vec::new();
        for round in 0..60 {
            clock.advance(nanos((n as u64 + round) % 3));
            let before = highest.load(Ordering::SeqCst);
            let Ok(grant) = leases.try_acquire(1, n, nanos(10)) else {
                let _ = timers.turn();
                continue;
            };
            let token = grant.token();
            mine.push(token.get());
            // Whoever has been granted before this was asked for has a smaller one.
            assert!(before < token.get(), "{before}, then {token}");
            assert!(token.get() <= durable.load(Ordering::SeqCst));
            highest.fetch_max(token.get(), Ordering::SeqCst);
            check(&gate, token);
            if let Some(holding) = leases.holder(&1) {
                assert!(holding.token() >= token, "held by an earlier one");
                let lost = holding.token() > token;
                assert!(!lost || !grant.is_live(), "two live at a time");
                assert!(!lost || leases.renew(&grant).is_err());
            }
            match round % 4 {
                0 => drop(leases.renew(&grant)),
                1 => drop(leases.release(&grant)),
                2 => drop(leases.revoke(&1)),
                _ => {}
            }
            if grant.is_live() {
                assert_eq!(leases.high_water(), token, "nobody had it after it");
            }
        }
        assert!(mine.is_sorted_by(|a, b| a < b), "{mine:?}");
        mine
    });
    let mut all = taken.concat();
    let granted = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), granted, "one token for two grants");
    assert!(granted > 0 && *all.last().unwrap() <= leases.high_water().get());
}

/// A timer keeps the leases, and they keep the runtime: what nobody drives any more must have none.
#[test]
fn a_lock_delay_that_is_over_leaves_no_timer() {
    let (clock, timers) = hand_driven();
    let builder = Leases::<u8, usize>::builder().lock_delay(nanos(3));
    let leases = builder.build(&timers);
    let grant = leases.try_acquire(1, 1_usize, nanos(10)).unwrap();
    assert_eq!(leases.revoke(&1), Some(grant.token()));
    drop(grant);
    clock.advance(nanos(12));
    // Finds the delay over before the driver does.
    assert_eq!(leases.revoke(&1), None);
    let again = leases.try_acquire(1, 2_usize, nanos(10)).unwrap();
    drop((again, leases));
    assert_eq!(timers.len(), 0);
}

/// A token that has passed has closed the gate behind it, and one that was refused was refused for a larger one.
fn check(gate: &FenceGate, token: FencingToken) {
    match gate.check(token) {
        Ok(()) => {
            let older = FencingToken::new(token.get() - 1);
            let Err(Stale { highest }) = gate.check(older) else {
                panic!("{older} passes after {token}");
            };
            assert!(highest >= token);
        }
        Err(Stale { highest }) => assert!(highest > token),
    }
}
