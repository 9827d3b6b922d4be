//! Moving time: the one engine behind `advance`, `advance_bounded` and `poll`.
//!
//! The cursor goes from one tick with work to the next, never through the ticks between.
//! At each it stops three times:
//!
//! 1. One tick short: coarse slots that begin at the tick are emptied into the level
//!    below, the highest first, each from its back to the other's front. Before the slot
//!    becomes current, because the current slot of a level reads as a lap away.
//! 2. On the tick: shares of the slots that come up next move down ahead of need.
//! 3. Still on the tick: what is due fires, one at a time, each unlinked completely
//!    before its value is handed out.
//!
//! Whatever interrupts this (a budget, a panic, the end of a `poll`) leaves a wheel from
//! which the same loop goes on.

use super::calendar::{Ahead, Calendar};
use super::store::{End, Popped, SlotId};
use super::{Expired, Tolerance, Wheel};
use crate::TimerKey;
use crate::geometry::Geometry;

/// How one step of the engine ended.
pub(super) enum Step<E> {
    /// A timer fired.
    Fired(E),
    /// Nothing is due up to the target, and the cursor is there.
    Done,
    /// The budget is spent and work remains.
    Spent,
}

/// Shares still to be moved at the cursor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shares {
    /// Of this level and those below it.
    level: u32,
    /// What is left of the share of this level; 0 if it has not been asked for.
    left: u32,
}

/// Visits that may still be paid for.
pub(crate) struct Budget(usize);

// === impl Budget ===

impl Budget {
    pub(crate) const fn unbounded() -> Self {
        Self(usize::MAX)
    }

    /// At least one visit.
    pub(crate) fn new(visits: usize) -> Self {
        Self(visits.max(1))
    }

    /// Pays for up to `visits` visits; says for how many.
    #[cfg(all(feature = "std", target_has_atomic = "64"))]
    pub(crate) fn take_up_to(&mut self, visits: usize) -> usize {
        let taken = visits.min(self.0);
        self.0 -= taken;
        taken
    }

    /// Gives back what was paid too much.
    #[cfg(all(feature = "std", target_has_atomic = "64"))]
    pub(crate) fn give_back(&mut self, visits: usize) {
        self.0 = self.0.saturating_add(visits);
    }

    /// Pays for one visit, if there is something left to pay with.
    #[inline]
    fn take(&mut self) -> bool {
        let left = self.0 > 0;
        self.0 -= usize::from(left);
        left
    }
}

// === impl Wheel ===

impl<T, const BITS: u32> Wheel<T, BITS> {
    /// Begins a turn: it fires what was armed at or before the cursor until now.
    pub(super) fn open_turn(&mut self) {
        self.in_turn = true;
        self.flush();
        let (accepting, firing) = self.calendar.late();
        if self.store.is_empty(firing) {
            self.calendar.swap_late();
        } else {
            self.store.splice(accepting, firing);
        }
    }

    /// Begins a turn unless one was interrupted.
    #[inline]
    pub(super) fn continue_turn(&mut self) {
        if !self.in_turn {
            self.open_turn();
        }
    }

    /// Unlinks what was cancelled.
    pub(super) fn flush(&mut self) {
        self.store.flush(|slot| self.calendar.emptied(slot));
    }

    /// Gives up the entry that was kept for the timer handed out last.
    #[inline]
    pub(super) fn settle(&mut self) {
        if let Some(index) = self.fired.take() {
            self.store.release(index);
        }
    }

    /// Goes on until a timer fires, nothing is left up to `target`, or the budget is spent.
    #[inline]
    pub(super) fn step(&mut self, target: u64, budget: &mut Budget) -> Step<Expired<T>> {
        self.step_with(target, budget, Self::fire, |_| true)
    }

    /// As [`step`](Self::step), with another way to fire what a slot holds, and something to
    /// do before the cursor leaves a tick; that says whether it may.
    #[inline]
    pub(super) fn step_with<E>(
        &mut self,
        target: u64,
        budget: &mut Budget,
        mut fire: impl FnMut(&mut Self, SlotId) -> Option<E>,
        mut leave: impl FnMut(&mut Self) -> bool,
    ) -> Step<E> {
        self.settle();
        self.calendar.stay_awake();
        loop {
            if !self.move_shares(budget) {
                return Step::Spent;
            }
            while let Some(slot) = self.due_slot() {
                if !budget.take() {
                    return Step::Spent;
                }
                if let Some(fired) = fire(self, slot) {
                    return Step::Fired(fired);
                }
            }
            if !leave(self) {
                return Step::Spent;
            }
            let ahead = self.calendar.ahead(|slot| self.store.crowd(slot));
            let work = ahead.work;
            if work > target || work == u64::MAX {
                self.end_turn(target, ahead);
                return Step::Done;
            }
            self.calendar.set_now(work - 1);
            if !self.cascade(work, budget) {
                return Step::Spent;
            }
            self.calendar.set_now(work);
            self.shares = Some(Shares {
                level: self.calendar.top_level(),
                left: 0,
            })
            .filter(|shares| shares.level > 0);
        }
    }

    /// Goes to `target`, up to which nothing is left to do in this turn.
    fn end_turn(&mut self, target: u64, mut ahead: Ahead) {
        self.in_turn = false;
        let (accepting, _) = self.calendar.late();
        if !self.store.is_empty(accepting) {
            // What waits there for the next turn may have been cancelled.
            self.flush();
            ahead = self.calendar.ahead(|slot| self.store.crowd(slot));
        }
        let waits = !self.store.is_empty(accepting);
        self.calendar.rest(target, ahead, waits);
    }

    /// The slot or list that holds what is due at the cursor.
    #[inline]
    fn due_slot(&self) -> Option<SlotId> {
        self.calendar.due_slot().or_else(|| {
            let (_, firing) = self.calendar.late();
            (!self.store.is_empty(firing)).then_some(firing)
        })
    }

    /// Fires the first entry of a slot that is due, unless it was re-armed: then files it again.
    #[inline]
    fn fire(&mut self, slot: SlotId) -> Option<Expired<T>> {
        let Popped {
            index,
            due,
            emptied,
            ..
        } = self.store.pop_front(slot)?;
        if emptied {
            self.calendar.emptied(slot);
        }
        let due = due?;
        if due > self.calendar.now() {
            self.file(index, due, self.tolerance(index).is_some());
            return None;
        }
        let Tolerance { deadline, span } = self.asked(index, due);
        let (generation, value) = self.store.take(index)?;
        self.fired = Some(index);
        let key = TimerKey::new(self.id, index, generation);
        Some(Expired {
            key,
            deadline,
            tolerance: span,
            value,
        })
    }

    /// Empties every coarse slot that begins at `tick` into the level below, the highest
    /// first. Says whether the budget sufficed.
    fn cascade(&mut self, tick: u64, budget: &mut Budget) -> bool {
        for level in (1..=Geometry::<BITS>::alignment(tick)).rev() {
            if let Some(slot) = self.calendar.slot_beginning(level, tick) {
                self.move_down(slot, level, tick, u32::MAX, budget);
                if !self.store.is_empty(slot) {
                    return false;
                }
            }
        }
        true
    }

    /// Moves the shares that are due of the slots that come up next, the highest level
    /// first. Says whether the budget sufficed; if not, the next call goes on.
    fn move_shares(&mut self, budget: &mut Budget) -> bool {
        while let Some(Shares { level, left }) = self.shares {
            self.shares = (level > 1).then(|| Shares {
                level: level - 1,
                left: 0,
            });
            let Some((slot, start)) = self.calendar.next_slot(level) else {
                continue;
            };
            let count = match left {
                0 => self.calendar.share(level, start, self.store.crowd(slot)),
                left => left,
            };
            let left = count - self.move_down(slot, level, start, count, budget);
            if left > 0 && !self.store.is_empty(slot) {
                self.shares = Some(Shares { level, left });
                return false;
            }
        }
        true
    }

    /// Moves up to `count` entries from the back of a coarse slot one level down, those
    /// that were re-armed past its end to wherever they now belong. Says how many.
    fn move_down(
        &mut self,
        slot: SlotId,
        level: u32,
        start: u64,
        count: u32,
        budget: &mut Budget,
    ) -> u32 {
        let shift = Geometry::<BITS>::shift(level);
        let drained = if level == 1 { End::Front } else { End::Back };
        let mut back = self.store.back(slot);
        let (mut popped, mut emptied) = (0, false);
        while popped < count && !emptied && budget.take() {
            let Some(entry) = self.store.pop_back(&mut back) else {
                break;
            };
            popped += 1;
            emptied = entry.emptied;
            let Popped {
                index,
                due: Some(due),
                ..
            } = entry
            else {
                continue;
            };
            if due >> shift == start >> shift {
                let below = Calendar::<BITS>::slot_below(level, due);
                let filed = self.store.push_front(below, index, drained);
                self.calendar.filed(below, due, filed);
            } else {
                self.file(index, due, self.tolerance(index).is_some());
            }
        }
        self.store.seal_back(slot, back, u64::from(popped));
        self.moved += u64::from(popped);
        if emptied {
            self.calendar.emptied(slot);
        }
        popped
    }
}
