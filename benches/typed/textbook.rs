//! A map and a heap behind a lock, as textbooks have it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hint::black_box;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::expire::Expiring;
use crate::peers::Store;

/// A use moves the deadline in the map alone. The heap has each session once, and is put right when the deadline
/// that it has comes.
pub(crate) struct Textbook {
    sessions: Mutex<Sessions>,
    idle: Duration,
}

#[derive(Default)]
struct Sessions {
    map: HashMap<u128, (u128, Instant)>,
    heap: BinaryHeap<Reverse<(Instant, u128)>>,
}

// === impl Textbook ===

impl Textbook {
    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().expect("no thread panics")
    }
}

impl Store for Textbook {
    type Key = u128;

    const NAME: &'static str = "Mutex<HashMap + BinaryHeap>";

    fn new(idle: Duration) -> Self {
        Self {
            sessions: Mutex::default(),
            idle,
        }
    }

    fn start(&self, key: u128, value: u128) -> u128 {
        let mut sessions = self.lock();
        let deadline = Instant::now() + self.idle;
        sessions.map.insert(key, (value, deadline));
        sessions.heap.push(Reverse((deadline, key)));
        key
    }

    #[inline]
    fn get(&self, key: &u128) -> bool {
        let mut sessions = self.lock();
        let now = Instant::now();
        match sessions.map.get_mut(key) {
            Some((value, deadline)) if now < *deadline => {
                *deadline = now + self.idle;
                black_box(*value);
                true
            }
            _ => false,
        }
    }
}

impl Expiring for Textbook {
    fn reclaim(&self) -> usize {
        self.lock().reclaim(Instant::now())
    }
}

// === impl Sessions ===

impl Sessions {
    /// Takes out what is due. Says how many are left.
    fn reclaim(&mut self, now: Instant) -> usize {
        while let Some(mut first) = self.heap.peek_mut() {
            let Reverse((deadline, key)) = &mut *first;
            if now < *deadline {
                break;
            }
            let (_, used) = self.map[key];
            if now < used {
                *deadline = used;
                continue;
            }
            self.map.remove(key);
            std::collections::binary_heap::PeekMut::pop(first);
        }
        self.map.len()
    }
}
