//! All resources, and the one way to change one: lock, act, hand over, unlock; then run what is to be
//! run.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::borrow::Borrow;
use core::hash::{Hash, Hasher};
use core::time::Duration;

use papaya::{Equivalent, HashMap};

use super::AcquireError;
use super::effects::Effects;
use super::idle::{Idle, Rest};
use super::record::Record;
use super::slot::{Slot, State};
use super::token::Tokens;
use crate::typed::alarm::Alarm;
use crate::typed::panics::Panics;
use crate::typed::{EndReason, Ended};
use crate::{ArmError, Timers, Timestamp};

pub(super) type OnEnd<K, H> = Box<dyn Fn(Ended<&K, &H>) + Send + Sync>;

pub(super) struct Registry<K, H> {
    pub(super) timers: Timers,
    slots: HashMap<Named<K, H>, Arc<Slot<K, H>>>,
    pub(super) idle: Idle<K, H>,
    pub(super) tokens: Tokens,
    pub(super) max_hold: Duration,
    pub(super) lock_delay: Duration,
    /// Before that nothing is granted.
    opens: Timestamp,
    pub(super) on_end: Option<OnEnd<K, H>>,
}

/// A slot under its own name: the map needs no copy of that.
struct Named<K, H>(Arc<Slot<K, H>>);

struct Name<'a, Q: ?Sized>(&'a Q);

// === impl Registry ===

impl<K, H> Registry<K, H>
where
    K: Hash + Eq + Send + Sync + 'static,
    H: Send + Sync + 'static,
{
    pub(super) fn new(
        timers: Timers,
        tokens: Tokens,
        (max_hold, lock_delay): (Duration, Duration),
        opens: Timestamp,
        on_end: Option<OnEnd<K, H>>,
    ) -> Self {
        Self {
            timers,
            slots: HashMap::new(),
            idle: Idle::new(),
            tokens,
            max_hold,
            lock_delay,
            opens,
            on_end,
        }
    }

    /// A timer for a grant or a request: one that keeps its place where places are scarce.
    pub(super) fn alarm(&self) -> Alarm {
        if self.timers.is_limited() {
            Alarm::default()
        } else {
            Alarm::passing()
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.timers.now()
    }

    pub(super) fn delays(&self) -> bool {
        !self.lock_delay.is_zero()
    }

    pub(super) fn find<Q>(&self, resource: &Q) -> Option<Arc<Slot<K, H>>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.slots.pin().get(&Name(resource)).cloned()
    }

    pub(super) fn for_each(&self, mut each: impl FnMut(&Arc<Slot<K, H>>)) {
        for slot in self.slots.pin().values() {
            each(slot);
        }
    }

    /// The slot of a resource, which stays until whoever calls has unpinned it; unless there is one and that refuses. O(1).
    pub(super) fn pin(
        self: &Arc<Self>,
        resource: K,
        refusal: impl FnOnce(&State<K, H>) -> Option<AcquireError>,
    ) -> Result<Arc<Slot<K, H>>, AcquireError> {
        let slots = self.slots.pin();
        if let Some(slot) = slots.get(&Name(&resource)) {
            let pinned = {
                let mut state = slot.lock();
                if let Some(refusal) = refusal(&state) {
                    return Err(refusal);
                }
                state.pin(slot, &self.idle)
            };
            match pinned {
                Some(slot) => return Ok(slot),
                None => self.forget(slot),
            }
        }
        let fresh = Arc::new(Slot::pinned(resource, self.opens));
        loop {
            let slot = slots.get_or_insert(Named(Arc::clone(&fresh)), Arc::clone(&fresh));
            if Arc::ptr_eq(slot, &fresh) {
                return Ok(fresh);
            }
            if let Some(slot) = slot.lock().pin(slot, &self.idle) {
                return Ok(slot);
            }
            self.forget(slot);
        }
    }

    /// Takes a dead slot out of the map.
    pub(super) fn forget(&self, slot: &Arc<Slot<K, H>>) {
        let slots = self.slots.pin();
        let _ = slots.remove_if(&Name(&slot.resource), |_, other| Arc::ptr_eq(other, slot));
        // Nobody else finds it any more: its timer would keep the runtime until it fires.
        slot.disarm(&self.timers);
    }

    /// Changes a slot, as of `now`. What has expired has ended before, and if nobody holds it afterwards
    /// the first who waits does.
    pub(super) fn change<R>(
        self: &Arc<Self>,
        slot: &Arc<Slot<K, H>>,
        now: Timestamp,
        act: impl FnOnce(&mut State<K, H>, &mut Effects<K, H>) -> R,
    ) -> R {
        let mut panics = Panics::default();
        let (result, mut at_the_mark) = self.step(slot, now, &mut panics, act);
        // One round for each time that others take all that was reserved.
        while at_the_mark {
            let reserved = self.tokens.reserve();
            // The clock is somebody else's, too.
            let mut now = None;
            panics.run(|| now = Some(self.now()));
            let Some(now) = now else {
                break;
            };
            let ((), again) = self.step(slot, now, &mut panics, |state, effects| {
                // They all wait for this attempt: a store that is down is not asked for each of them.
                if let Err(error) = reserved {
                    state.refuse_all(&error, effects);
                }
            });
            at_the_mark = again;
        }
        panics.end();
        result
    }

    /// Changes it once. Whether the mark has to be moved for who waits.
    fn step<R>(
        self: &Arc<Self>,
        slot: &Arc<Slot<K, H>>,
        now: Timestamp,
        panics: &mut Panics,
        act: impl FnOnce(&mut State<K, H>, &mut Effects<K, H>) -> R,
    ) -> (R, bool) {
        let mut effects = Effects::new();
        let (result, untold, rest) = {
            let mut state = slot.lock();
            state.expire(now, self.lock_delay, &mut effects);
            let result = act(&mut state, &mut effects);
            state.hand_over(now, &self.tokens, self.max_hold, &mut effects);
            let rest = state.rest(slot, now, &self.idle);
            (result, !state.untold.is_empty(), rest)
        };
        let at_the_mark = effects.at_the_mark;
        if untold || !rest.is_used() || !effects.is_none() {
            self.follow_up(slot, effects, untold, rest, panics);
        }
        (result, at_the_mark)
    }

    /// What is to be done after a change, without the lock.
    fn follow_up(
        self: &Arc<Self>,
        slot: &Arc<Slot<K, H>>,
        effects: Effects<K, H>,
        untold: bool,
        rest: Rest<K, H>,
        panics: &mut Panics,
    ) {
        let Effects {
            ended,
            over,
            moved,
            wakers,
            quiet_moved,
            ..
        } = effects;
        if let Some(record) = &ended {
            panics.run(|| record.alarm.cancel(&self.timers));
        }
        for record in &over {
            panics.run(|| record.alarm.cancel(&self.timers));
        }
        for record in &moved {
            // If there is no room for it, the timer is late: whoever comes next finds what is due.
            panics.run(|| {
                if record.follow() == Err(ArmError::ShutDown) && record.end.get().is_none() {
                    self.shut(slot);
                }
            });
        }
        if quiet_moved {
            panics.run(|| slot.follow_quiet(self));
        }
        self.follow_rest(slot, rest, panics);
        if untold {
            self.tell(slot, panics);
        }
        for waker in wakers {
            panics.run(|| waker.wake());
        }
        if let Some(record) = ended {
            panics.run(|| drop(record));
        }
        for record in over.into_iter().chain(moved) {
            panics.run(|| drop(record));
        }
    }

    /// Tells of what has ended, in order, unless somebody is at it.
    fn tell(self: &Arc<Self>, slot: &Arc<Slot<K, H>>, panics: &mut Panics) {
        let mut mine = false;
        loop {
            let now = self.now();
            let record = {
                let mut state = slot.lock();
                if state.telling && !mine {
                    return;
                }
                let record = state.untold.pop_front();
                state.telling = record.is_some();
                mine = true;
                let Some(record) = record else {
                    let rest = state.rest(slot, now, &self.idle);
                    drop(state);
                    self.follow_rest(slot, rest, panics);
                    return;
                };
                record
            };
            if let (Some(on_end), Some(ended)) = (&self.on_end, record.told()) {
                panics.run(|| on_end(ended));
            }
            panics.run(|| drop(record));
        }
    }

    /// Ends what had expired by `now`, and hands over.
    pub(super) fn settle(self: &Arc<Self>, slot: &Arc<Slot<K, H>>, now: Timestamp) {
        self.change(slot, now, |_, _| ());
    }

    /// Looks at a slot because the timer of this record has fired.
    pub(super) fn awaken(self: &Arc<Self>, record: &Record<K, H>) {
        let now = self.now();
        self.change(&record.slot, now, |state, effects| {
            if record.life.get().is_none() {
                state.time_out(now, effects);
            }
        });
    }

    /// Ends whatever is going on with a resource.
    pub(super) fn shut(self: &Arc<Self>, slot: &Arc<Slot<K, H>>) {
        let now = self.now();
        self.change(slot, now, |state, effects| {
            state.end(EndReason::Shutdown, now, Duration::ZERO, effects);
            state.shut(effects);
        });
    }

    /// Ends everything.
    pub(super) fn shut_all(self: &Arc<Self>) {
        let mut panics = Panics::default();
        for slot in self.slots.pin().values() {
            panics.run(|| self.shut(slot));
        }
        panics.end();
    }
}

// === names ===

impl<K: Hash, H> Hash for Named<K, H> {
    fn hash<S: Hasher>(&self, state: &mut S) {
        self.0.resource.hash(state);
    }
}

impl<K: PartialEq, H> PartialEq for Named<K, H> {
    fn eq(&self, other: &Self) -> bool {
        self.0.resource == other.0.resource
    }
}

impl<K: Eq, H> Eq for Named<K, H> {}

impl<Q: Hash + ?Sized> Hash for Name<'_, Q> {
    fn hash<S: Hasher>(&self, state: &mut S) {
        self.0.hash(state);
    }
}

impl<K: Borrow<Q>, H, Q: Eq + ?Sized> Equivalent<Named<K, H>> for Name<'_, Q> {
    fn equivalent(&self, named: &Named<K, H>) -> bool {
        self.0 == named.0.resource.borrow()
    }
}
