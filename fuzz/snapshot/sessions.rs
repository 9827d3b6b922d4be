//! Sessions under keys, and under ids.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use tickwheel::snapshot::{
    RestoreError, RestoreOptions, RestoreReport, SessionSnapshot, SessionStoreSnapshot,
    SessionsSnapshot, WallTime,
};
use tickwheel::{SessionPolicy, SessionStore, Sessions};

use crate::kind::{Expected, KEY, Kind, is_twice, malformed, near, version};
use crate::machine::{Machine, Passed};

/// Of a policy that says nothing of sessions that are restored.
fn policy() -> SessionPolicy {
    SessionPolicy::new().idle(Duration::from_secs(60))
}

fn fold<K, V>(session: &mut SessionSnapshot<K, V>) {
    session.generation = 1 + session.generation % 8;
    near(&mut session.created);
    session.absolute.iter_mut().for_each(near);
    session.deadline.iter_mut().for_each(near);
}

fn flaw<K, V, I: Ord>(
    last: u64,
    sessions: &[SessionSnapshot<K, V>],
    key: impl Fn(&K) -> I,
) -> Option<RestoreError> {
    let generations = || sessions.iter().map(|session| session.generation);
    let nobody = |session: &SessionSnapshot<K, V>| session.principal.as_deref() == Some("");
    malformed(
        last >= 1 << 63
            || generations().any(|generation| generation == 0 || generation > last)
            || is_twice(generations())
            || is_twice(sessions.iter().map(|session| key(&session.key)))
            || sessions.iter().any(nobody),
    )
}

fn expect<K, V, I: Ord>(
    taken_at: WallTime,
    sessions: &[SessionSnapshot<K, V>],
    (machine, passed): (&Machine, &Passed),
    key: impl Fn(&K) -> I,
) -> Expected<I> {
    let mut expected = Expected::new();
    for session in sessions {
        let until = |deadline| machine.life(passed, taken_at, deadline);
        let lives = until(session.deadline).zip(until(session.absolute));
        let life = lives.map(|(deadline, absolute)| deadline.min(absolute));
        expected.add(key(&session.key), life);
    }
    expected
}

pub(crate) struct ByKey(Sessions<u64, String>, Arc<AtomicUsize>);

impl Kind for ByKey {
    type Snapshot = SessionsSnapshot<u64, String>;
    type Id = u64;

    fn start(machine: &Machine) -> Self {
        let told = Arc::<AtomicUsize>::default();
        let log = Arc::clone(&told);
        let hook = move |_| {
            log.fetch_add(1, Relaxed);
        };
        Self(Sessions::with_events(&machine.timers, policy(), hook), told)
    }

    fn fold(snapshot: &mut Self::Snapshot) {
        snapshot.version = 1;
        snapshot.last_generation %= 16;
        near(&mut snapshot.taken_at);
        for session in &mut snapshot.sessions {
            session.key %= 16;
            fold(session);
        }
    }

    fn flaw(snapshot: &Self::Snapshot) -> Option<RestoreError> {
        let of_sessions = || flaw(snapshot.last_generation, &snapshot.sessions, |key| *key);
        version(snapshot.version).or_else(of_sessions)
    }

    fn taken_at(snapshot: &Self::Snapshot) -> WallTime {
        snapshot.taken_at
    }

    fn expect(snapshot: &Self::Snapshot, machine: &Machine, passed: &Passed) -> Expected<u64> {
        let there = (machine, passed);
        expect(snapshot.taken_at, &snapshot.sessions, there, |key| *key)
    }

    fn restore(
        &self,
        snapshot: Self::Snapshot,
        options: RestoreOptions,
    ) -> Result<RestoreReport, RestoreError> {
        self.0.restore(snapshot, options)
    }

    fn save(&self, machine: &Machine) -> Self::Snapshot {
        self.0.snapshot_at(machine.anchor())
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn told(&self) -> usize {
        self.1.load(Relaxed)
    }

    fn is_asked(&self, snapshot: &Self::Snapshot, lives: &BTreeMap<u64, u64>) {
        assert_eq!(self.len(), lives.len());
        for session in &snapshot.sessions {
            let key = session.key;
            let until = self.0.time_to_live(&key).ok();
            let until = until.map(|left| left.deadline.as_nanos());
            assert_eq!(until, lives.get(&key).copied(), "of {key}");
            let found = self.0.peek(&key);
            assert_eq!(found.is_some(), until.is_some(), "of {key}");
            if let Some(found) = found {
                assert_eq!(found.value, session.value);
                assert_eq!(found.version, u64::from(session.version));
                assert_eq!(found.generation, session.generation);
            }
        }
    }

    fn goes_on(&self, snapshot: &Self::Snapshot) {
        let session = self.0.start(99, "another".into()).unwrap();
        assert!(session.generation > snapshot.last_generation);
        for session in &snapshot.sessions {
            let before = self.0.time_to_live(&session.key);
            let after = self.0.touch(&session.key);
            assert_eq!(before.is_ok(), after.is_ok());
            if let (Ok(before), Ok(after)) = (before, after) {
                assert!(after.deadline >= before.deadline, "a touch shortens a life");
                assert!(self.0.remove(&session.key).is_ok());
            }
            assert!(self.0.peek(&session.key).is_none() || session.key == 99);
        }
    }
}

pub(crate) struct Stored(SessionStore<String>, Arc<AtomicUsize>);

impl Kind for Stored {
    type Snapshot = SessionStoreSnapshot<String>;
    type Id = u64;

    fn start(machine: &Machine) -> Self {
        let told = Arc::<AtomicUsize>::default();
        let log = Arc::clone(&told);
        let store = SessionStore::builder(&machine.timers, policy())
            .digest_key(KEY)
            .on_end(move |_| {
                log.fetch_add(1, Relaxed);
            })
            .build()
            .unwrap();
        Self(store, told)
    }

    fn fold(snapshot: &mut Self::Snapshot) {
        snapshot.version = 1;
        snapshot.key_check = key_check();
        snapshot.last_generation %= 16;
        near(&mut snapshot.taken_at);
        for session in &mut snapshot.sessions {
            session.key.selector %= 16;
            let former = session.key.former.iter_mut();
            former.flat_map(|former| &mut former.until).for_each(near);
            fold(session);
        }
    }

    fn flaw(snapshot: &Self::Snapshot) -> Option<RestoreError> {
        let of_sessions = || {
            flaw(snapshot.last_generation, &snapshot.sessions, |id| {
                id.selector
            })
        };
        let other = (snapshot.key_check != key_check()).then_some(RestoreError::OtherKey);
        version(snapshot.version).or(other).or_else(of_sessions)
    }

    fn taken_at(snapshot: &Self::Snapshot) -> WallTime {
        snapshot.taken_at
    }

    fn expect(snapshot: &Self::Snapshot, machine: &Machine, passed: &Passed) -> Expected<u64> {
        let there = (machine, passed);
        expect(snapshot.taken_at, &snapshot.sessions, there, |id| {
            id.selector
        })
    }

    fn restore(
        &self,
        snapshot: Self::Snapshot,
        options: RestoreOptions,
    ) -> Result<RestoreReport, RestoreError> {
        self.0.restore(snapshot, options)
    }

    fn save(&self, machine: &Machine) -> Self::Snapshot {
        self.0.snapshot_at(machine.anchor())
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn told(&self) -> usize {
        self.1.load(Relaxed)
    }

    fn is_asked(&self, _: &Self::Snapshot, lives: &BTreeMap<u64, u64>) {
        // Nobody has an id.
        assert_eq!(self.len(), lives.len());
    }

    fn goes_on(&self, snapshot: &Self::Snapshot) {
        let (id, session) = self.0.create_anonymous("another".into()).unwrap();
        assert!(session.generation > snapshot.last_generation);
        assert!(self.0.get(&id).is_some());
    }
}

fn key_check() -> [u8; 32] {
    thread_local! {
        static CHECK: [u8; 32] = {
            let machine = Machine::at(0);
            Stored::start(&machine).save(&machine).key_check
        };
    }
    CHECK.with(|check| *check)
}
