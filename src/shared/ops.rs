//! Arm, cancel, re-arm, as transitions of the word. Each loop tries again only when somebody
//! else's transition succeeded.

use core::num::NonZeroU32;

use super::entry::Entry;
use super::mutant::{mutant, ordering};
use super::source::Source;
use super::word::{Place, State, Word};
use super::{Cancel, SharedWheel};
use crate::sync::{Ordering, fence};
use crate::{Tick, Ticks, TimerKey};

/// What is to be armed.
pub(super) struct Request<T> {
    pub(super) deadline: Tick,
    pub(super) tolerance: Ticks,
    pub(super) value: T,
}

/// Whether a callback that arms its timer again goes on running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Run {
    GoesOn,
    Ends,
}

/// Whether a cancel that comes while the callback runs is to be waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    No,
    Yes,
}

impl<T, const BITS: u32> SharedWheel<T, BITS> {
    // --- arm ---

    /// A free entry.
    #[inline]
    pub(super) fn pop(&self, source: &mut impl Source) -> Option<u32> {
        source.pop(&self.arena, &self.shards, self.limit)
    }

    /// Gives back an entry that is empty.
    #[inline]
    pub(super) fn push(&self, source: &mut impl Source, index: u32) {
        if !self.arena.entry(index).is_used_up() {
            source.push(index, &self.arena, &self.shards);
        }
    }

    /// Arms the popped entry `index`.
    #[inline]
    pub(super) fn arm_entry(
        &self,
        source: &impl Source,
        index: u32,
        request: Request<T>,
    ) -> TimerKey {
        let entry = self.arena.entry(index);
        let Request {
            deadline,
            tolerance,
            value,
        } = request;
        let generation = entry.next_generation();
        let filed = self.filing(entry, deadline);
        if !mutant!(CountLate) {
            source.count_armed(&self.shards);
        }
        // SAFETY: the entry is empty, and popped: until the word says that it is armed nobody
        // else has a right to the slot.
        #[expect(unsafe_code, reason = "the word says who may")]
        unsafe {
            entry.value.put(value);
        }
        entry.set_generation(generation);
        entry.set_tolerance(tolerance.get());
        if !mutant!(HomeForgotten) {
            entry.set_home(source.shard());
        }
        let key = TimerKey::new(self.id, index, generation);
        match filed {
            Some((word, armed))
                if entry
                    .exchange(
                        word,
                        armed,
                        ordering!(AcqRel unless ArmRelaxed),
                        Ordering::Acquire,
                    )
                    .is_ok() => {}
            _ => self.arm_unfiled(entry, index, deadline),
        }
        if mutant!(CountLate) {
            source.count_armed(&self.shards);
        }
        key
    }

    /// If the driver will meet the popped entry early enough for `deadline` without being told:
    /// the word, and what is to become of it.
    #[inline]
    fn filing(&self, entry: &Entry<T>, deadline: Tick) -> Option<(Word, Word)> {
        let word = entry.word();
        debug_assert!(
            word.state() == State::Empty && !word.is_running(),
            "{word:?} was free"
        );
        if !word.is_filed() || deadline.is_never() {
            return None;
        }
        // The tolerance is still that of the timer before.
        let met = entry.due(entry.deadline(word, &self.arena).ok()?);
        let place = entry.near(deadline.get())?;
        let soon = deadline.get() >= met || mutant!(LazyIgnoresDeadline);
        soon.then(|| (word, next_timer(word, State::Armed, place)))
    }

    /// Arms an entry whose filing does not serve: takes the promise back, and tells the driver.
    fn arm_unfiled(&self, entry: &Entry<T>, index: u32, deadline: Tick) {
        let mut word = entry.word();
        while word.is_filed() {
            // Only the driver may interfere, and only to do the same.
            match entry.transition(word, word.not_filed()) {
                Ok(()) => word = word.not_filed(),
                Err(now) => word = now,
            }
        }
        let (state, place) = self.place_anew(entry, deadline);
        let due = entry.due(deadline.get());
        let armed = next_timer(word, state, place);
        if mutant!(MarkFirst) {
            self.bell.0.ring(index, due, &self.arena);
        }
        entry.publish(armed, ordering!(Release unless ArmRelaxed));
        if state == State::Armed && !mutant!(MarkFirst) {
            self.bell.0.ring(index, due, &self.arena);
        }
    }

    /// Sets the base for a deadline, of an entry that is not filed and whose base nobody else
    /// counts from. Says in which state the entry is to be, and how to write the deadline down.
    pub(super) fn place_anew(&self, entry: &Entry<T>, deadline: Tick) -> (State, Place) {
        let (state, around) = if deadline.is_never() {
            (State::Held, self.now())
        } else {
            (State::Armed, deadline)
        };
        entry.set_base_around(around.get());
        match entry.near(around.get()) {
            Some(place) => (state, place),
            None => unreachable!("{around} is near itself"),
        }
    }

    // --- cancel ---

    /// The entry that a key names, and the generation it names.
    #[inline]
    pub(super) fn find(&self, key: TimerKey) -> Option<(u32, &Entry<T>, NonZeroU32)> {
        let (index, generation) = key.within(self.id)?;
        Some((index, self.arena.get(index)?, generation))
    }

    /// Whether `word`, which was loaded before, is that of this generation.
    #[inline]
    pub(super) fn is_of(entry: &Entry<T>, generation: NonZeroU32) -> bool {
        mutant!(GenerationUnchecked) || entry.generation() == generation.get()
    }

    /// Cancels the timer of a key.
    #[inline]
    pub(super) fn cancel_key(
        &self,
        source: &mut impl Source,
        key: TimerKey,
        wait: Wait,
    ) -> Cancel<T> {
        // Taken apart by the caller. A key that has just been written field by field, and is read as a whole,
        // is waited for.
        match key.within(self.id) {
            Some((index, generation)) => self.cancel_named(source, index, generation, wait),
            None => Cancel::Stale,
        }
    }

    /// Cancels the timer of a key of this wheel.
    fn cancel_named(
        &self,
        source: &mut impl Source,
        index: u32,
        generation: NonZeroU32,
        wait: Wait,
    ) -> Cancel<T> {
        let Some(entry) = self.arena.get(index) else {
            return Cancel::Stale;
        };
        let mut word = entry.word();
        loop {
            if !Self::is_of(entry, generation) {
                if wait == Wait::Yes {
                    // ORDERING: Acquire pairs with the Release in `set_generation`: another timer
                    // has the entry, so the callback has returned, and what it did is seen.
                    fence(Ordering::Acquire);
                }
                return Cancel::Stale;
            }
            let done = match word.state() {
                State::Armed | State::Held => {
                    self.remove(source, index, word).map(Cancel::Cancelled)
                }
                State::Taking
                    if wait == Wait::Yes && word.is_running() && !mutant!(TakingUnwaited) =>
                {
                    // Another canceller is about to say that the callback may not arm again.
                    self.waiters.pause();
                    Err(entry.word())
                }
                State::Empty | State::Taking | State::Revoked | State::Awaited
                    if word.is_running() =>
                {
                    self.revoke(entry, word, wait)
                }
                State::Empty | State::Taking | State::Revoked | State::Awaited => {
                    return Cancel::Stale;
                }
            };
            match done {
                Ok(Cancel::Cancelled(value)) => {
                    if wait == Wait::Yes && !mutant!(CancelledUnwaited) {
                        self.wait_for_callback(entry, generation);
                    }
                    return Cancel::Cancelled(value);
                }
                Ok(other) => return other,
                Err(now) => word = now,
            }
        }
    }

    /// Takes the value of an armed or held entry, if its word is still this.
    #[inline]
    pub(super) fn remove(
        &self,
        source: &mut impl Source,
        index: u32,
        word: Word,
    ) -> Result<T, Word> {
        let entry = self.arena.entry(index);
        let running = word.is_running();
        let state = if running { State::Taking } else { State::Empty };
        let empty = word.with_state(state).without_far();
        if mutant!(CancelBlind) {
            cancel_blind(entry, word, empty)?;
        } else {
            let taken = entry.exchange(
                word,
                empty,
                ordering!(AcqRel unless CancelRelaxed),
                ordering!(Acquire unless CancelRelaxed),
            );
            if !mutant!(CancelUnchecked) {
                taken?;
            }
        }
        if mutant!(FreeBeforeTake) && !running {
            self.push(source, index);
        }
        // SAFETY: the transition out of a state in which the entry owned its value has given it
        // to us, and the entry is not free before we say so.
        #[expect(unsafe_code, reason = "the word says who may")]
        let value = unsafe { entry.value.take() };
        self.forget_far(source, word);
        source.count_ended(&self.shards);
        if !running {
            if !mutant!(FreeBeforeTake) {
                self.push(source, index);
            }
        } else if mutant!(FreeWhileRunning) || self.taken(entry) {
            self.push(source, index);
        }
        Ok(value)
    }

    /// Ends `Taking`. Says whether the callback has returned meanwhile, so that the entry is
    /// the canceller's to free.
    #[cold]
    fn taken(&self, entry: &Entry<T>) -> bool {
        let mut word = entry.word();
        loop {
            let state = if word.is_running() {
                State::Revoked
            } else {
                State::Empty
            };
            match entry.transition(word, word.with_state(state)) {
                Ok(()) => return state == State::Empty,
                Err(now) => word = now,
            }
        }
    }

    /// Says that the callback that is running may not arm its timer again.
    #[cold]
    fn revoke(&self, entry: &Entry<T>, word: Word, wait: Wait) -> Result<Cancel<T>, Word> {
        let own = self.drives_here();
        let state = match (word.state(), wait) {
            (State::Awaited, _) if !mutant!(AwaitedForgotten) => State::Awaited,
            (State::Taking, _) => State::Taking,
            (_, Wait::Yes) if !own => State::Awaited,
            _ => State::Revoked,
        };
        let revoked = word.with_state(state);
        if revoked != word {
            entry.transition(word, revoked)?;
        }
        if wait == Wait::Yes && !own {
            self.waiters.wait_while(|| entry.word() == revoked);
            return Ok(Cancel::Stale);
        }
        Ok(Cancel::Running)
    }

    /// Gives back the entry that a far deadline was kept in.
    #[inline]
    pub(super) fn forget_far(&self, source: &mut impl Source, word: Word) {
        if let Place::Far(companion) = word.place() {
            source.push(companion, &self.arena, &self.shards);
        }
    }
}

/// The word of an empty entry that is armed: the next timer in it, or the same once more.
#[inline]
pub(super) fn next_timer(word: Word, state: State, place: Place) -> Word {
    let armed = word.with_state(state).at(place);
    if mutant!(ArmUnversioned) {
        return armed;
    }
    armed.next_version()
}

/// The fault of a cancel that does not look: only ever wrong.
#[cfg(loom)]
fn cancel_blind<T>(entry: &Entry<T>, word: Word, empty: Word) -> Result<(), Word> {
    let was = entry.overwrite(empty);
    if was.is_live() {
        Ok(())
    } else {
        Err(word.with_state(State::Empty))
    }
}

#[cfg(not(loom))]
fn cancel_blind<T>(_: &Entry<T>, word: Word, _: Word) -> Result<(), Word> {
    Err(word)
}
