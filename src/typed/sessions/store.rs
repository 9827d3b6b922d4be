//! Sessions under ids that the store makes.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use core::hash::BuildHasherDefault;

use super::by_key::ByKey;
use super::guarded::{Guarded, Selected};
use super::owned::Aged;
use super::policy::{SessionLimits, SessionPolicy, TouchPolicy};
use super::record::Held;
use super::registry::Registry;
use super::start::{Existing, Start};
use super::tell::Event;
use super::{
    Session, SessionGone, SessionId, StartError, TimeToLive, UpdateError, principal, seen,
};
use crate::typed::Ended;
use crate::typed::deadline::Gone;
use crate::typed::secret::{Digest, DigestKey};
use crate::{Timers, Timestamp};

/// Sessions under ids that the store makes and clients keep: what a login service has.
///
/// As [`Sessions`](super::Sessions) in all that concerns deadlines, touches, ends and costs. The id is a secret: the store keeps no more
/// than a keyed digest of it, under a key that it makes at random or is [given](super::SessionStoreBuilder::digest_key), and
/// compares in constant time. An id that the store has not made leads nowhere, and nothing is ever started under one that
/// a client brings.
///
/// ```
/// use std::time::Duration;
/// use tickwheel::{ManualClock, SessionId, SessionPolicy, SessionStore, Timers};
///
/// const MINUTE: Duration = Duration::from_secs(60);
/// let clock = ManualClock::new();
/// let timers = Timers::builder().clock(clock.clone()).build_hand_driven()?;
/// let policy = SessionPolicy::new().idle(30 * MINUTE).absolute(12 * 60 * MINUTE);
/// let store = SessionStore::new(&timers, policy)?;
///
/// let (id, _) = store.create_anonymous("a basket")?;
/// let cookie = id.to_text();
/// clock.advance(29 * MINUTE);
/// let shown = SessionId::parse(&cookie)?;
/// assert_eq!(*store.get(&shown).unwrap().value, "a basket"); // a touch
///
/// let fresh = store.cycle_id_as(&shown, "alice")?; // she has given her password
/// assert!(store.get(&shown).is_none());
/// assert!(store.get(&fresh).is_some());
///
/// assert_eq!(store.revoke_all("alice"), 1);
/// assert!(store.get(&fresh).is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SessionStore<V> {
    pub(super) registry: Arc<Registry<u64, Guarded<V>, BuildHasherDefault<Selected>>>,
    pub(super) key: Arc<DigestKey>,
}

// === impl SessionStore ===

impl<V: Send + Sync + 'static> SessionStore<V> {
    /// A store by these rules, on the clock of `timers`.
    ///
    /// # Errors
    ///
    /// [`StartError::Random`] if the operating system gives no random bytes for its key.
    pub fn new(timers: &Timers, policy: SessionPolicy) -> Result<Self, StartError> {
        Ok(Self {
            key: Arc::new(DigestKey::random().map_err(|_| StartError::Random)?),
            registry: Registry::new(timers, policy, None, BuildHasherDefault::default()),
        })
    }

    /// A store that tells `ended` of every session that ends: as [`Sessions`](super::Sessions) does, but that
    /// the key is the principal, if there is one.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn with_events(
        timers: &Timers,
        policy: SessionPolicy,
        ended: impl Fn(Ended<Option<Arc<str>>, Arc<V>>) + Send + Sync + 'static,
    ) -> Result<Self, StartError> {
        let hook = move |event: Event<u64, Guarded<V>>| {
            let Event {
                record,
                payload,
                owner,
                reason,
                deadline,
            } = event;
            ended(Ended {
                key: owner,
                value: payload.value,
                reason,
                deadline,
                generation: record.generation,
            });
        };
        let hook = Some(Box::new(hook) as _);
        Ok(Self {
            key: Arc::new(DigestKey::random().map_err(|_| StartError::Random)?),
            registry: Registry::new(timers, policy, hook, BuildHasherDefault::default()),
        })
    }

    /// Starts a session of a principal, under an id that is made for it.
    ///
    /// # Errors
    ///
    /// [`StartError`] says which; the value is dropped.
    pub fn create(&self, principal: &str, value: V) -> Result<(SessionId, Session<V>), StartError> {
        self.create_with(Some(principal), value, self.registry.policy.limits)
    }

    /// Starts a session of nobody in particular, as before a login. It has no part in the limit per
    /// principal. [`cycle_id_as`](Self::cycle_id_as) gives it a principal.
    ///
    /// # Errors
    ///
    /// As [`create`](Self::create).
    pub fn create_anonymous(&self, value: V) -> Result<(SessionId, Session<V>), StartError> {
        self.create_with(None, value, self.registry.policy.limits)
    }

    /// As [`create`](Self::create), for a principal or none, and with limits of its own.
    ///
    /// # Errors
    ///
    /// As that.
    pub fn create_with(
        &self,
        of: Option<&str>,
        value: V,
        limits: SessionLimits,
    ) -> Result<(SessionId, Session<V>), StartError> {
        let owner = principal(of)?;
        let value = Arc::new(value);
        loop {
            let id = SessionId::random().map_err(|_| StartError::Random)?;
            let digest = self.digest(&id);
            let guarded = || Guarded::new(Arc::clone(&value), digest);
            let (selector, owner) = (id.selector(), owner.clone());
            let started = self.registry.start(
                &selector,
                owner,
                limits,
                Existing::Keep,
                guarded,
                |_, _, _| None::<()>,
            )?;
            if let Start::Started(Aged { record, created }) = started {
                let session = Session {
                    value,
                    version: 0,
                    generation: record.generation,
                    created,
                };
                return Ok((id, session));
            }
            // The selector is taken, once in 2^64 tries.
        }
    }

    /// The session of an id. A touch, if that is the [policy](TouchPolicy).
    #[must_use]
    pub fn get(&self, id: &SessionId) -> Option<Session<V>> {
        self.look(id, self.registry.policy.touch == TouchPolicy::OnAccess)
    }

    /// The session of an id. Never a touch.
    #[must_use]
    pub fn peek(&self, id: &SessionId) -> Option<Session<V>> {
        self.look(id, false)
    }

    fn look(&self, id: &SessionId, touches: bool) -> Option<Session<V>> {
        let seen = self.visit(id, |entry, held, now| {
            let record = &entry.record;
            if touches {
                record.touch(now)?;
            }
            seen::view(record, entry.created, held).ok_or(Gone)
        });
        seen.ok()
    }

    /// Whether an id leads to a session. Never a touch.
    #[must_use]
    pub fn contains(&self, id: &SessionId) -> bool {
        self.visit(id, |_, _, _| Ok(())).is_ok()
    }

    /// As [`Sessions::touch`](super::Sessions::touch).
    ///
    /// # Errors
    ///
    /// [`SessionGone`] if the id leads to none.
    pub fn touch(&self, id: &SessionId) -> Result<TimeToLive, SessionGone> {
        let touched = self.visit(id, |entry, _, now| {
            let record = &entry.record;
            let deadline = record.touch(now)?;
            Ok(record.time_to_live(deadline, now))
        });
        touched.map_err(|Gone| SessionGone)
    }

    /// What is left to a session. Not a touch.
    ///
    /// # Errors
    ///
    /// [`SessionGone`] if the id leads to none.
    pub fn time_to_live(&self, id: &SessionId) -> Result<TimeToLive, SessionGone> {
        let left = self.visit(id, |entry, _, now| {
            let record = &entry.record;
            let deadline = record.word.get().ok_or(Gone)?;
            Ok(record.time_to_live(deadline, now))
        });
        left.map_err(|Gone| SessionGone)
    }

    /// As [`Sessions::update`](super::Sessions::update). A session that has ended is not written back.
    ///
    /// # Errors
    ///
    /// As that.
    pub fn update(
        &self,
        id: &SessionId,
        seen: &Session<V>,
        value: V,
    ) -> Result<Session<V>, UpdateError> {
        let touches = self.registry.policy.touch != TouchPolicy::Manual;
        // Then the old one, which is dropped when the lock is released.
        let mut value = Arc::new(value);
        let updated = self.visit(id, |entry, held, now| {
            seen::replace(entry, held, seen, &mut value, touches.then_some(now))
        });
        // Before there is anything to return: should it panic, that would be leaked.
        drop(value);
        updated.unwrap_or(Err(UpdateError::Gone))
    }

    /// As [`Sessions::modify`](super::Sessions::modify).
    ///
    /// # Errors
    ///
    /// As that.
    pub fn modify(
        &self,
        id: &SessionId,
        f: impl FnMut(&V) -> V,
    ) -> Result<Session<V>, SessionGone> {
        let update = |seen: &_, value| self.update(id, seen, value);
        seen::modify(|| self.look(id, false), update, f)
    }

    /// Calls `f` with the session of an id, at one time.
    #[inline]
    pub(super) fn visit<R>(
        &self,
        id: &SessionId,
        mut f: impl FnMut(&ByKey<u64, Guarded<V>>, &mut Held<Guarded<V>>, Timestamp) -> Result<R, Gone>,
    ) -> Result<R, Gone> {
        let digest = self.digest(id);
        let now = self.registry.now();
        self.registry.visit(&id.selector(), now, |entry, held| {
            let payload = held.payload.as_mut().ok_or(Gone)?;
            if payload.admits(&digest, now) {
                f(entry, held, now)
            } else {
                Err(Gone)
            }
        })
    }

    #[inline]
    pub(super) fn digest(&self, id: &SessionId) -> Digest {
        self.key.digest_fixed(id.bytes())
    }
}

impl<V> Clone for SessionStore<V> {
    fn clone(&self) -> Self {
        Self {
            registry: Arc::clone(&self.registry),
            key: Arc::clone(&self.key),
        }
    }
}

impl<V> fmt::Debug for SessionStore<V> {
    /// Shows neither ids nor values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionStore")
            .field("policy", &self.registry.policy)
            .finish_non_exhaustive()
    }
}
