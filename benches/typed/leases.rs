//! Leases that nobody else wants.

use std::hint::black_box;
use std::time::Duration;

use tickwheel::{Grant, Leases};

use crate::batches::{go_over, random_keys, shuffled};
use crate::peers::timers;
use crate::suite::Shape;

/// How long a lease lives: none expires while a workload runs.
const TTL: Duration = Duration::from_secs(3600);

/// Something that is taken and given back.
pub(crate) trait Lend: Sync {
    /// What a holder keeps.
    type Held: Send;

    const NAME: &'static str;

    fn new() -> Self;

    /// Takes what nobody has.
    fn take(&self, key: u128) -> Self::Held;

    /// Gives it back, and takes it again.
    fn again(&self, held: Self::Held) -> Self::Held;
}

/// What is held a while longer.
pub(crate) trait Renew: Lend {
    fn renew(&self, held: &Self::Held);
}

pub(crate) struct Ours(Leases<u128, u64>);

/// The map that leases are in, without leases.
pub(crate) struct Papaya(papaya::HashMap<u128, u64>);

/// Every thread gives back one of its leases and takes it again, in an order without a pattern.
pub(crate) fn again<L: Lend>(shape: &Shape) -> Vec<f64> {
    let leases = L::new();
    each(&leases, shape, |held: &mut Option<L::Held>| {
        *held = held.take().map(|held| leases.again(held));
    })
}

/// Every thread renews one of its leases, in an order without a pattern.
pub(crate) fn renew<L: Renew>(shape: &Shape) -> Vec<f64> {
    let leases = L::new();
    each(&leases, shape, |held: &mut Option<L::Held>| {
        if let Some(held) = held {
            leases.renew(held);
        }
    })
}

/// Each thread has so many.
fn each<L: Lend>(
    leases: &L,
    shape: &Shape,
    work: impl Fn(&mut Option<L::Held>) + Sync,
) -> Vec<f64> {
    let keys = random_keys(shape.n * shape.threads);
    let numbers: Vec<_> = (0..shape.n).collect();
    let orders: Vec<_> = (0..shape.threads)
        .map(|thread| shuffled(&numbers, thread))
        .collect();
    let work = &work;
    go_over(shape, &orders, |thread| {
        let own = keys[thread * shape.n..][..shape.n].iter();
        let mut held: Vec<_> = own.map(|key| Some(leases.take(*key))).collect();
        move |at: &usize| work(&mut held[*at])
    })
}

// === impl Ours ===

impl Lend for Ours {
    type Held = Grant<u128, u64>;

    const NAME: &'static str = "Leases";

    fn new() -> Self {
        Self(Leases::new(&timers()))
    }

    #[inline]
    fn take(&self, key: u128) -> Grant<u128, u64> {
        let taken = self.0.try_acquire(key, 7_u64, TTL);
        taken.expect("nobody else wants it")
    }

    #[inline]
    fn again(&self, held: Grant<u128, u64>) -> Grant<u128, u64> {
        let key = *held.resource();
        self.0.release(&held).expect("it is held");
        drop(held);
        self.take(key)
    }
}

impl Renew for Ours {
    #[inline]
    fn renew(&self, held: &Grant<u128, u64>) {
        black_box(self.0.renew(held).expect("it is held"));
    }
}

// === impl Papaya ===

impl Lend for Papaya {
    type Held = u128;

    const NAME: &'static str = "papaya alone, remove + insert";

    fn new() -> Self {
        Self(papaya::HashMap::new())
    }

    #[inline]
    fn take(&self, key: u128) -> u128 {
        let before = self.0.pin().insert(key, 7).copied();
        assert_eq!(before, None, "nobody else wants it");
        key
    }

    #[inline]
    fn again(&self, key: u128) -> u128 {
        let removed = self.0.pin().remove(&key).copied();
        assert_eq!(removed, Some(7), "it is held");
        self.take(key)
    }
}
