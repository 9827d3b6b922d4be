//! While a session is being replaced there are two for a moment: the one that the key leads to, and the one that it is about to
//! lead to. They count as one.
//!
//! The moment is seen from within it: the map compares keys then.

use std::cell::{Cell, RefCell};
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use tickwheel::{Session, StartError, WhenFull};

use super::*;

thread_local! {
    /// What is done whenever key 0 is compared with itself on this thread.
    static MEANWHILE: RefCell<Option<Rc<dyn Fn()>>> = const { RefCell::new(None) };
}

#[derive(Clone, Debug)]
struct Key(u32);

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        if self.0 == 0 && other.0 == 0 {
            // Taken out meanwhile: what is done may compare keys too.
            if let Some(run) = MEANWHILE.take() {
                run();
                MEANWHILE.set(Some(run));
            }
        }
        self.0 == other.0
    }
}

impl Eq for Key {}

type Store = Sessions<Key, &'static str>;

struct Replaced {
    rig: Rig<Key, &'static str>,
    sessions: Store,
}

impl Replaced {
    /// Key 0 has a session of `ada`, which is replaced by one of `by`. `act` is called once, when there are two.
    fn new(policy: SessionPolicy, by: &str, act: impl Fn(&Store) + 'static) -> Self {
        let rig = Rig::new();
        let sessions: Store = Sessions::with_events(&rig.timers, policy, rig.hook());
        let limits = idle(100 * S).limits();
        let start = |key, of: &str| sessions.start_with(Key(key), "v", Some(of), limits);
        start(0, "ada").unwrap();
        start(1, "ada").unwrap();
        let moments = Rc::new(Cell::new(0));
        let (seen, store, other) = (Rc::clone(&moments), sessions.clone(), by.to_string());
        MEANWHILE.set(Some(Rc::new(move || {
            let Some(found) = store.peek(&Key(0)) else {
                assert!(seen.get() > 0, "the key leads to one of them at any time");
                return;
            };
            let listed = store.list(&other);
            let is_other = |(key, session): &(Key, Session<_>)| {
                key.0 == 0 && session.generation != found.generation
            };
            if listed.iter().any(is_other) && seen.replace(seen.get() + 1) == 0 {
                act(&store);
            }
        })));
        start(0, by).unwrap();
        MEANWHILE.set(None);
        assert!(moments.get() > 0, "the moment was seen");
        Self { rig, sessions }
    }

    fn ends(&self) -> Vec<(u32, EndReason)> {
        let ends = self.rig.ends();
        ends.into_iter()
            .map(|end| (end.key.0, end.reason))
            .collect()
    }
}

#[test]
fn they_count_as_one() {
    let policy = SessionPolicy::new().max_sessions(3).max_per_principal(3);
    let replaced = Replaced::new(policy, "ada", |sessions| {
        assert_eq!((sessions.len(), sessions.principals()), (2, 1));
        let start = |key| sessions.start_with(Key(key), "v", Some("ada"), idle(S).limits());
        assert!(start(2).is_ok(), "there is room for one");
        assert_eq!(start(3).unwrap_err(), StartError::Full);
        assert_eq!(sessions.len(), 3);
    });
    assert_eq!(replaced.ends(), [(0, EndReason::Replaced)]);
    assert_eq!(replaced.sessions.len(), 3);
}

#[test]
fn the_one_that_goes_for_another_is_neither() {
    let all = SessionPolicy::new().max_sessions(2);
    let own = SessionPolicy::new().max_per_principal(2);
    for policy in [all, own] {
        let policy = policy.when_full(WhenFull::EndOldest);
        let replaced = Replaced::new(policy, "ada", |sessions| {
            let started = sessions.start_with(Key(2), "v", Some("ada"), idle(S).limits());
            assert!(started.is_ok());
        });
        let ends = [(1, EndReason::Capacity), (0, EndReason::Replaced)];
        assert_eq!(replaced.ends(), ends);
        assert!(
            [0, 2]
                .iter()
                .all(|key| replaced.sessions.contains(&Key(*key)))
        );
    }
}

#[test]
fn each_is_its_own_principals() {
    let policy = SessionPolicy::new().max_per_principal(1 + 1);
    let replaced = Replaced::new(policy, "bob", |sessions| {
        assert_eq!((sessions.len(), sessions.principals()), (2, 2));
        let start = |key, of| sessions.start_with(Key(key), "v", Some(of), idle(S).limits());
        assert_eq!(start(2, "ada").unwrap_err(), StartError::Full);
        assert!(start(3, "bob").is_ok());
        assert_eq!(start(4, "bob").unwrap_err(), StartError::Full);
    });
    let sessions = &replaced.sessions;
    assert_eq!((sessions.len(), sessions.principals()), (3, 2));
    assert_eq!(sessions.list("ada").len(), 1);
}

#[test]
fn both_end_if_all_of_the_principal_do_and_are_told_of_in_order() {
    let replaced = Replaced::new(SessionPolicy::new(), "ada", |sessions| {
        assert_eq!(sessions.revoke_all("ada"), 2, "they count as one");
    });
    let ends = replaced.ends();
    let of_key_0: Vec<_> = ends.iter().filter(|end| end.0 == 0).collect();
    let in_order = [(0, EndReason::Replaced), (0, EndReason::Revoked)];
    assert_eq!(of_key_0, in_order.each_ref());
    assert_eq!(ends.len(), 3);
    let sessions = &replaced.sessions;
    assert!(sessions.get(&Key(0)).is_none());
    assert_eq!((sessions.len(), sessions.resident()), (0, 0));
}
