//! How a store is made that needs more than rules.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;

use super::{SessionPolicy, SessionStore, StartError};
use crate::Timers;
use crate::typed::Ended;
use crate::typed::secret::DigestKey;

type OnEnd<V> = Box<dyn Fn(Ended<Option<Arc<str>>, Arc<V>>) + Send + Sync>;

/// Makes a [`SessionStore`] otherwise than [`SessionStore::new`] does: [`SessionStore::builder`].
///
/// ```
/// use tickwheel::{ManualClock, SessionPolicy, SessionStore, Timers};
///
/// let timers = Timers::builder().clock(ManualClock::new()).build_hand_driven()?;
/// let key = [7; 32]; // from where the service keeps its secrets
/// let store: SessionStore<String> = SessionStore::builder(&timers, SessionPolicy::new())
///     .digest_key(key)
///     .on_end(|end| println!("a session of {:?} has ended: {}", end.key, end.reason))
///     .build()?;
/// let (id, _) = store.create("alice", "a basket".into())?;
/// assert!(store.contains(&id));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a builder does nothing until it builds"]
pub struct SessionStoreBuilder<V> {
    timers: Timers,
    policy: SessionPolicy,
    key: Option<DigestKey>,
    on_end: Option<OnEnd<V>>,
}

// === impl SessionStore ===

impl<V: Send + Sync + 'static> SessionStore<V> {
    /// A store by these rules, on the clock of `timers`, and with what the builder is told besides.
    pub fn builder(timers: &Timers, policy: SessionPolicy) -> SessionStoreBuilder<V> {
        SessionStoreBuilder {
            timers: timers.clone(),
            policy,
            key: None,
            on_end: None,
        }
    }
}

// === impl SessionStoreBuilder ===

impl<V: Send + Sync + 'static> SessionStoreBuilder<V> {
    /// The key for the digests of ids; random without this. With one that is kept, a snapshot of the store can be restored by another
    /// process.
    ///
    /// It has to be 32 random bytes, made once, and kept where the service keeps its secrets, but not with its
    /// snapshots. Whoever has the key and a snapshot still has no id: those are random too. With another key all
    /// sessions are lost.
    pub fn digest_key(mut self, key: [u8; 32]) -> Self {
        self.key = Some(DigestKey::from_bytes(key));
        self
    }

    /// Tells `hook` of every session that ends: as [`SessionStore::with_events`].
    pub fn on_end(
        mut self,
        hook: impl Fn(Ended<Option<Arc<str>>, Arc<V>>) + Send + Sync + 'static,
    ) -> Self {
        self.on_end = Some(Box::new(hook));
        self
    }

    /// Makes it.
    ///
    /// # Errors
    ///
    /// [`StartError::Random`] if the operating system gives no random bytes for a key.
    pub fn build(self) -> Result<SessionStore<V>, StartError> {
        let mut store = match self.on_end {
            Some(hook) => SessionStore::with_events(&self.timers, self.policy, hook)?,
            None => SessionStore::new(&self.timers, self.policy)?,
        };
        if let Some(key) = self.key {
            store.key = Arc::new(key);
        }
        Ok(store)
    }
}

impl<V> fmt::Debug for SessionStoreBuilder<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionStoreBuilder")
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}
