//! Moving time, as callers see it: `advance`, its bounded form, and `poll`.

use super::engine::{Budget, Step};
use super::{Expired, Progress, Tolerance, Turn, Wheel};
use crate::{Tick, Ticks, TimerKey};

impl<T, const BITS: u32> Wheel<T, BITS> {
    /// Moves time to `now` and hands every timer due by then to `fire`; says how many.
    ///
    /// In order of tick, whatever the gap since the last call; see [`Wheel`] for the order
    /// within a tick. What was armed for the past counts as armed for the tick the wheel was
    /// at. So does an earlier `now` than before.
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
        if self.skip_to(now) {
            return 0;
        }
        self.open_turn();
        self.in_turn = false; // if `fire` panics there is nothing to go on with
        self.run(now, Budget::unbounded(), fire).fired()
    }

    /// As [`advance`](Self::advance), but visits at most `budget` timers, moves counted.
    ///
    /// Once the budget is spent the cursor stays where the work is; the next call goes on
    /// from there, whatever tick it is for, and all calls up to the one that is done are one
    /// turn: what is armed meanwhile for [`now`](Self::now) or before waits for the next, so
    /// that no timer can use up the budget of the others. A budget of zero counts as one.
    ///
    /// Timers fire in the same order as without a budget, those that were re-armed included.
    ///
    /// ```
    /// use tickwheel::{Tick, Wheel};
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
        if self.skip_to(now) {
            return Progress::Done { fired: 0 };
        }
        self.continue_turn();
        self.run(now, Budget::new(budget), fire)
    }

    /// If there is nothing to do up to `now`, goes there; whatever turn there was is done.
    #[inline]
    pub(super) fn skip_to(&mut self, now: Tick) -> bool {
        let idle = self.calendar.skip_to(now.get());
        self.in_turn &= !idle;
        idle
    }

    fn run(
        &mut self,
        now: Tick,
        mut budget: Budget,
        mut fire: impl FnMut(&mut Turn<'_, T, BITS>, Expired<T>),
    ) -> Progress {
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
    /// wheel at hand between calls. Call it until it returns `None`: the calls up to then
    /// are one turn, and what is armed meanwhile for the wheel's [`now`](Self::now) or
    /// before waits for the next turn. So this loop ends:
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
        if self.skip_to(now) {
            return None;
        }
        self.poll_due(now)
    }

    fn poll_due(&mut self, now: Tick) -> Option<Expired<T>> {
        self.continue_turn();
        match self.step(now.get(), &mut Budget::unbounded()) {
            Step::Fired(expired) => Some(expired),
            // A budget without end is never spent.
            Step::Done | Step::Spent => None,
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
        self.tolerate(
            index,
            Tolerance {
                deadline,
                span: tolerance,
            },
        );
        let tolerant = tolerance != Ticks::ZERO;
        let due = deadline.coalesce(tolerance).get();
        self.store.restore(index, due, value);
        self.file(index, due, tolerant);
        key
    }
}
