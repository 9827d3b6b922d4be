//! What is compared: the trait, the wheel, and what the standard library offers instead.
//!
//! The value of a timer is its number, a `u64`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::hint::black_box;

use tickwheel::{Tick, TimerKey, Wheel};

/// Something that holds timers. Times are milliseconds from its beginning.
pub(crate) trait Peer: Sized {
    /// What the caller keeps of a timer it armed.
    type Key;

    const NAME: &'static str;

    /// How it is used here, where that is not plain.
    const HOW: &'static str;

    /// With room for `n` timers where that can be asked for.
    fn new(n: usize) -> Self;

    fn arm(&mut self, at: u64, id: u32) -> Self::Key;

    fn cancel(&mut self, key: Self::Key);

    /// Cancels and arms again, unless the peer knows better.
    #[inline]
    fn rearm(&mut self, key: Self::Key, at: u64, id: u32) -> Self::Key {
        self.cancel(key);
        self.arm(at, id)
    }

    /// Fires what is due by `to`; says how many.
    fn advance(&mut self, to: u64) -> u64;

    /// When to advance next, if nothing happens until then: not later than the earliest
    /// deadline. Nothing when nothing is armed.
    fn next(&self) -> Option<u64>;

    /// Lets go of a key whose timer has fired, or may fire without it.
    fn release(&mut self, _key: Self::Key) {}

    /// Runs `work` in the surroundings that `arm`, `cancel` and `rearm` need.
    fn within<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        work(self)
    }
}

/// This crate's wheel.
pub(crate) struct Tickwheel {
    pub(crate) wheel: Wheel<u64>,
}

impl Peer for Tickwheel {
    type Key = TimerKey;

    const NAME: &'static str = "tickwheel";
    const HOW: &'static str = "`Wheel::with_capacity`";

    fn new(n: usize) -> Self {
        Self {
            wheel: Wheel::with_capacity(n),
        }
    }

    #[inline]
    fn arm(&mut self, at: u64, id: u32) -> TimerKey {
        self.wheel.arm(Tick::new(at), u64::from(id))
    }

    #[inline]
    fn cancel(&mut self, key: TimerKey) {
        black_box(self.wheel.cancel(key).expect("the timer is armed"));
    }

    #[inline]
    fn rearm(&mut self, key: TimerKey, at: u64, _id: u32) -> TimerKey {
        self.wheel
            .rearm(key, Tick::new(at))
            .expect("the timer is armed");
        key
    }

    #[inline]
    fn advance(&mut self, to: u64) -> u64 {
        let fired = self.wheel.advance(Tick::new(to), |_, expired| {
            black_box(expired.value);
        });
        fired as u64
    }

    fn next(&self) -> Option<u64> {
        self.wheel.next_work().map(Tick::get)
    }
}

/// The ordered map: deadline, then number. It cannot re-arm: remove and insert.
pub(crate) struct Btree {
    map: BTreeMap<(u64, u32), u64>,
}

impl Peer for Btree {
    type Key = (u64, u32);

    const NAME: &'static str = "BTreeMap";
    const HOW: &'static str = "by deadline, then number; re-arming removes and inserts";

    fn new(_n: usize) -> Self {
        Self {
            map: BTreeMap::new(),
        }
    }

    #[inline]
    fn arm(&mut self, at: u64, id: u32) -> Self::Key {
        self.map.insert((at, id), u64::from(id));
        (at, id)
    }

    #[inline]
    fn cancel(&mut self, key: Self::Key) {
        black_box(self.map.remove(&key).expect("the timer is armed"));
    }

    fn advance(&mut self, to: u64) -> u64 {
        let mut fired = 0;
        while let Some(first) = self.map.first_entry() {
            if first.key().0 > to {
                break;
            }
            black_box(first.remove());
            fired += 1;
        }
        fired
    }

    fn next(&self) -> Option<u64> {
        self.map.first_key_value().map(|((at, _), _)| *at)
    }
}

/// The heap, with a map that says which of its entries still count.
///
/// Cancelling forgets the timer in the map; re-arming overwrites it there, and pushes. What
/// the map does not confirm is dropped when the heap comes to it, and not before.
pub(crate) struct Binary {
    heap: BinaryHeap<Reverse<(u64, u32)>>,
    armed: HashMap<u32, u64>,
}

impl Peer for Binary {
    type Key = u32;

    const NAME: &'static str = "BinaryHeap + HashMap";
    const HOW: &'static str = "the map says which entries of the heap still count; the others \
                               stay until the heap comes to them";

    fn new(n: usize) -> Self {
        Self {
            heap: BinaryHeap::with_capacity(n),
            armed: HashMap::with_capacity(n),
        }
    }

    #[inline]
    fn arm(&mut self, at: u64, id: u32) -> u32 {
        self.armed.insert(id, at);
        self.heap.push(Reverse((at, id)));
        id
    }

    #[inline]
    fn cancel(&mut self, key: u32) {
        black_box(self.armed.remove(&key).expect("the timer is armed"));
    }

    #[inline]
    fn rearm(&mut self, key: u32, at: u64, _id: u32) -> u32 {
        self.arm(at, key)
    }

    fn advance(&mut self, to: u64) -> u64 {
        let mut fired = 0;
        while let Some(&Reverse((at, id))) = self.heap.peek() {
            if at > to {
                break;
            }
            self.heap.pop();
            if self.armed.get(&id) == Some(&at) {
                self.armed.remove(&id);
                black_box(id);
                fired += 1;
            }
        }
        fired
    }

    fn next(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }
}
