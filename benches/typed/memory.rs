//! What stays resident, for each session, lease and subject.

use crate::batches::random_keys;
use crate::codes::unlimited;
use crate::leases::Lend;
use crate::peers::{IDLE, Store};
use crate::resident::resident;
use crate::suite::Shape;

/// Bytes for each session. Its key, where a caller keeps it, does not count.
pub(crate) fn of_sessions<S: Store>(shape: &Shape) -> Vec<f64> {
    let keys = random_keys(shape.n);
    grown(shape, || {
        let store = S::new(IDLE);
        for key in &keys {
            store.start(*key, !key);
        }
        store.settle();
        store
    })
}

/// Bytes for each lease, with what its holder keeps.
pub(crate) fn of_leases<L: Lend>(shape: &Shape) -> Vec<f64> {
    let keys = random_keys(shape.n);
    grown(shape, || {
        let leases = L::new();
        let held: Vec<_> = keys.iter().map(|key| leases.take(*key)).collect();
        (leases, held)
    })
}

/// Bytes for each subject that has a code.
pub(crate) fn of_codes(shape: &Shape) -> Vec<f64> {
    grown(shape, || {
        let codes = unlimited(shape.n);
        for number in 0..shape.n {
            let name = (number as u64).to_le_bytes();
            drop(codes.issue(name, "login").expect("there is room"));
        }
        codes
    })
}

fn grown<T>(shape: &Shape, make: impl FnOnce() -> T) -> Vec<f64> {
    let before = resident();
    let made = make();
    let taken = resident().saturating_sub(before);
    drop(made);
    vec![taken as f64 / shape.n as f64]
}
