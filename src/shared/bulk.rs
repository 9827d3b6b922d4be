//! What concerns all timers at once: clearing, draining, dropping.

use core::fmt;
use core::iter::FusedIterator;
use core::num::NonZeroU32;

use super::SharedWheel;
use super::mutant::mutant;
use super::source::Common;
use super::word::State;
use crate::{Tick, TimerKey};

/// Iterator that takes the timers out of a shared wheel: [`SharedWheel::drain`].
pub struct SharedDrain<'a, T, const BITS: u32 = 8> {
    wheel: &'a SharedWheel<T, BITS>,
    next: u32,
    end: u32,
}

// === impl SharedWheel ===

impl<T, const BITS: u32> SharedWheel<T, BITS> {
    /// Entries that exist: the most that were needed at one time, and the slack that
    /// [`SharedWheel`] describes. O(1).
    #[must_use]
    pub fn entries(&self) -> usize {
        self.arena.used() as usize
    }

    /// Cancels every timer that was armed before the call, and drops its value. O(entries).
    ///
    /// Each goes by a transition of its own: other threads may arm meanwhile, and what they arm
    /// may be cleared or may not. A timer whose callback is running is left to it. If the
    /// drop of a value panics, the rest is cleared all the same.
    pub fn clear(&self) {
        drop(self.drain());
    }

    /// Takes out every timer that was armed before the call, and hands out keys, deadlines and
    /// values, in no particular order. O(entries).
    ///
    /// Each is cancelled when its turn comes; until then it may fire. Dropping the iterator
    /// takes out and drops the rest.
    ///
    /// ```
    /// use tickwheel::{SharedWheel, Tick};
    ///
    /// let wheel = SharedWheel::new();
    /// wheel.arm(Tick::new(3), "unsaved");
    /// let unsaved: Vec<_> = wheel.drain().map(|(_, deadline, value)| (deadline, value)).collect();
    /// assert_eq!(unsaved, [(Tick::new(3), "unsaved")]);
    /// assert!(wheel.is_empty());
    /// ```
    pub fn drain(&self) -> SharedDrain<'_, T, BITS> {
        SharedDrain {
            wheel: self,
            next: 0,
            end: self.arena.used(),
        }
    }

    /// Takes out the timer of the entry `index`, if it has one.
    fn take_out(&self, index: u32) -> Option<(TimerKey, Tick, T)> {
        let entry = self.arena.entry(index);
        let mut word = entry.word();
        loop {
            let deadline = match word.state() {
                State::Armed => entry.deadline(word, &self.arena),
                State::Held => Ok(u64::MAX),
                State::Empty | State::Taking | State::Revoked | State::Awaited => return None,
            };
            // That of the word, if the word is still the same when it is removed.
            let generation = NonZeroU32::new(entry.generation());
            let removed = deadline.and_then(|deadline| {
                let value = self.remove(&mut Common::here(&self.shards), index, word)?;
                Ok((Tick::new(deadline), value))
            });
            match removed {
                Ok((deadline, value)) => {
                    let key = TimerKey::new(self.id, index, generation?);
                    return Some((key, deadline, value));
                }
                Err(now) => word = now,
            }
        }
    }
}

impl<T, const BITS: u32> Drop for SharedWheel<T, BITS> {
    /// Drops every value still armed, here and now.
    fn drop(&mut self) {
        if !mutant!(DropLeaks) {
            self.clear();
        }
    }
}

// === impl SharedDrain ===

impl<T, const BITS: u32> Iterator for SharedDrain<'_, T, BITS> {
    type Item = (TimerKey, Tick, T);

    fn next(&mut self) -> Option<Self::Item> {
        while self.next < self.end {
            self.next += 1;
            if let Some(timer) = self.wheel.take_out(self.next - 1) {
                return Some(timer);
            }
        }
        None
    }
}

impl<T, const BITS: u32> FusedIterator for SharedDrain<'_, T, BITS> {}

impl<T, const BITS: u32> Drop for SharedDrain<'_, T, BITS> {
    fn drop(&mut self) {
        /// Goes on where a value's drop panicked.
        struct Rest<'a, 'b, T, const BITS: u32>(&'a mut SharedDrain<'b, T, BITS>);

        impl<T, const BITS: u32> Drop for Rest<'_, '_, T, BITS> {
            fn drop(&mut self) {
                self.0.for_each(drop);
            }
        }

        let rest = Rest(self);
        rest.0.for_each(drop);
    }
}

impl<T, const BITS: u32> fmt::Debug for SharedDrain<'_, T, BITS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedDrain").finish_non_exhaustive()
    }
}
