//! Sessions under keys of the caller's own.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::borrow::Borrow;
use core::hash::{BuildHasher, Hash};
use std::hash::RandomState;

use super::policy::{SessionLimits, SessionPolicy, TouchPolicy};
use super::record::Record;
use super::registry::Registry;
use super::start::{Existing, Start};
use super::tell::Event;
use super::{Session, SessionGone, StartError, TimeToLive, Touched, UpdateError, principal, seen};
use crate::Timers;
use crate::typed::Ended;
use crate::typed::deadline::Gone;

/// Sessions of whatever the caller has a key for: visitors, connections, devices.
///
/// A session lives from when it is started until its [idle or absolute deadline](SessionLimits), whichever comes
/// first, and is gone at exactly that time for every method, whether or not the runtime has got round to
/// it. The value is held as an `Arc`: what is read is a snapshot.
///
/// ```
/// use std::time::Duration;
/// use tickwheel::{ManualClock, SessionPolicy, Sessions, Timers};
///
/// const MINUTE: Duration = Duration::from_secs(60);
/// let clock = ManualClock::new();
/// let timers = Timers::builder().clock(clock.clone()).build_hand_driven()?;
/// let visits: Sessions<u32, &str> = Sessions::new(&timers, SessionPolicy::new().idle(30 * MINUTE));
///
/// assert!(visits.touch_or_start(7, || "first page")?.is_started());
/// clock.advance(29 * MINUTE);
/// assert_eq!(*visits.get(&7).unwrap().value, "first page"); // a touch
/// clock.advance(29 * MINUTE);
/// assert!(!visits.touch_or_start(7, || "not called")?.is_started());
/// clock.advance(30 * MINUTE);
/// assert!(visits.get(&7).is_none());
/// assert_eq!(visits.len(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A store keeps its runtime. When that is shut down sessions live on, by its clock, but none is started, and ends are told when
/// somebody asks or the last handle is dropped.
///
/// A handle is cheap to clone, and all clones are the same store. When the last is dropped, what lives
/// ends with [`EndReason::Shutdown`](crate::EndReason::Shutdown).
///
/// # Ends
///
/// Each session ends once. Of its end a hook is told, with the key and the value, the reason, the deadline it then had
/// and its generation: in the thread that has ended it, before the call returns; in the driver's thread for a session
/// that has expired and was not asked for since. A thread that finds one expired ends it. Under one
/// key ends are told in order. If the end before is just being told by another thread, that
/// thread goes on with this one, and the call does not wait for it.
///
/// The hook runs under no lock. It may use the store. If it panics, all other ends are told all the
/// same; the panic passes on to whoever ended the session, or is caught by the driver.
///
/// # Costs
///
/// To read, to touch and to update are O(1), and write to nothing but the session: no other session's reader
/// waits. To start and to end take a short lock of the store: O(1), or O(log n) in the sessions of the principal, and
/// of the store if the oldest may have to go. Those who start sessions under one key at once follow each other.
/// No user code runs under a lock: keys are hashed and compared, and keys and values cloned and dropped, outside.
///
/// A session with a key and a value of 16 bytes each takes about 250 bytes, a store some 150 kB more. When a session has
/// ended the store holds its value no longer. Its key goes later, with those of others: up to 512 wait for each thread that has
/// ended any, and all that end while a `for_each` goes on.
///
/// # Odd input
///
/// | what | comes to |
/// |---|---|
/// | a limit of zero | a session that nobody ever sees, whose end is told at once |
/// | a limit of `Duration::MAX`, or beyond the end of time | no limit |
/// | an absolute limit not longer than the idle one | all ends are [`Absolute`](crate::EndReason::Absolute) |
/// | a cap of zero | everything is refused |
/// | a principal without a name | [`StartError::EmptyPrincipal`] |
/// | a clock that leaps ahead | what is due by then has expired |
/// | a clock that goes back | what was seen to expire stays so; the store goes on from where it was |
pub struct Sessions<K, V, S = RandomState> {
    pub(super) registry: Arc<Registry<K, Arc<V>, S>>,
}

// === impl Sessions ===

impl<K, V> Sessions<K, V>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    V: Send + Sync + 'static,
{
    /// A store by these rules, on the clock of `timers`.
    #[must_use]
    pub fn new(timers: &Timers, policy: SessionPolicy) -> Self {
        Self {
            registry: Registry::new(timers, policy, None, RandomState::new()),
        }
    }

    /// A store that tells `ended` of every session that ends.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    /// use tickwheel::{EndReason, ManualClock, SessionPolicy, Sessions, Timers};
    ///
    /// let clock = ManualClock::new();
    /// let timers = Timers::builder().clock(clock.clone()).build_hand_driven()?;
    /// let (ended, ends) = mpsc::channel();
    /// let policy = SessionPolicy::new().idle(Duration::from_secs(10));
    /// let devices = Sessions::with_events(&timers, policy, move |end| ended.send(end).unwrap());
    ///
    /// devices.start("pump 4", 21.5)?;
    /// timers.advance_to_next(&clock); // nobody has heard from it
    /// let end = ends.try_recv()?;
    /// assert_eq!((end.key, *end.value, end.reason), ("pump 4", 21.5, EndReason::Idle));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_events(
        timers: &Timers,
        policy: SessionPolicy,
        ended: impl Fn(Ended<K, Arc<V>>) + Send + Sync + 'static,
    ) -> Self {
        Self::with_events_and_hasher(timers, policy, ended, RandomState::new())
    }
}

impl<K, V, S> Sessions<K, V, S>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    V: Send + Sync + 'static,
    S: BuildHasher + Send + Sync + 'static,
{
    /// As [`with_events`](Sessions::with_events), with keys hashed otherwise. Where clients choose the keys, the hasher
    /// has to be one that they cannot guess, as the default is.
    pub fn with_events_and_hasher(
        timers: &Timers,
        policy: SessionPolicy,
        ended: impl Fn(Ended<K, Arc<V>>) + Send + Sync + 'static,
        hasher: S,
    ) -> Self {
        let hook = move |event: Event<K, Arc<V>>| {
            let Event {
                record,
                payload,
                reason,
                deadline,
                ..
            } = event;
            ended(Ended {
                key: record.key.clone(),
                value: payload,
                reason,
                deadline,
                generation: record.generation,
            });
        };
        Self {
            registry: Registry::new(timers, policy, Some(Box::new(hook)), hasher),
        }
    }

    /// Starts a session. If one lives under the key it ends, with [`EndReason::Replaced`](crate::EndReason::Replaced), of which is told before
    /// this returns. Returns the new one.
    ///
    /// # Errors
    ///
    /// [`StartError::Full`] and [`StartError::ShutDown`]; then nothing was replaced.
    pub fn start(&self, key: K, value: V) -> Result<Session<V>, StartError> {
        self.start_with(key, value, None, self.registry.policy.limits)
    }

    /// As [`start`](Self::start), for a principal, and with limits of its own.
    ///
    /// # Errors
    ///
    /// As that, and [`StartError::EmptyPrincipal`].
    pub fn start_with(
        &self,
        key: K,
        value: V,
        of: Option<&str>,
        limits: SessionLimits,
    ) -> Result<Session<V>, StartError> {
        let existing = Existing::Replace;
        self.start_or(&key, of, limits, existing, || value)
            .map(Touched::into_session)
    }

    /// Touches the session under a key, whatever the [`TouchPolicy`]; if there is none, starts one with the value that `make` makes. Of
    /// many who do so at a time, one starts it.
    ///
    /// `make` is called under no lock. Its value is dropped if somebody else starts the session meanwhile. The
    /// session lives from when its value is there.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start), if there is none.
    pub fn touch_or_start(
        &self,
        key: K,
        make: impl FnOnce() -> V,
    ) -> Result<Touched<V>, StartError> {
        self.touch_or_start_with(key, None, self.registry.policy.limits, make)
    }

    /// As [`touch_or_start`](Self::touch_or_start), for a principal, and with limits of its own. A session
    /// that is there keeps its own.
    ///
    /// # Errors
    ///
    /// As that, and [`StartError::EmptyPrincipal`].
    pub fn touch_or_start_with(
        &self,
        key: K,
        of: Option<&str>,
        limits: SessionLimits,
        make: impl FnOnce() -> V,
    ) -> Result<Touched<V>, StartError> {
        self.start_or(&key, of, limits, Existing::Touch, make)
    }

    fn start_or(
        &self,
        key: &K,
        of: Option<&str>,
        limits: SessionLimits,
        existing: Existing,
        make: impl FnOnce() -> V,
    ) -> Result<Touched<V>, StartError> {
        let owner = principal(of)?;
        let mut made = None;
        let make = || Arc::clone(made.insert(Arc::new(make())));
        let start = self
            .registry
            .start(key, owner, limits, existing, make, seen::view)?;
        let started = match start {
            Start::Touched(session) => {
                // Before there is anything to return: should it panic, that would be leaked.
                drop(made);
                return Ok(Touched::Existing(session));
            }
            Start::Started(started) => (started.record.generation, started.created),
            Start::Kept => unreachable!("what lives is touched or replaced"),
        };
        let value = made.unwrap_or_else(|| unreachable!("what is started was made"));
        let (generation, created) = started;
        Ok(Touched::Started(Session {
            value,
            version: 0,
            generation,
            created,
        }))
    }

    /// The session under a key. A touch, if that is the [policy](TouchPolicy).
    #[must_use]
    pub fn get<Q>(&self, key: &Q) -> Option<Session<V>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let touches = self.registry.policy.touch == TouchPolicy::OnAccess;
        self.look(key, touches)
    }

    /// The session under a key. Never a touch.
    #[must_use]
    pub fn peek<Q>(&self, key: &Q) -> Option<Session<V>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.look(key, false)
    }

    #[inline]
    pub(super) fn look<Q>(&self, key: &Q, touches: bool) -> Option<Session<V>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let now = self.registry.now();
        let seen = self.registry.visit(key, now, |entry, held| {
            let record = &entry.record;
            if touches {
                record.touch(now)?;
            }
            seen::view(record, entry.created, held).ok_or(Gone)
        });
        seen.ok()
    }

    /// Whether there is a session under a key. Never a touch.
    #[must_use]
    pub fn contains<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let now = self.registry.now();
        let lives = |record: &Record<_, _>| record.word.is_live(now).then_some(()).ok_or(Gone);
        self.registry.glance(key, now, lives).is_ok()
    }

    /// Touches a session: it may be idle from now on for as long as ever, but not beyond its absolute
    /// deadline. One step, which neither revives what has expired nor brings a deadline forward.
    ///
    /// # Errors
    ///
    /// [`SessionGone`] if there is none.
    pub fn touch<Q>(&self, key: &Q) -> Result<TimeToLive, SessionGone>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let now = self.registry.now();
        let touched = self.registry.glance(key, now, |record| {
            let deadline = record.touch(now)?;
            Ok(record.time_to_live(deadline, now))
        });
        touched.map_err(|Gone| SessionGone)
    }

    /// What is left to a session. Not a touch.
    ///
    /// # Errors
    ///
    /// [`SessionGone`] if there is none.
    pub fn time_to_live<Q>(&self, key: &Q) -> Result<TimeToLive, SessionGone>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let now = self.registry.now();
        let left = self.registry.glance(key, now, |record| {
            let deadline = record.word.get().filter(|deadline| *deadline > now);
            Ok(record.time_to_live(deadline.ok_or(Gone)?, now))
        });
        left.map_err(|Gone| SessionGone)
    }

    /// Puts a value in the place of the one that was `seen`. Returns the session as it is then. A touch, unless that
    /// is [manual](TouchPolicy::Manual). It never starts a session.
    ///
    /// # Errors
    ///
    /// [`UpdateError::Gone`] if that session is, even if there is another one under the key;
    /// [`UpdateError::Conflict`] if it has another version, since somebody has changed it. The value is dropped.
    ///
    /// ```
    /// use tickwheel::{ManualClock, SessionPolicy, Sessions, Timers, UpdateError};
    ///
    /// let timers = Timers::builder().clock(ManualClock::new()).build_hand_driven()?;
    /// let carts = Sessions::new(&timers, SessionPolicy::new());
    /// let seen = carts.start("visitor", vec!["pear"])?;
    /// let new = carts.update("visitor", &seen, vec!["pear", "plum"])?;
    ///
    /// let late = carts.update("visitor", &seen, vec![]); // decided on what it had seen before
    /// assert_eq!(late.unwrap_err(), UpdateError::Conflict { version: new.version });
    /// carts.remove("visitor")?;
    /// assert_eq!(carts.update("visitor", &new, vec![]).unwrap_err(), UpdateError::Gone);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update<Q>(&self, key: &Q, seen: &Session<V>, value: V) -> Result<Session<V>, UpdateError>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let now = self.registry.now();
        let touches = self.registry.policy.touch != TouchPolicy::Manual;
        // Then the old one, which is dropped when the lock is released.
        let mut value = Arc::new(value);
        let updated = self.registry.visit(key, now, |entry, held| {
            seen::replace(entry, held, seen, &mut value, touches.then_some(now))
        });
        // Before there is anything to return: should it panic, that would be leaked.
        drop(value);
        updated.unwrap_or(Err(UpdateError::Gone))
    }
}
