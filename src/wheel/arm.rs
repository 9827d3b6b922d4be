//! Arm, cancel, re-arm: the operations on one timer.

use super::store::{Index, SlotId, Store};
use super::{Tolerance, Wheel};
use crate::error::{StaleKey, WheelFull};
use crate::{Tick, Ticks, TimerKey};

impl<T, const BITS: u32> Wheel<T, BITS> {
    // --- arm ---

    /// Arms a timer: `value` comes back from the first `advance` or `poll` that reaches `deadline`.
    ///
    /// A deadline at or before [`now`](Self::now) counts as now and is due at the next call of
    /// either, even one for the same tick; if a turn of `poll` or of a bounded `advance` is
    /// under way, in the next turn. Arming never fires anything itself. O(1).
    ///
    /// # Panics
    ///
    /// If the wheel is full: it holds 2^31 - 16 timers, or as many as
    /// [`set_limit`](Self::set_limit) allows. [`try_arm`](Self::try_arm) does not panic.
    ///
    /// ```
    /// use tickwheel::{Tick, Wheel};
    ///
    /// let mut wheel = Wheel::new();
    /// let key = wheel.arm(Tick::new(10), 'a');
    /// assert_eq!(wheel.deadline(key), Some(Tick::new(10)));
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn arm(&mut self, deadline: Tick, value: T) -> TimerKey {
        self.assert_room();
        self.arm_plain(deadline, value)
    }

    /// Arms a timer, or gives the value back if the wheel is full. O(1).
    ///
    /// # Errors
    ///
    /// [`WheelFull`], with the value; nothing has changed.
    ///
    /// ```
    /// use tickwheel::{Tick, Wheel};
    ///
    /// let mut wheel = Wheel::new();
    /// wheel.set_limit(1);
    /// assert!(wheel.try_arm(Tick::new(1), "first").is_ok());
    /// assert_eq!(wheel.try_arm(Tick::new(1), "second").unwrap_err().value, "second");
    /// ```
    #[inline]
    pub fn try_arm(&mut self, deadline: Tick, value: T) -> Result<TimerKey, WheelFull<T>> {
        if self.len() >= self.limit {
            return Err(WheelFull { value });
        }
        Ok(self.arm_plain(deadline, value))
    }

    /// Arms a timer whose value is made from its own key.
    ///
    /// `make` runs before anything is armed. If it panics nothing is, and the key is stale. O(1).
    ///
    /// # Panics
    ///
    /// As [`arm`](Self::arm).
    ///
    /// ```
    /// use tickwheel::{Tick, TimerKey, Wheel};
    ///
    /// struct Connection { timer: TimerKey }
    ///
    /// let mut wheel = Wheel::new();
    /// let key = wheel.arm_with(Tick::new(30), |timer| Connection { timer });
    /// assert_eq!(wheel.get(key).unwrap().timer, key);
    /// ```
    #[track_caller]
    pub fn arm_with(&mut self, deadline: Tick, make: impl FnOnce(TimerKey) -> T) -> TimerKey {
        self.assert_room();
        let (index, generation) = self.store.vacant();
        let key = TimerKey::new(self.id, index, generation);
        let burn = BurnOnUnwind(&mut self.store);
        let value = make(key);
        core::mem::forget(burn);
        self.arm_plain(deadline, value)
    }

    /// Arms a timer that may be served up to `tolerance` late, and never early.
    ///
    /// It is due at [`deadline.coalesce(tolerance)`](Tick::coalesce): the roundest tick in
    /// that range. Timers with tolerance therefore gather on few ticks, and one whose due
    /// tick begins a coarse slot waits there until it fires instead of moving from level
    /// to level. The tolerance stays with the timer through every re-arm. O(1).
    ///
    /// The first timer with a tolerance makes the wheel keep 16 bytes more per timer.
    ///
    /// # Panics
    ///
    /// As [`arm`](Self::arm).
    ///
    /// ```
    /// use tickwheel::{Tick, Ticks, Wheel};
    ///
    /// let mut wheel = Wheel::new();
    /// let key = wheel.arm_tolerant(Tick::new(1_000), Ticks::new(100), "sweep");
    /// assert_eq!(wheel.deadline(key), Some(Tick::new(1_000))); // as asked
    /// assert!(wheel.poll(Tick::new(1_023)).is_none());
    /// assert!(wheel.poll(Tick::new(1_024)).is_some()); // due
    /// ```
    #[track_caller]
    pub fn arm_tolerant(&mut self, deadline: Tick, tolerance: Ticks, value: T) -> TimerKey {
        self.assert_room();
        if tolerance == Ticks::ZERO {
            return self.arm_plain(deadline, value);
        }
        let due = deadline.coalesce(tolerance).get();
        let slot = self.calendar.slot_for(due, true);
        let (index, generation, filed) = self.store.insert(slot, due, value);
        self.calendar.filed(slot, due, filed);
        self.tolerate(
            index,
            Tolerance {
                deadline,
                span: tolerance,
            },
        );
        TimerKey::new(self.id, index, generation)
    }

    #[inline(always)]
    pub(super) fn arm_plain(&mut self, deadline: Tick, value: T) -> TimerKey {
        let due = deadline.get();
        let slot = self.calendar.slot_for(due, false);
        let (index, generation, filed) = self.store.insert(slot, due, value);
        self.calendar.filed(slot, due, filed);
        // Whoever used the entry before may have had a tolerance.
        if let Some(tolerance) = self.tolerances.get_mut(index as usize) {
            tolerance.span = Ticks::ZERO;
        }
        TimerKey::new(self.id, index, generation)
    }

    /// Notes what was asked for of the timer at `index`.
    pub(super) fn tolerate(&mut self, index: Index, tolerance: Tolerance) {
        let at = index as usize;
        if self.tolerances.len() <= at {
            if tolerance.span == Ticks::ZERO {
                return;
            }
            self.tolerances.resize(at + 1, Tolerance::default());
        }
        self.tolerances[at] = tolerance;
    }

    #[inline]
    #[track_caller]
    pub(super) fn assert_room(&self) {
        if self.len() >= self.limit {
            full(self.limit);
        }
    }

    /// Moves an entry, which was due at `was`, from its list to where `due` belongs.
    #[inline(never)]
    pub(super) fn refile(&mut self, index: Index, was: u64, due: u64, tolerant: bool) {
        if was == u64::MAX {
            self.calendar.unfiled_never();
        }
        let slot = self.calendar.slot_for(due, tolerant);
        let (emptied, filed) = self.store.refile(slot, index);
        self.emptied(emptied);
        self.calendar.filed(slot, due, filed);
    }

    /// Files an entry that is on no list where `due` belongs.
    #[inline]
    pub(super) fn file(&mut self, index: Index, due: u64, tolerant: bool) {
        let slot = self.calendar.slot_for(due, tolerant);
        let filed = self.store.push_back(slot, index);
        self.calendar.filed(slot, due, filed);
    }

    /// The tolerance of the timer at `index`, if it has one.
    #[inline]
    pub(super) fn tolerance(&self, index: Index) -> Option<Tolerance> {
        self.tolerances
            .get(index as usize)
            .copied()
            .filter(|tolerance| tolerance.span != Ticks::ZERO)
    }

    // --- cancel and re-arm ---

    /// Cancels a timer and gives its value back; `None` if it has fired, was cancelled
    /// before, or belongs to another wheel. It will not fire. O(1).
    ///
    /// ```
    /// use tickwheel::{Tick, Wheel};
    ///
    /// let mut wheel = Wheel::new();
    /// let key = wheel.arm(Tick::new(10), 'a');
    /// assert_eq!(wheel.cancel(key), Some('a'));
    /// assert_eq!(wheel.cancel(key), None);
    /// ```
    #[inline]
    pub fn cancel(&mut self, key: TimerKey) -> Option<T> {
        let (index, generation) = key.within(self.id)?;
        let (due, value, emptied) = self.store.cancel(index, generation)?;
        if due == u64::MAX {
            self.calendar.unfiled_never();
        }
        self.emptied(emptied);
        Some(value)
    }

    #[inline]
    pub(super) fn emptied(&mut self, slot: Option<SlotId>) {
        if let Some(slot) = slot {
            self.calendar.emptied(slot);
        }
    }

    /// Moves a timer to another deadline: later, earlier, into the past, or to never.
    ///
    /// On success the old deadline never fires. A later deadline costs one store: the
    /// timer stays filed where it is until the wheel comes by. A deadline at or before
    /// [`now`](Self::now) is due as if it had been [armed](Self::arm) for it. Keeps the key,
    /// the value and the tolerance. O(1).
    ///
    /// # Errors
    ///
    /// [`StaleKey`] if the timer has fired, was cancelled, or belongs to another wheel.
    ///
    /// ```
    /// use tickwheel::{Tick, Wheel};
    ///
    /// let mut wheel = Wheel::new();
    /// let idle = wheel.arm(Tick::new(30), "connection");
    /// wheel.rearm(idle, Tick::new(55))?; // it was heard from at 25
    /// assert!(wheel.poll(Tick::new(54)).is_none());
    /// assert!(wheel.poll(Tick::new(55)).is_some());
    /// assert!(wheel.rearm(idle, Tick::new(99)).is_err());
    /// # Ok::<(), tickwheel::StaleKey>(())
    /// ```
    #[inline]
    pub fn rearm(&mut self, key: TimerKey, deadline: Tick) -> Result<(), StaleKey> {
        let Some((index, generation)) = key.within(self.id) else {
            return Err(StaleKey);
        };
        let Some(entry) = self.store.get_mut(index, generation) else {
            return Err(StaleKey);
        };
        let mut due = deadline.get();
        let tolerance = self
            .tolerances
            .get_mut(index as usize)
            .filter(|tolerance| tolerance.span != Ticks::ZERO);
        let tolerant = tolerance.is_some();
        if let Some(tolerance) = tolerance {
            tolerance.deadline = deadline;
            due = deadline.coalesce(tolerance.span).get();
        }
        let was = entry.replace_due(due);
        // Filed no later than before, on a slot still to come: the wheel finds the new tick
        // when it gets there. Not so what is never met, nor what is late already.
        if due < was || due == u64::MAX || was <= self.calendar.now() {
            self.refile(index, was, due, tolerant);
        }
        Ok(())
    }
}

/// Makes the key of the vacant entry stale if the closure that was told it panics.
struct BurnOnUnwind<'a, T>(&'a mut Store<T>);

impl<T> Drop for BurnOnUnwind<'_, T> {
    fn drop(&mut self) {
        self.0.burn_vacant();
    }
}

#[cold]
#[track_caller]
fn full(limit: usize) -> ! {
    panic!("the wheel holds as many timers as it may: {limit}");
}
