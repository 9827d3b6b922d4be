//! What a store of sessions can do, and those of this crate.

use std::hint::black_box;
use std::time::Duration;

use tickwheel::{
    SessionId, SessionPolicy, SessionStore, Sessions, TimeToLive, Timers, TouchPolicy,
};

/// How long a session lives without use: none ends while a workload runs.
pub(crate) const IDLE: Duration = Duration::from_secs(3600);

/// Something that keeps sessions, which several threads use.
pub(crate) trait Store: Sync {
    /// What a session is found by.
    type Key: Clone + Send + Sync;

    const NAME: &'static str;

    /// Without sessions. Each lives for so long from its last use on.
    fn new(idle: Duration) -> Self;

    /// Starts a session. A store that makes its own keys makes one.
    fn start(&self, key: u128, value: u128) -> Self::Key;

    /// Reads a session, which is a use of it. Says whether there was one.
    fn get(&self, key: &Self::Key) -> bool;

    /// Does now what would be done later in somebody's call.
    fn settle(&self) {}
}

/// [`Sessions::get`].
pub(crate) struct Get(Sessions<u128, u128>);

/// [`Sessions::touch`]: the value is not read.
pub(crate) struct Touch(Sessions<u128, u128>);

/// [`SessionStore::get`], by an id, which is digested.
pub(crate) struct ById(SessionStore<u128>);

/// With a thread that drives them.
pub(crate) fn timers() -> Timers {
    Timers::new().expect("a thread for the timers")
}

// === impl Get ===

impl Store for Get {
    type Key = u128;

    const NAME: &'static str = "Sessions::get";

    fn new(idle: Duration) -> Self {
        Self(Sessions::new(&timers(), SessionPolicy::new().idle(idle)))
    }

    fn start(&self, key: u128, value: u128) -> u128 {
        self.0.start(key, value).expect("there is room");
        key
    }

    #[inline]
    fn get(&self, key: &u128) -> bool {
        let session = self.0.get(key);
        session.map(|session| black_box(*session)).is_some()
    }
}

// === impl Touch ===

impl Store for Touch {
    type Key = u128;

    const NAME: &'static str = "Sessions::touch";

    fn new(idle: Duration) -> Self {
        let policy = SessionPolicy::new().idle(idle).touch(TouchPolicy::Manual);
        Self(Sessions::new(&timers(), policy))
    }

    fn start(&self, key: u128, value: u128) -> u128 {
        self.0.start(key, value).expect("there is room");
        key
    }

    #[inline]
    fn get(&self, key: &u128) -> bool {
        let left: Result<TimeToLive, _> = self.0.touch(key);
        left.map(black_box).is_ok()
    }
}

// === impl ById ===

impl Store for ById {
    type Key = SessionId;

    const NAME: &'static str = "SessionStore::get, by id";

    fn new(idle: Duration) -> Self {
        let store = SessionStore::new(&timers(), SessionPolicy::new().idle(idle));
        Self(store.expect("the system has random bytes"))
    }

    fn start(&self, _key: u128, value: u128) -> SessionId {
        let created = self.0.create_anonymous(value);
        created.expect("there is room").0
    }

    #[inline]
    fn get(&self, id: &SessionId) -> bool {
        let session = self.0.get(id);
        session.map(|session| black_box(*session)).is_some()
    }
}
