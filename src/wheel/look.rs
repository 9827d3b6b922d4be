//! What can be asked of a wheel at rest: about one timer, and about what comes next.

use super::calendar::Calendar;
use super::store::{Entry, Index};
use super::{Tolerance, Wheel};
use crate::{Tick, Ticks, TimerKey};

impl<T, const BITS: u32> Wheel<T, BITS> {
    /// The armed entry that `key` names.
    #[inline]
    pub(super) fn armed(&self, key: TimerKey) -> Option<(Index, &Entry<T>)> {
        let (index, generation) = key.within(self.id)?;
        Some((index, self.store.get(index, generation)?))
    }

    /// Where the timer lives that `key` names, if it is a key of this wheel. O(1).
    #[cfg(feature = "typed")]
    pub(crate) fn entry_of(&self, key: TimerKey) -> Option<u32> {
        Some(key.within(self.id)?.0)
    }

    /// The armed timer that lives there: its key, and its value. O(1).
    #[cfg(feature = "typed")]
    pub(crate) fn at_entry(&self, entry: u32) -> Option<(TimerKey, &T)> {
        let (generation, value) = self.store.held(entry)?;
        Some((TimerKey::new(self.id, entry, generation), value))
    }

    /// Whether `key` names an armed timer of this wheel. O(1).
    #[inline]
    #[must_use]
    pub fn contains(&self, key: TimerKey) -> bool {
        self.armed(key).is_some()
    }

    /// The deadline a timer is armed for, before its tolerance; `None` for a stale key. O(1).
    #[must_use]
    pub fn deadline(&self, key: TimerKey) -> Option<Tick> {
        self.armed(key)
            .map(|(index, entry)| self.asked(index, entry.due()).deadline)
    }

    /// What the caller asked for, of a timer due at `due`.
    #[inline]
    pub(super) fn asked(&self, index: Index, due: u64) -> Tolerance {
        self.tolerance(index).unwrap_or(Tolerance {
            deadline: Tick::new(due),
            span: Ticks::ZERO,
        })
    }

    /// The value of an armed timer; `None` for a stale key. O(1).
    #[must_use]
    pub fn get(&self, key: TimerKey) -> Option<&T> {
        self.armed(key)?.1.value()
    }

    /// The value of an armed timer, to change in place; `None` for a stale key. O(1).
    #[must_use]
    pub fn get_mut(&mut self, key: TimerKey) -> Option<&mut T> {
        let (index, generation) = key.within(self.id)?;
        self.store.get_mut(index, generation)?.value_mut()
    }

    /// A tick before which nothing is due: never later than the earliest deadline.
    ///
    /// `None` when there is nothing to wait for: no timer is armed, or only such as are due
    /// [never](Tick::NEVER). After `advance(now)` it is later than `now`, unless something
    /// due was armed since. While a turn is under way, because a budget ran out or `poll`
    /// has more, it is [`now`](Self::now).
    ///
    /// It is the start of the first slot that holds anything, and so may be early: for a
    /// far timer by up to the span of its slot, and for one that was re-armed later, by
    /// what was added. An `advance` to it then moves that timer to where it belongs, and
    /// the answer comes closer: at most once per level for each re-arm. O(levels).
    ///
    /// ```
    /// use tickwheel::{Tick, Wheel};
    ///
    /// let mut wheel = Wheel::new();
    /// assert_eq!(wheel.next_deadline(), None);
    /// wheel.arm(Tick::new(1_000_000), ());
    /// let mut wakes = 0;
    /// let due = loop {
    ///     let next = wheel.next_deadline().unwrap();
    ///     wakes += 1;
    ///     if wheel.poll(next).is_some() {
    ///         break next;
    ///     }
    /// };
    /// assert_eq!(due, Tick::new(1_000_000));
    /// assert!(wakes <= 4);
    /// ```
    #[inline]
    #[must_use]
    pub fn next_deadline(&self) -> Option<Tick> {
        self.next(|calendar| {
            if calendar.is_awake() {
                calendar.ahead(|_| 0).start
            } else {
                calendar.next_start()
            }
        })
    }

    /// A tick before which there is no work: like [`next_deadline`](Self::next_deadline),
    /// but moves ahead of need count as work too.
    ///
    /// A driver that calls `advance` at every tick has no use for it. One that sleeps
    /// until something happens may sleep until this instead of `next_deadline`: it then
    /// wakes once per 32 timers of a crowded slot during the time before the slot begins,
    /// and in return no single wake-up has to move a whole slot. The two agree
    /// unless more than 32 timers were filed in one slot. O(levels).
    ///
    /// ```
    /// use tickwheel::{Tick, Wheel};
    ///
    /// let mut wheel = Wheel::new();
    /// for id in 0..100_000 {
    ///     wheel.arm(Tick::new(300_000), id); // all in one slot of 65,536 ticks
    /// }
    /// let next = wheel.next_work().unwrap();
    /// assert!(next < wheel.next_deadline().unwrap());
    /// ```
    #[must_use]
    pub fn next_work(&self) -> Option<Tick> {
        self.next(|calendar| calendar.ahead(|slot| self.store.crowd(slot)).work)
    }

    /// Nothing if there is nothing to wait for, now if anything is due or a turn is under
    /// way, and else what lies ahead.
    #[inline]
    fn next(&self, ahead: impl FnOnce(&Calendar<BITS>) -> u64) -> Option<Tick> {
        if self.len() == self.calendar.nevers() {
            return None;
        }
        if self.in_turn || self.calendar.is_awake() && self.is_due() {
            return Some(self.now());
        }
        Some(Tick::new(ahead(&self.calendar)))
    }

    /// Whether anything waits at the cursor.
    fn is_due(&self) -> bool {
        let (accepting, firing) = self.calendar.late();
        self.calendar.due_slot().is_some()
            || !self.store.is_empty(accepting)
            || !self.store.is_empty(firing)
    }
}
