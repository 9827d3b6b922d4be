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

use super::calendar::Calendar;
use super::store::{End, Popped, SlotId};
use super::{Expired, Progress, Tolerance, Turn, Wheel};
use crate::geometry::Geometry;
use crate::{Tick, Ticks, TimerKey};

/// How one step of the engine ended.
enum Step<T> {
    /// A timer fired.
    Fired(Expired<T>),
    /// Nothing is due up to the target, and the cursor is there.
    Done,
    /// The budget is spent and work remains.
    Spent,
}

/// Visits that may still be paid for.
struct Budget(usize);

// === impl Budget ===

impl Budget {
    const UNBOUNDED: Self = Self(usize::MAX);

    #[inline]
    fn take(&mut self) -> bool {
        let left = self.0 > 0;
        self.0 -= usize::from(left);
        left
    }
}

// === impl Wheel ===

impl<T, const BITS: u32> Wheel<T, BITS> {
    /// Moves time to `now` and hands every timer due by then to `fire`; says how many.
    ///
    /// In order of tick, whatever the gap since the last call; see [`Wheel`] for the order
    /// within a tick. An earlier `now` than before counts as the tick the wheel is at.
    /// Never fires what is due at [`Tick::NEVER`].
    ///
    /// When nothing is due and nothing has to move this is one comparison. A gap costs
    /// O(levels + slots that hold something) and the timers visited, never its ticks.
    /// [`advance_bounded`](Self::advance_bounded) limits the work of one call.
    ///
    /// If `fire` panics, the panic passes on. The timer being fired is gone with it; all
    /// others fire on the next call.
    ///
    /// ```
    /// use tickwheel::{Tick, Wheel};
    ///
    /// let mut wheel = Wheel::new();
    /// let late = wheel.arm(Tick::new(20), "late");
    /// wheel.arm(Tick::new(10), "early");
    /// let fired = wheel.advance(Tick::new(30), |turn, expired| {
    ///     if expired.value == "early" {
    ///         turn.cancel(late); // does not fire, though it is due
    ///     }
    /// });
    /// assert_eq!(fired, 1);
    /// ```
    #[inline]
    pub fn advance(
        &mut self,
        now: Tick,
        fire: impl FnMut(&mut Turn<'_, T, BITS>, Expired<T>),
    ) -> usize {
        if self.calendar.skip_to(now.get()) {
            return 0;
        }
        self.run(now, Budget::UNBOUNDED, fire).fired()
    }

    /// As [`advance`](Self::advance), but visits at most `budget` timers, moves counted.
    ///
    /// Once the budget is spent the cursor stays where the work is, and
    /// [`next_deadline`](Self::next_deadline) says so; the next call goes on from there, in
    /// the same order as if there had been no interruption. A budget of zero counts as one.
    ///
    /// ```
    /// use tickwheel::{Progress, Tick, Wheel};
    ///
    /// let mut wheel = Wheel::new();
    /// for id in 0..100 {
    ///     wheel.arm(Tick::new(10), id);
    /// }
    /// let mut calls = 1;
    /// while !wheel.advance_bounded(Tick::new(10), 30, |_, _| {}).is_done() {
    ///     calls += 1;
    /// }
    /// assert_eq!(calls, 4);
    /// ```
    pub fn advance_bounded(
        &mut self,
        now: Tick,
        budget: usize,
        fire: impl FnMut(&mut Turn<'_, T, BITS>, Expired<T>),
    ) -> Progress {
        if self.calendar.skip_to(now.get()) {
            return Progress::Done { fired: 0 };
        }
        self.run(now, Budget(budget.max(1)), fire)
    }

    fn run(
        &mut self,
        now: Tick,
        mut budget: Budget,
        mut fire: impl FnMut(&mut Turn<'_, T, BITS>, Expired<T>),
    ) -> Progress {
        self.open_turn();
        let mut fired = 0;
        loop {
            match self.step(now.get(), &mut budget) {
                Step::Fired(expired) => {
                    fired += 1;
                    fire(&mut Turn { wheel: self }, expired);
                }
                Step::Done => return Progress::Done { fired },
                Step::Spent => return Progress::More { fired },
            }
        }
    }

    /// The next timer due by `now`, or `None`: then time has moved to `now`.
    ///
    /// The same engine as [`advance`](Self::advance), one timer at a time, with the whole
    /// wheel at hand between calls. Call it until it returns `None`: calls with the same
    /// `now` up to then are one turn, and what is armed meanwhile for the wheel's
    /// [`now`](Self::now) or before waits for the next turn. So this loop ends:
    ///
    /// ```
    /// use tickwheel::{Tick, Wheel};
    ///
    /// let mut wheel = Wheel::new();
    /// wheel.arm(Tick::new(5), "again");
    /// let mut fired = 0;
    /// while let Some(expired) = wheel.poll(Tick::new(5)) {
    ///     fired += 1;
    ///     wheel.rearm_expired(expired, Tick::new(5));
    /// }
    /// assert_eq!(fired, 1);
    /// assert_eq!(wheel.next_deadline(), Some(Tick::new(5))); // still due
    /// ```
    #[inline]
    pub fn poll(&mut self, now: Tick) -> Option<Expired<T>> {
        if self.calendar.skip_to(now.get()) {
            return None;
        }
        self.poll_due(now)
    }

    fn poll_due(&mut self, now: Tick) -> Option<Expired<T>> {
        if self.turn != Some(now) {
            self.open_turn();
            self.turn = Some(now);
        }
        let mut budget = Budget::UNBOUNDED;
        match self.step(now.get(), &mut budget) {
            Step::Fired(expired) => Some(expired),
            // The budget has no end; nothing is spent.
            Step::Done | Step::Spent => {
                self.turn = None;
                None
            }
        }
    }

    /// Arms an expired timer again: under the same key, with the same tolerance.
    ///
    /// Only the timer that was handed out last can keep its key: once the wheel has been
    /// advanced or polled again, or its callback has returned, this arms it under a new
    /// one. Either way the key returned is the one that counts. O(1).
    ///
    /// # Panics
    ///
    /// If the wheel is full and the key could not be kept.
    ///
    /// ```
    /// use tickwheel::{Tick, Wheel};
    ///
    /// let mut wheel = Wheel::new();
    /// let key = wheel.arm(Tick::new(5), "periodic");
    /// let expired = wheel.poll(Tick::new(5)).unwrap();
    /// wheel.arm(Tick::new(9), "another");
    /// assert_eq!(wheel.rearm_expired(expired, Tick::new(10)), key);
    /// assert_eq!(wheel.deadline(key), Some(Tick::new(10)));
    /// ```
    #[track_caller]
    pub fn rearm_expired(&mut self, expired: Expired<T>, deadline: Tick) -> TimerKey {
        let Expired {
            key,
            tolerance,
            value,
            ..
        } = expired;
        let kept = key.within(self.id).filter(|(index, generation)| {
            self.fired == Some(*index) && self.store.is_kept(*index, *generation)
        });
        let Some((index, _)) = kept else {
            return self.arm_tolerant(deadline, tolerance, value);
        };
        self.fired = None;
        let tolerant = tolerance != Ticks::ZERO;
        let due = if tolerant {
            deadline.coalesce(tolerance).get()
        } else {
            deadline.get()
        };
        if tolerant {
            self.tolerate(
                index,
                Tolerance {
                    deadline,
                    span: tolerance,
                },
            );
        }
        self.store.restore(index, due, value);
        self.file(index, due, tolerant);
        key
    }

    // --- the engine ---

    /// Lets a turn fire what was armed at or before the cursor since the last one.
    fn open_turn(&mut self) {
        self.turn = None;
        self.flush();
        let (accepting, firing) = self.calendar.late();
        if self.store.is_empty(firing) {
            self.calendar.swap_late();
        } else {
            self.store.splice(accepting, firing);
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
    fn step(&mut self, target: u64, budget: &mut Budget) -> Step<T> {
        self.settle();
        self.calendar.stay_awake();
        loop {
            while let Some(slot) = self.due_slot() {
                if !budget.take() {
                    return Step::Spent;
                }
                if let Some(expired) = self.fire(slot) {
                    return Step::Fired(expired);
                }
            }
            let work = self
                .calendar
                .next_work(|slot| self.store.crowd(slot))
                .unwrap_or(u64::MAX);
            if work > target || work == u64::MAX {
                // What was armed at or before the cursor meanwhile is for the next turn.
                let (accepting, _) = self.calendar.late();
                let wake = if self.store.is_empty(accepting) {
                    work
                } else {
                    0
                };
                self.calendar.sleep_until(wake, target);
                return Step::Done;
            }
            self.calendar.set_now(work - 1);
            if !self.cascade(work, budget) {
                return Step::Spent;
            }
            self.calendar.set_now(work);
            self.move_shares(budget);
            // While this tick fires, let the first entries of the next one arrive.
            if let Some(next) = self.calendar.slot_beginning(0, work + 1) {
                self.store.prefetch_recent(next);
            }
        }
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

    /// Moves the shares that are due of the slots that come up next, the highest first.
    fn move_shares(&mut self, budget: &mut Budget) {
        for level in self.calendar.coarse_levels() {
            if let Some((slot, start, count)) =
                self.calendar.share(level, |slot| self.store.crowd(slot))
            {
                self.move_down(slot, level, start, count, budget);
            }
        }
    }

    /// Moves up to `count` entries from the back of a coarse slot one level down, those
    /// that were re-armed past its end to wherever they now belong.
    fn move_down(&mut self, slot: SlotId, level: u32, start: u64, count: u32, budget: &mut Budget) {
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
                let filing = Calendar::<BITS>::below(level, due);
                let filed = self.store.push_front(filing.slot, index, drained);
                self.calendar.filed(filing, due, filed);
            } else {
                self.file(index, due, self.tolerance(index).is_some());
            }
        }
        self.store.seal_back(slot, back, u64::from(popped));
        if emptied {
            self.calendar.emptied(slot);
        }
    }
}
