//! Re-arm, as transitions of the word: by key, and from the callback.

use super::entry::Entry;
use super::mutant::mutant;
use super::ops::{Run, next_timer};
use super::source::{Common, Source, companion};
use super::word::{Place, State, Word};
use super::{Revoked, SharedWheel};
use crate::sync::Ordering;
use crate::{Expired, StaleKey, Tick, TimerKey};

impl<T, const BITS: u32> SharedWheel<T, BITS> {
    // --- by key ---

    /// Gives the timer of a key another deadline, if that takes nothing but one exchange: the
    /// entry is filed, and the new deadline is not earlier.
    ///
    /// What [`rearm_key`](Self::rearm_key) would do, in a straight line: at a million timers it
    /// is the length of this path that limits how many cache misses overlap.
    #[inline]
    pub(super) fn rearm_later(&self, key: TimerKey, deadline: Tick) -> Option<()> {
        let (_, entry, generation) = self.find(key)?;
        let word = entry.word();
        if !(word.is_filed() && word.is_live()) || deadline.is_never() {
            return None;
        }
        let (Place::Near(was), Place::Near(offset)) = (word.place(), entry.near(deadline.get())?)
        else {
            return None;
        };
        if offset < was || !Self::is_of(entry, generation) {
            return None;
        }
        let armed = word.with_state(State::Armed).at(Place::Near(offset));
        entry.transition(word, armed).ok()
    }

    /// Gives the timer of a key another deadline.
    #[inline(never)]
    pub(super) fn rearm_key(
        &self,
        source: &mut impl Source,
        key: TimerKey,
        deadline: Tick,
    ) -> Result<(), StaleKey> {
        let Some((index, entry, generation)) = self.find(key) else {
            return Err(StaleKey);
        };
        let mut word = entry.word();
        loop {
            if !word.is_live() || !Self::is_of(entry, generation) {
                return Err(StaleKey);
            }
            let done = match (word.place(), entry.near(deadline.get())) {
                _ if deadline.is_never() => entry
                    .transition(word, word.with_state(State::Held))
                    .map(|()| None),
                (Place::Near(was), Some(Place::Near(offset))) => {
                    Self::move_to(entry, word, Place::Near(offset), deadline, offset >= was)
                }
                _ => self.move_far(source, entry, word, deadline),
            };
            match done {
                Ok(told) => {
                    // Last, because it may run the hook of the caller.
                    if let Some(due) = told.filter(|_| !mutant!(RearmUnmarked)) {
                        self.bell.0.ring(index, due, &self.arena);
                    }
                    return Ok(());
                }
                Err(now) => word = now,
            }
        }
    }

    /// Writes a deadline down. Says when it is due if the driver is to be told, because it might
    /// not come by early enough.
    #[inline]
    fn move_to(
        entry: &Entry<T>,
        word: Word,
        place: Place,
        deadline: Tick,
        later: bool,
    ) -> Result<Option<u64>, Word> {
        let mut armed = word.with_state(State::Armed).at(place);
        if matches!(place, Place::Far(_)) && !mutant!(FarUnversioned) {
            armed = armed.next_version();
        }
        if mutant!(RearmBlind) {
            entry.publish(armed.not_filed(), Ordering::Release);
            return Ok(Some(entry.due(deadline.get())));
        }
        if word.is_filed() && (later || mutant!(RearmKeepsFiled)) {
            return entry.transition(word, armed).map(|()| None);
        }
        let due = entry.due(deadline.get());
        entry.transition(word, armed.not_filed())?;
        Ok(Some(due))
    }

    /// Moves a timer whose deadline is, or was, too far from the base of its entry.
    #[cold]
    fn move_far(
        &self,
        source: &mut impl Source,
        entry: &Entry<T>,
        word: Word,
        deadline: Tick,
    ) -> Result<Option<u64>, Word> {
        let was = entry.deadline(word, &self.arena)?;
        let later = deadline.get() >= was;
        let near = entry.near(deadline.get());
        let place = near.unwrap_or_else(|| {
            let Some(companion) = companion(source, &self.arena, &self.shards, self.limit) else {
                panic!("every index of the wheel is in use or used up");
            };
            self.arena.entry(companion).keep_far(deadline.get());
            Place::Far(companion)
        });
        let moved = Self::move_to(entry, word, place, deadline, later);
        match (moved, place) {
            (Ok(_), _) => self.forget_far(source, word),
            (Err(_), Place::Far(_)) if mutant!(FarLeaked) => {}
            (Err(_), Place::Far(companion)) => source.push(companion, &self.arena, &self.shards),
            (Err(_), Place::Near(_)) => {}
        }
        moved
    }

    // --- from a callback ---

    /// Whether the value of the running entry `index` is still out, with its callback.
    pub(super) fn is_out(&self, index: u32) -> bool {
        match self.arena.entry(index).word().state() {
            State::Empty | State::Revoked | State::Awaited => true,
            State::Armed | State::Held | State::Taking => mutant!(RearmRevoked),
        }
    }

    /// Arms the running entry `index` again. The caller is its callback, and the value is out.
    ///
    /// With `Run::Ends` the entry does not run any more, if this succeeds: it may fire at once.
    pub(super) fn rearm_running(
        &self,
        index: u32,
        expired: Expired<T>,
        deadline: Tick,
        run: Run,
    ) -> Result<TimerKey, Revoked<T>> {
        let entry = self.arena.entry(index);
        let refused = |word: Word| word.state() != State::Empty && !mutant!(RearmRevoked);
        let mut word = entry.word();
        if refused(word) {
            return Err(Revoked { expired });
        }
        let Expired {
            key,
            deadline: was,
            tolerance,
            value,
        } = expired;
        let (state, place) = self.place_anew(entry, deadline);
        let due = entry.due(deadline.get());
        let source = Common::here(&self.shards);
        source.count_armed(&self.shards);
        // SAFETY: while the entry is running and empty its slot is the callback's.
        #[expect(unsafe_code, reason = "the word says who may")]
        unsafe {
            entry.value.put(value);
        }
        loop {
            let armed = next_timer(word, state, place);
            let armed = match run {
                Run::GoesOn => armed,
                Run::Ends if mutant!(RunsOn) => armed,
                Run::Ends => armed.not_running(),
            };
            match entry.transition(word, armed) {
                Ok(()) => break,
                Err(now) => word = now,
            }
            if refused(word) {
                source.count_ended(&self.shards);
                // SAFETY: put there above, and the entry is still running and not armed.
                #[expect(unsafe_code, reason = "the word says who may")]
                let value = unsafe { entry.value.take() };
                return Err(Revoked {
                    expired: Expired {
                        key,
                        deadline: was,
                        tolerance,
                        value,
                    },
                });
            }
        }
        if state == State::Armed {
            self.bell.0.ring(index, due, &self.arena);
        }
        Ok(key)
    }
}
