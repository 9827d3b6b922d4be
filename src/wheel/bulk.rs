//! What concerns all timers at once: capacity, iteration, clearing.

use alloc::vec::Vec;
use core::fmt;
use core::iter::FusedIterator;

use super::store::{Entries, IntoEntries, Store};
use super::{MAX_LEN, Tolerance, Wheel};
use crate::key::WheelId;
use crate::{Tick, Ticks, TimerKey};

/// Iterator over the armed timers of a wheel: [`Wheel::iter`].
pub struct Iter<'a, T, const BITS: u32 = 8> {
    wheel: &'a Wheel<T, BITS>,
    entries: Entries<'a, T>,
    left: usize,
}

/// Iterator that has taken every timer out of a wheel: [`Wheel::drain`].
pub struct Drain<T> {
    wheel: WheelId,
    entries: IntoEntries<T>,
    tolerances: Vec<Tolerance>,
    left: usize,
}

// === impl Wheel ===

impl<T, const BITS: u32> Wheel<T, BITS> {
    /// Timers the wheel can hold without allocating for entries.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.store.capacity()
    }

    /// Makes room for `additional` more timers.
    ///
    /// # Panics
    ///
    /// If that would be more than 2^31 - 16 timers in all.
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        let wanted = self.len().saturating_add(additional);
        assert!(
            wanted <= MAX_LEN,
            "a wheel holds at most {MAX_LEN} timers, not {wanted}"
        );
        self.store.reserve(additional);
    }

    /// The most timers the wheel accepts: 2^31 - 16 unless [`set_limit`](Self::set_limit) said less.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Lets the wheel hold at most `limit` timers, or 2^31 - 16 if that is less.
    ///
    /// Timers armed already stay, even if there are more. So does one that expires and is armed
    /// again under its key, even if another has taken its place: one more than `limit`. A bound is the way to keep a
    /// flood of work from becoming a flood of memory; see [`try_arm`](Self::try_arm).
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit.min(MAX_LEN);
    }

    /// Gives back memory that is not needed for the timers now armed. O(timers).
    ///
    /// Keys stay valid, so the entries of a wheel that is not empty can shrink only down
    /// to the one with the highest index. An empty wheel gives back everything.
    pub fn shrink_to_fit(&mut self) {
        self.settle();
        if self.is_empty() {
            // No key is valid, so none has to stay so.
            self.forget_all();
            self.store = Store::new(Self::SMALL);
        }
        self.flush();
        let entries = self.store.shrink_to_fit();
        self.tolerances.truncate(entries);
        self.tolerances.shrink_to_fit();
    }

    /// The armed timers: key, deadline and value, in no particular order.
    ///
    /// ```
    /// use tickwheel::{Tick, Wheel};
    ///
    /// let mut wheel = Wheel::new();
    /// let key = wheel.arm(Tick::new(3), 'a');
    /// assert_eq!(wheel.iter().collect::<Vec<_>>(), [(key, Tick::new(3), &'a')]);
    /// ```
    pub fn iter(&self) -> Iter<'_, T, BITS> {
        Iter {
            wheel: self,
            entries: self.store.entries(),
            left: self.len(),
        }
    }

    /// Drops every timer without firing it. Time stays where it is, capacity too. O(timers).
    ///
    /// The wheel is empty and consistent before the first value is dropped, so that a
    /// `Drop` that panics does it no harm; the values not yet dropped are dropped all the same.
    pub fn clear(&mut self) {
        self.forget_all();
        self.tolerances.clear();
        self.store.clear();
    }

    /// Takes every timer out, and hands out keys, deadlines and values, in no particular order.
    ///
    /// The wheel is empty when this returns, whatever becomes of the iterator; the capacity
    /// for entries goes with it. Dropping the iterator drops what it has not handed out.
    ///
    /// ```
    /// use tickwheel::{Tick, Wheel};
    ///
    /// let mut wheel = Wheel::new();
    /// wheel.arm(Tick::new(3), "unsaved");
    /// let unsaved: Vec<_> = wheel.drain().map(|(_, deadline, value)| (deadline, value)).collect();
    /// assert_eq!(unsaved, [(Tick::new(3), "unsaved")]);
    /// assert!(wheel.is_empty());
    /// ```
    pub fn drain(&mut self) -> Drain<T> {
        let left = self.len();
        let wheel = self.forget_all();
        Drain {
            wheel,
            entries: self.store.take_entries(),
            tolerances: core::mem::take(&mut self.tolerances),
            left,
        }
    }

    /// Makes every key stale and every slot unmarked. Says how the wheel was known so far.
    fn forget_all(&mut self) -> WheelId {
        self.settle();
        self.calendar.clear();
        self.shares = None;
        core::mem::replace(&mut self.id, WheelId::next())
    }
}

impl<'a, T, const BITS: u32> IntoIterator for &'a Wheel<T, BITS> {
    type Item = (TimerKey, Tick, &'a T);
    type IntoIter = Iter<'a, T, BITS>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

// === impl Iter ===

impl<'a, T, const BITS: u32> Iterator for Iter<'a, T, BITS> {
    type Item = (TimerKey, Tick, &'a T);

    fn next(&mut self) -> Option<Self::Item> {
        let (index, generation, due, value) = self.entries.next()?;
        self.left -= 1;
        let key = TimerKey::new(self.wheel.id, index, generation);
        Some((key, self.wheel.asked(index, due).deadline, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T, const BITS: u32> ExactSizeIterator for Iter<'_, T, BITS> {}
impl<T, const BITS: u32> FusedIterator for Iter<'_, T, BITS> {}

impl<T, const BITS: u32> Clone for Iter<'_, T, BITS> {
    fn clone(&self) -> Self {
        Self {
            wheel: self.wheel,
            entries: self.entries.clone(),
            left: self.left,
        }
    }
}

impl<T, const BITS: u32> fmt::Debug for Iter<'_, T, BITS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter")
            .field("left", &self.left)
            .finish_non_exhaustive()
    }
}

// === impl Drain ===

impl<T> Iterator for Drain<T> {
    type Item = (TimerKey, Tick, T);

    fn next(&mut self) -> Option<Self::Item> {
        let (index, generation, due, value) = self.entries.next()?;
        self.left -= 1;
        let key = TimerKey::new(self.wheel, index, generation);
        let asked = self
            .tolerances
            .get(index as usize)
            .filter(|tolerance| tolerance.span != Ticks::ZERO);
        Some((
            key,
            asked.map_or(Tick::new(due), |asked| asked.deadline),
            value,
        ))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T> ExactSizeIterator for Drain<T> {}
impl<T> FusedIterator for Drain<T> {}

impl<T> fmt::Debug for Drain<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drain")
            .field("left", &self.left)
            .finish_non_exhaustive()
    }
}
