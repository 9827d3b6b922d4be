//! What is stored, by kind: each has one thing that lives for a time.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tickwheel::snapshot::{
    CodesSnapshot, LeasesSnapshot, RestoreError, RestoreOptions, RestoreReport,
    SessionStoreSnapshot, SessionsSnapshot, WallTime,
};
use tickwheel::{EndReason, Leases, OneTimeCodes, SessionPolicy, SessionStore, Sessions};

use crate::{KEY, Machine, Told, stored};

/// A store of a kind, on some machine.
pub(crate) trait Kind: Sized {
    type Snapshot: Serialize + DeserializeOwned + Clone;

    /// How its things expire.
    const REASON: EndReason;

    /// An empty one, whose things live for that long.
    fn start(machine: &Machine, ttl: Duration) -> Self;

    /// Begins the one thing.
    fn begin(&self);

    /// What is left to it: none if it is gone, and `Duration::MAX` without end.
    fn left(&self) -> Option<Duration>;

    /// A snapshot, as it is read again.
    fn save(&self, machine: &Machine) -> Self::Snapshot;

    /// How many things are in a snapshot.
    fn count(snapshot: &Self::Snapshot) -> usize;

    /// Where the deadline of the one thing is, in a snapshot as JSON.
    const DEADLINE: &[&str];

    /// Gives the one thing another deadline.
    fn set_deadline(snapshot: &mut Value, deadline: &Value) {
        for path in Self::DEADLINE {
            let stored = snapshot.pointer_mut(path).unwrap();
            assert!(stored.is_object(), "{path} is {stored}");
            *stored = deadline.clone();
        }
    }

    fn restore(
        &self,
        snapshot: Self::Snapshot,
        options: RestoreOptions,
    ) -> Result<RestoreReport, RestoreError>;

    fn told(&self) -> &Told;

    /// Another process takes over, with these options.
    fn restarted(
        machine: &Machine,
        ttl: Duration,
        snapshot: Self::Snapshot,
        options: RestoreOptions,
    ) -> (Self, RestoreReport) {
        let store = Self::start(machine, ttl);
        let report = store.restore(snapshot, options).unwrap();
        (store, report)
    }
}

/// Calls a generic test with each kind.
macro_rules! for_each_kind {
    ($($test:ident),+ $(,)?) => {
        mod leases {
            $(#[test] fn $test() { super::$test::<$crate::kinds::AsLeases>(); })+
        }
        mod codes {
            $(#[test] fn $test() { super::$test::<$crate::kinds::AsCodes>(); })+
        }
        mod sessions {
            $(#[test] fn $test() { super::$test::<$crate::kinds::AsSessions>(); })+
        }
        mod store {
            $(#[test] fn $test() { super::$test::<$crate::kinds::AsStore>(); })+
        }
    };
}
pub(crate) use for_each_kind;

pub(crate) struct AsLeases(Leases<String>, Duration, Told);

impl Kind for AsLeases {
    type Snapshot = LeasesSnapshot<String>;
    const REASON: EndReason = EndReason::Absolute;
    const DEADLINE: &[&str] = &["/grants/0/deadline"];

    fn start(machine: &Machine, ttl: Duration) -> Self {
        let told = Told::default();
        let log = told.clone();
        let leases = Leases::builder()
            .on_end(move |ended| log.add(ended.reason, ended.deadline))
            .build(&machine.timers);
        Self(leases, ttl, told)
    }

    fn begin(&self) {
        let _grant = self.0.try_acquire("report", "worker", self.1).unwrap();
    }

    fn left(&self) -> Option<Duration> {
        self.0.time_to_live("report")
    }

    fn save(&self, machine: &Machine) -> Self::Snapshot {
        stored(&self.0.snapshot_at(machine.anchor))
    }

    fn count(snapshot: &Self::Snapshot) -> usize {
        snapshot.grants.len()
    }

    fn restore(
        &self,
        snapshot: Self::Snapshot,
        options: RestoreOptions,
    ) -> Result<RestoreReport, RestoreError> {
        self.0.restore(snapshot, options)
    }

    fn told(&self) -> &Told {
        &self.2
    }
}

pub(crate) struct AsCodes(OneTimeCodes, Told);

impl Kind for AsCodes {
    type Snapshot = CodesSnapshot;
    const REASON: EndReason = EndReason::Absolute;
    const DEADLINE: &[&str] = &["/subjects/0/purposes/0/code/deadline"];

    fn start(machine: &Machine, ttl: Duration) -> Self {
        let told = Told::default();
        let log = told.clone();
        let codes = OneTimeCodes::builder(&machine.timers)
            .time_to_live(ttl)
            .digest_key(KEY)
            .on_end(move |ended| log.add(ended.reason, ended.deadline))
            .build()
            .unwrap();
        Self(codes, told)
    }

    fn begin(&self) {
        let _issued = self.0.issue("ada", "login").unwrap();
    }

    fn left(&self) -> Option<Duration> {
        self.0.time_to_live("ada", "login")
    }

    fn save(&self, machine: &Machine) -> Self::Snapshot {
        stored(&self.0.snapshot_at(machine.anchor))
    }

    fn count(snapshot: &Self::Snapshot) -> usize {
        let purposes = snapshot.subjects.iter().flat_map(|entry| &entry.purposes);
        purposes.filter(|entry| entry.code.is_some()).count()
    }

    fn restore(
        &self,
        snapshot: Self::Snapshot,
        options: RestoreOptions,
    ) -> Result<RestoreReport, RestoreError> {
        self.0.restore(snapshot, &["login", "reset"], options)
    }

    fn told(&self) -> &Told {
        &self.1
    }
}

/// A session that ends when it is idle.
pub(crate) struct AsSessions(Sessions<u64, String>, Told);

impl Kind for AsSessions {
    type Snapshot = SessionsSnapshot<u64, String>;
    const REASON: EndReason = EndReason::Idle;
    const DEADLINE: &[&str] = &["/sessions/0/deadline"];

    fn start(machine: &Machine, ttl: Duration) -> Self {
        let told = Told::default();
        let log = told.clone();
        let policy = SessionPolicy::new().idle(ttl);
        let sessions = Sessions::with_events(&machine.timers, policy, move |ended| {
            log.add(ended.reason, ended.deadline);
        });
        Self(sessions, told)
    }

    fn begin(&self) {
        self.0.start(7, "a page".into()).unwrap();
    }

    fn left(&self) -> Option<Duration> {
        let left = self.0.time_to_live(&7).ok()?;
        Some(left.effective.unwrap_or(Duration::MAX))
    }

    fn save(&self, machine: &Machine) -> Self::Snapshot {
        stored(&self.0.snapshot_at(machine.anchor))
    }

    fn count(snapshot: &Self::Snapshot) -> usize {
        snapshot.sessions.len()
    }

    fn restore(
        &self,
        snapshot: Self::Snapshot,
        options: RestoreOptions,
    ) -> Result<RestoreReport, RestoreError> {
        self.0.restore(snapshot, options)
    }

    fn told(&self) -> &Told {
        &self.1
    }
}

/// A session that ends at its absolute deadline.
pub(crate) struct AsStore(SessionStore<String>, Told);

impl Kind for AsStore {
    type Snapshot = SessionStoreSnapshot<String>;
    const REASON: EndReason = EndReason::Absolute;
    const DEADLINE: &[&str] = &["/sessions/0/deadline", "/sessions/0/absolute"];

    fn start(machine: &Machine, ttl: Duration) -> Self {
        let told = Told::default();
        let log = told.clone();
        let policy = SessionPolicy::new().absolute(ttl);
        let store = SessionStore::builder(&machine.timers, policy)
            .digest_key(KEY)
            .on_end(move |ended| log.add(ended.reason, ended.deadline))
            .build()
            .unwrap();
        Self(store, told)
    }

    fn begin(&self) {
        self.0.create("alice", "a basket".into()).unwrap();
    }

    fn left(&self) -> Option<Duration> {
        // Nobody has kept the id: by what another snapshot says, which does not touch.
        let snapshot = self.0.snapshot();
        let session = snapshot.sessions.first()?;
        let left = session.deadline.map(WallTime::since_epoch);
        let taken_at = snapshot.taken_at.since_epoch();
        Some(left.map_or(Duration::MAX, |deadline| deadline - taken_at))
    }

    fn save(&self, machine: &Machine) -> Self::Snapshot {
        stored(&self.0.snapshot_at(machine.anchor))
    }

    fn count(snapshot: &Self::Snapshot) -> usize {
        snapshot.sessions.len()
    }

    fn restore(
        &self,
        snapshot: Self::Snapshot,
        options: RestoreOptions,
    ) -> Result<RestoreReport, RestoreError> {
        self.0.restore(snapshot, options)
    }

    fn told(&self) -> &Told {
        &self.1
    }
}
