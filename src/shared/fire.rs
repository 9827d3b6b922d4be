//! What the driver does about one entry: files it, meets it, fires it.

use core::num::NonZeroU32;

use super::SharedWheel;
use super::arena::BLOCK;
use super::drive::{Private, Returns};
use super::entry::Entry;
use super::marks::{Sweep, pop_bit};
use super::mutant::{mutant, ordering};
use super::turn::{After, SharedTurn};
use super::word::{Place, State, Word};
use crate::sync::Ordering;
use crate::wheel::{Budget, Visit};
use crate::{Expired, Tick, Ticks, TimerKey, Wheel};

/// A timer that has been taken and whose callback is to run; its value is still in its slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Firing {
    index: u32,
    deadline: u64,
}

/// The timer whose callback runs, until it has returned or panicked.
struct Running<'a, T, const BITS: u32> {
    wheel: &'a SharedWheel<T, BITS>,
    entry: &'a Entry<T>,
    returns: &'a mut Returns,
    index: u32,
    after: &'a After,
}

impl<T, const BITS: u32> SharedWheel<T, BITS> {
    // --- filing ---

    /// Files everything that was marked before the call. Says whether the budget sufficed.
    ///
    /// What is due by `target` will be met in this same call.
    pub(super) fn file_marked(
        &self,
        private: &mut Private<BITS>,
        target: u64,
        budget: &mut Budget,
    ) -> bool {
        let Private { wheel, sweep, .. } = private;
        // What a budget interrupted, then what was marked since.
        (!sweep.is_under_way() || self.file_swept(wheel, sweep, target, budget))
            && (!self.bell.0.is_marked() || self.file_swept(wheel, sweep, target, budget))
    }

    /// Files what is marked, or goes on doing so. Says whether the budget sufficed.
    pub(super) fn file_swept(
        &self,
        places: &mut Wheel<(), BITS>,
        sweep: &mut Sweep,
        target: u64,
        budget: &mut Budget,
    ) -> bool {
        if !sweep.is_under_way() {
            sweep.begin(&self.bell.0, &self.arena);
        }
        while sweep.is_under_way() {
            let paid = budget.take_up_to(BLOCK as usize);
            if paid == 0 {
                return false;
            }
            let (first, marked) = sweep.next(paid, &self.arena).unwrap_or_default();
            budget.give_back(paid - marked.count_ones() as usize);
            self.file_block(first, marked, target, places);
        }
        true
    }

    /// Files entries of one block.
    ///
    /// First it promises to come by, then it files. Between the two nobody can tell, and an
    /// exchange does not have to wait for the stores of a filing.
    fn file_block(&self, first: u32, mut marked: u64, target: u64, places: &mut Wheel<(), BITS>) {
        let mut due = [0; BLOCK as usize];
        // What is late already may wait for the next turn: no promise about this one.
        let target = target.max(places.now().get());
        let mut rest = marked;
        while let Some(at) = pop_bit(&mut rest) {
            match self.promise(first + at, target) {
                Some(tick) => due[at as usize] = tick,
                None => marked &= !(1 << at),
            }
        }
        while let Some(at) = pop_bit(&mut marked) {
            places.place(first + at, due[at as usize]);
        }
    }

    /// The tick at which an entry that was marked is to be filed, if it is armed. Promises to
    /// come by, unless it is met by `target` anyway: then nobody would have much use of it.
    #[inline]
    fn promise(&self, index: u32, target: u64) -> Option<u64> {
        let entry = self.arena.entry(index);
        let mut word = entry.word();
        while word.is_armed() && !word.is_filed() {
            let due = entry
                .deadline(word, &self.arena)
                .map(|deadline| entry.due(deadline));
            let promised = match due {
                Ok(due) if due <= target => return Some(due),
                Ok(_) if mutant!(FileBlind) => file_blind(entry),
                Ok(_) => entry.transition(word, word.filed()),
                Err(now) => Err(now),
            };
            match (promised, due) {
                (Ok(()), Ok(due)) => return Some(due),
                (Err(now), _) | (Ok(()), Err(now)) => word = now,
            }
        }
        None
    }

    // --- meeting ---

    /// Decides about an entry that is met at `tick`, and takes it if it fires.
    #[inline]
    pub(super) fn visit(
        &self,
        index: u32,
        tick: u64,
        hint: u32,
        returns: &mut Returns,
    ) -> Visit<Firing> {
        self.arena.prefetch(hint);
        let entry = self.arena.entry(index);
        let mut word = Self::look(entry);
        loop {
            let met = if word.is_armed() {
                match entry.deadline(word, &self.arena) {
                    Ok(deadline) => match entry.due(deadline) {
                        // No transition. Whoever has moved it later since keeps the promise true;
                        // whoever has moved it earlier, or armed it anew for earlier, marks it.
                        due if due > tick => {
                            if mutant!(MeetBlind) {
                                let _ = file_blind(entry);
                            }
                            return Visit::Later(due);
                        }
                        _ => self
                            .take(entry, index, word, deadline, returns)
                            .map(Visit::Fire),
                    },
                    Err(now) => Err(now),
                }
            } else if word.is_filed() && !mutant!(UnfileSilently) {
                if mutant!(UnfileBlind) {
                    entry.publish(word.not_filed(), Ordering::Release);
                    return Visit::Gone;
                }
                entry
                    .transition(word, word.not_filed())
                    .map(|()| Visit::Gone)
            } else {
                return Visit::Gone;
            };
            match met {
                Ok(visit) => return visit,
                Err(now) => word = now,
            }
        }
    }

    /// The word of an entry that is met.
    #[inline]
    fn look(entry: &Entry<T>) -> Word {
        #[cfg(loom)]
        if mutant!(FireRelaxed) {
            return entry.word_relaxed();
        }
        entry.word()
    }

    /// Takes the timer of an entry that is due, if its word is still this.
    #[inline]
    fn take(
        &self,
        entry: &Entry<T>,
        index: u32,
        word: Word,
        deadline: u64,
        returns: &mut Returns,
    ) -> Result<Firing, Word> {
        let empty = word.with_state(State::Empty).without_far();
        let fired = empty.running().not_filed();
        if mutant!(FireBlind) {
            fire_blind(entry, word, fired)?;
        } else {
            entry.exchange(
                word,
                fired,
                ordering!(AcqRel unless FireRelaxed),
                ordering!(Acquire unless FireRelaxed),
            )?;
        }
        if let Place::Far(companion) = word.place() {
            returns.add(companion, entry.home(), self);
        }
        // ORDERING: Relaxed load, since only the driver writes it. Release pairs with the Acquire
        // in `len`.
        let fired = &self.driver.0.fired;
        fired.store(
            fired.load(Ordering::Relaxed) + 1,
            ordering!(Release unless FiredRelaxed),
        );
        Ok(Firing { index, deadline })
    }

    // --- firing ---

    /// Runs the callback of a timer that was taken. Says whether it wants the call to go on.
    #[inline]
    pub(super) fn call(
        &self,
        returns: &mut Returns,
        Firing { index, deadline }: Firing,
        fire: &mut impl FnMut(&mut SharedTurn<'_, T, BITS>, Expired<T>),
    ) -> bool {
        let entry = self.arena.entry(index);
        let generation = NonZeroU32::new(entry.generation()).unwrap_or(NonZeroU32::MAX);
        let key = TimerKey::new(self.id, index, generation);
        let after = After::default();
        let running = Running {
            wheel: self,
            entry,
            returns,
            index,
            after: &after,
        };
        let expired = Expired {
            key,
            deadline: Tick::new(deadline),
            tolerance: Ticks::new(entry.tolerance()),
            // SAFETY: the transition out of `Armed` has given the value to us, and the entry is
            // not free before `running` is dropped.
            #[expect(unsafe_code, reason = "the word says who may")]
            value: unsafe { entry.value.take() },
        };
        fire(&mut SharedTurn::new(self, index, key, &after), expired);
        drop(running);
        !after.stop.get()
    }

    /// Ends *running*: the callback of this entry has returned. Says whether the entry is free.
    #[inline]
    pub(super) fn returned(&self, entry: &Entry<T>) -> bool {
        let mut word = entry.word();
        let state = loop {
            let state = match word.state() {
                State::Revoked | State::Awaited => State::Empty,
                state @ (State::Empty | State::Armed | State::Held | State::Taking) => state,
            };
            match entry.transition(word, word.with_state(state).not_running()) {
                Ok(()) => break state,
                Err(now) => word = now,
            }
        };
        if word.state() == State::Awaited && !mutant!(ReturnUntold) {
            self.waiters.tell();
        }
        match state {
            State::Empty => !entry.is_used_up(),
            State::Taking => mutant!(FreeWhileTaking),
            State::Armed | State::Held | State::Revoked | State::Awaited => false,
        }
    }
}

impl<T, const BITS: u32> Drop for Running<'_, T, BITS> {
    /// The callback has returned: frees the entry unless it is armed again, or runs on elsewhere.
    #[inline]
    fn drop(&mut self) {
        if !self.after.deferred.get() && self.wheel.returned(self.entry) {
            self.returns.add(self.index, self.entry.home(), self.wheel);
        }
    }
}

/// The fault of a driver that does not look before it fires: only ever wrong.
#[cfg(loom)]
fn fire_blind<T>(entry: &Entry<T>, word: Word, fired: Word) -> Result<(), Word> {
    let was = entry.overwrite(fired);
    if was.is_armed() {
        return Ok(());
    }
    entry.overwrite(was);
    Err(word.with_state(State::Empty).not_filed())
}

#[cfg(not(loom))]
fn fire_blind<T>(_: &Entry<T>, word: Word, _: Word) -> Result<(), Word> {
    Err(word)
}

/// The fault of a driver that promises on whatever word there is: only ever wrong.
#[cfg(loom)]
fn file_blind<T>(entry: &Entry<T>) -> Result<(), Word> {
    let mut word = entry.word();
    while let Err(now) = entry.transition(word, word.filed()) {
        word = now;
    }
    Ok(())
}

#[cfg(not(loom))]
fn file_blind<T>(_: &Entry<T>) -> Result<(), Word> {
    Ok(())
}
