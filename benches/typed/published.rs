//! Peers from the registry, each used as its documentation says.

use std::future::Future;
use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use mini_moka::sync::{Cache as MiniCache, ConcurrentCacheExt};
use moka::Expiry;
use moka::sync::Cache;
use time::OffsetDateTime;
use tower_sessions_core::SessionStore;
use tower_sessions_core::session::{Id, Record};
use tower_sessions_memory_store::MemoryStore;

use crate::expire::Expiring;
use crate::peers::Store;

/// `moka`, with one time to idle for all.
pub(crate) struct Moka(Cache<u128, u128>);

/// `moka`, with a lifetime for each entry, set anew by each read.
pub(crate) struct MokaExpiry(Cache<u128, u128>);

/// For so long from the last use on.
struct SinceRead(Duration);

/// `mini-moka`, with one time to idle for all.
pub(crate) struct MiniMoka(MiniCache<u128, u128>);

/// The store in memory of `tower-sessions`.
///
/// It has no touch, and does not look for what has expired: a session is loaded, and saved with another date. What it
/// holds is JSON, which has no numbers of 16 bytes: two of 8.
pub(crate) struct Tower {
    store: MemoryStore,
    idle: Duration,
}

// === impl Moka ===

impl Store for Moka {
    type Key = u128;

    const NAME: &'static str = "moka, time_to_idle";

    fn new(idle: Duration) -> Self {
        Self(Cache::builder().time_to_idle(idle).build())
    }

    fn start(&self, key: u128, value: u128) -> u128 {
        self.0.insert(key, value);
        key
    }

    #[inline]
    fn get(&self, key: &u128) -> bool {
        self.0.get(key).map(black_box).is_some()
    }

    fn settle(&self) {
        self.0.run_pending_tasks();
    }
}

impl Expiring for Moka {
    fn reclaim(&self) -> usize {
        self.0.run_pending_tasks();
        self.0.entry_count() as usize
    }
}

// === impl MokaExpiry ===

impl Expiry<u128, u128> for SinceRead {
    fn expire_after_create(&self, _: &u128, _: &u128, _: Instant) -> Option<Duration> {
        Some(self.0)
    }

    fn expire_after_read(
        &self,
        _: &u128,
        _: &u128,
        _: Instant,
        _: Option<Duration>,
        _: Instant,
    ) -> Option<Duration> {
        Some(self.0)
    }
}

impl Store for MokaExpiry {
    type Key = u128;

    const NAME: &'static str = "moka, Expiry";

    fn new(idle: Duration) -> Self {
        Self(Cache::builder().expire_after(SinceRead(idle)).build())
    }

    fn start(&self, key: u128, value: u128) -> u128 {
        self.0.insert(key, value);
        key
    }

    #[inline]
    fn get(&self, key: &u128) -> bool {
        self.0.get(key).map(black_box).is_some()
    }

    fn settle(&self) {
        self.0.run_pending_tasks();
    }
}

impl Expiring for MokaExpiry {
    /// Its wheel turns every 2^30 ns: before that it has nothing to take out.
    fn wait(&self, span: Duration) {
        thread::sleep(span + Duration::from_nanos(1 << 30));
    }

    fn reclaim(&self) -> usize {
        self.0.run_pending_tasks();
        self.0.entry_count() as usize
    }
}

// === impl MiniMoka ===

impl Store for MiniMoka {
    type Key = u128;

    const NAME: &'static str = "mini-moka, time_to_idle";

    fn new(idle: Duration) -> Self {
        Self(MiniCache::builder().time_to_idle(idle).build())
    }

    fn start(&self, key: u128, value: u128) -> u128 {
        self.0.insert(key, value);
        key
    }

    #[inline]
    fn get(&self, key: &u128) -> bool {
        self.0.get(key).map(black_box).is_some()
    }

    fn settle(&self) {
        self.0.sync();
    }
}

impl Expiring for MiniMoka {
    fn reclaim(&self) -> usize {
        self.0.sync();
        self.0.entry_count() as usize
    }
}

// === impl Tower ===

impl Store for Tower {
    type Key = Id;

    const NAME: &'static str = "tower-sessions MemoryStore, load + save";

    fn new(idle: Duration) -> Self {
        Self {
            store: MemoryStore::default(),
            idle,
        }
    }

    fn start(&self, key: u128, value: u128) -> Id {
        let halves = [value as u64, (value >> 64) as u64];
        let mut record = Record {
            id: Id(key as i128),
            data: [("value".into(), halves.as_slice().into())].into(),
            expiry_date: OffsetDateTime::now_utc() + self.idle,
        };
        at_once(self.store.create(&mut record)).expect("it never fails");
        record.id
    }

    #[inline]
    fn get(&self, id: &Id) -> bool {
        let Some(mut record) = at_once(self.store.load(id)).expect("it never fails") else {
            return false;
        };
        black_box(&record.data);
        record.expiry_date = OffsetDateTime::now_utc() + self.idle;
        at_once(self.store.save(&record)).expect("it never fails");
        true
    }
}

/// What a future comes to. If it waits for a lock, it is asked again until it has it.
#[inline]
fn at_once<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut cx = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return output;
        }
        thread::yield_now();
    }
}
