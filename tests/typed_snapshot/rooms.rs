//! How many sessions are restored.
//!
//! Properties: limits hold, in all and for each principal, in the order in which sessions were started; the oldest go if that is the
//! policy; whatever does not live is told of.

use tickwheel::{EndReason, WhenFull};

use crate::Machine;
use crate::sessions::{POLICY, basket, save, store};

#[test]
fn limits_hold() {
    let before = Machine::noon();
    let (old, _) = store(&before, POLICY);
    let ids: Vec<_> = (0..10)
        .map(|n| {
            let principal = if n % 2 == 0 { "even" } else { "odd" };
            old.create(principal, basket("pear")).unwrap().0
        })
        .collect();
    let snapshot = save(&old, &before);
    let oldest = WhenFull::EndOldest;
    for (policy, lives) in [
        (POLICY.max_sessions(3), vec![0, 1, 2]),
        (POLICY.max_sessions(3).when_full(oldest), vec![7, 8, 9]),
        (POLICY.max_per_principal(2), vec![0, 1, 2, 3]),
        (
            POLICY.max_per_principal(2).when_full(oldest),
            vec![6, 7, 8, 9],
        ),
        (POLICY.max_sessions(0), vec![]),
        (
            POLICY.max_sessions(10).max_per_principal(5),
            (0..10).collect(),
        ),
    ] {
        let machine = Machine::noon();
        let (store, ends) = store(&machine, policy);
        let report = store.restore(snapshot.clone(), machine.options()).unwrap();
        let refused = 10 - lives.len();
        assert_eq!((report.restored, report.refused), (lives.len(), refused));
        let found: Vec<_> = (0..10).filter(|n| store.contains(&ids[*n])).collect();
        assert_eq!((found, store.len()), (lives, 10 - refused), "{policy:?}");
        let told = ends.lock().unwrap();
        assert_eq!(told.len(), refused);
        assert!(told.iter().all(|end| end.1 == EndReason::Capacity));
    }
}
