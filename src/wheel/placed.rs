//! The same engine for entries that live elsewhere: a wheel of places.
//!
//! The driver of a shared wheel keeps such a wheel to itself. It says where each entry is
//! filed and holds nothing else. The entries, with their deadlines and values, belong to
//! everybody; an index means the same here and there. When the engine meets an entry it asks
//! what became of it.

use super::Wheel;
use super::engine::{Budget, Step};
use super::store::{Popped, SlotId};
use crate::Tick;

/// What became of an entry that has been met.
pub(crate) enum Visit<E> {
    /// It fires.
    Fire(E),
    /// It is due at this later tick.
    Later(u64),
    /// Nothing is to be done about it any more.
    Gone,
}

/// Why the engine stopped.
pub(crate) enum Stop<E> {
    /// A timer fires.
    Fire(E),
    /// Nothing is due up to the target, and the cursor is there.
    Done,
    /// The budget is spent and work remains.
    Spent,
}

impl<const BITS: u32> Wheel<(), BITS> {
    /// Files the entry `index` so that it is met at `due` or before. O(1).
    ///
    /// If it will be met by then already it stays where it is. But what is late may wait for the
    /// next turn: it goes where it is met in this one, if it is not late any more.
    pub(crate) fn place(&mut self, index: u32, due: u64) {
        debug_assert_ne!(due, u64::MAX, "what is never due is not filed");
        let now = self.calendar.now();
        match self.store.at(index) {
            None => {
                self.store.make(index);
                self.store.restore(index, due, ());
                self.file(index, due, false);
            }
            Some(entry) => {
                let was = entry.due();
                if was > now && due < was || was <= now && due > now {
                    entry.replace_due(due);
                    self.refile(index, was, due, false);
                }
            }
        }
    }

    /// The tick by which the entry `index` will be met, if it is filed.
    pub(crate) fn place_of(&mut self, index: u32) -> Option<u64> {
        self.store.at(index).map(|entry| entry.due())
    }

    /// If there is nothing to do up to `now`, goes there.
    #[inline]
    pub(crate) fn skip(&mut self, now: Tick) -> bool {
        self.skip_to(now)
    }

    /// Begins a turn, or goes on with one that a budget interrupted if `resume` says so.
    pub(crate) fn begin(&mut self, resume: bool) {
        if resume {
            self.continue_turn();
        } else {
            self.open_turn();
            self.in_turn = false; // if the callback panics there is nothing to go on with
        }
    }

    /// Goes on until an entry fires, nothing is left up to `target`, or the budget is spent.
    ///
    /// `visit(index, now, hint)` says what became of the entry that is met at tick `now`; the
    /// entry `hint` will probably be met a few steps later. `leave` runs before the cursor
    /// leaves a tick, may place entries, and says whether it may leave.
    #[inline]
    pub(crate) fn meet<E>(
        &mut self,
        target: Tick,
        budget: &mut Budget,
        mut visit: impl FnMut(u32, u64, u32) -> Visit<E>,
        leave: impl FnMut(&mut Self) -> bool,
    ) -> Stop<E> {
        let fire = |wheel: &mut Self, slot| wheel.meet_first(slot, &mut visit);
        match self.step_with(target.get(), budget, fire, leave) {
            Step::Fired(fired) => Stop::Fire(fired),
            Step::Done => Stop::Done,
            Step::Spent => Stop::Spent,
        }
    }

    /// Entries moved down from a coarser level so far.
    pub(crate) fn moved(&self) -> u64 {
        self.moved
    }

    /// Calls `each` with the first entries that will be met `ticks` ticks after the cursor, as
    /// far as they are filed by the tick already. Those after them are announced by hints.
    #[inline]
    pub(crate) fn peek(&self, ticks: u64, each: impl FnMut(u32)) {
        let tick = self.calendar.now().saturating_add(ticks);
        if let Some(slot) = self.calendar.slot_beginning(0, tick) {
            self.store.first(slot).for_each(each);
        }
    }

    /// Meets the first entry of a slot that is due.
    #[inline]
    fn meet_first<E>(
        &mut self,
        slot: SlotId,
        visit: &mut impl FnMut(u32, u64, u32) -> Visit<E>,
    ) -> Option<E> {
        let Popped {
            index,
            emptied,
            hint,
            ..
        } = self.store.pop_front(slot)?;
        if emptied {
            self.calendar.emptied(slot);
        }
        match visit(index, self.calendar.now(), hint) {
            Visit::Later(due) => {
                if let Some(entry) = self.store.at(index) {
                    entry.replace_due(due);
                }
                self.file(index, due, false);
                None
            }
            Visit::Fire(fired) => {
                self.store.vacate(index);
                Some(fired)
            }
            Visit::Gone => {
                self.store.vacate(index);
                None
            }
        }
    }
}
