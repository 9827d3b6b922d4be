//! Reading sessions, each time a touch.

use crate::batches::{go_over, random_keys, shuffled};
use crate::peers::{IDLE, Store};
use crate::suite::Shape;

/// Every thread reads sessions that live, in an order of its own.
pub(crate) fn get<S: Store>(shape: &Shape) -> Vec<f64> {
    let store = S::new(IDLE);
    let keys: Vec<_> = random_keys(shape.n)
        .into_iter()
        .map(|key| store.start(key, !key))
        .collect();
    store.settle();
    let orders: Vec<_> = (0..shape.threads)
        .map(|thread| shuffled(&keys, thread))
        .collect();
    let missing = format!("{}: a session that lives is missing", S::NAME);
    go_over(shape, &orders, |_| {
        |key: &S::Key| assert!(store.get(key), "{missing}")
    })
}
