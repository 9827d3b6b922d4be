//! What can be asked about one timer.

use super::word::State;
use super::{SharedWheel, thread};
use crate::sync::Ordering;
use crate::{Tick, TimerKey};

impl<T, const BITS: u32> SharedWheel<T, BITS> {
    /// Whether `key` names an armed timer of this wheel: one that is suspended counts, one
    /// whose callback is running does not. O(1).
    ///
    /// By the time the caller looks at the answer, it may have fired.
    #[inline]
    #[must_use]
    pub fn contains(&self, key: TimerKey) -> bool {
        self.find(key).is_some_and(|(_, entry, generation)| {
            entry.word().is_live() && Self::is_of(entry, generation)
        })
    }

    /// The deadline a timer is armed for, before its tolerance; [`Tick::NEVER`] if it is
    /// suspended, `None` for a stale key. O(1).
    #[must_use]
    pub fn deadline(&self, key: TimerKey) -> Option<Tick> {
        let (_, entry, generation) = self.find(key)?;
        let mut word = entry.word();
        loop {
            let deadline = match word.state() {
                State::Armed => entry.deadline(word, &self.arena),
                State::Held => Ok(u64::MAX),
                State::Empty | State::Taking | State::Revoked | State::Awaited => return None,
            };
            if !Self::is_of(entry, generation) {
                return None;
            }
            match deadline {
                Ok(deadline) => return Some(Tick::new(deadline)),
                Err(now) => word = now,
            }
        }
    }

    /// Entries that the driver met before they were due, and moved closer.
    pub(crate) fn moved(&self) -> u64 {
        // ORDERING: Relaxed. A number to look at.
        self.driver.0.moved.load(Ordering::Relaxed)
    }

    /// Entries that the driver met after their timer was cancelled or suspended, and forgot.
    pub(crate) fn husks(&self) -> u64 {
        // ORDERING: Relaxed. A number to look at.
        self.driver.0.gone.load(Ordering::Relaxed)
    }

    /// Timers that were cancelled, cleared or drained.
    pub(crate) fn ended(&self) -> u64 {
        self.shards.ended()
    }

    /// By how many shards threads are told apart.
    pub(crate) fn shards(&self) -> u32 {
        self.shards.count()
    }

    /// Which of them this thread belongs to.
    pub(crate) fn shard_here(&self) -> usize {
        thread::shard(self.shards.count()) as usize
    }

    // --- desks ---

    /// Whether this thread could sit down at its desk: there is one, and nobody sits there.
    #[inline]
    pub(crate) fn desk_is_free(&self) -> bool {
        self.shards.desk_here().is_some_and(|desk| desk.sits() == 0)
    }

    /// Sits down at the desk of this thread, if nobody sits there. Says at which: the thread has to
    /// [leave](Self::leave) it before it ends.
    pub(crate) fn sit(&self) -> Option<usize> {
        let number = self.shards.desk_number();
        let token = thread::numbered()?;
        self.shards.desk(number)?.sit(token).then_some(number)
    }

    /// Gets up from the desk of this number, at which this thread sits.
    pub(crate) fn leave(&self, number: usize) {
        if let Some(desk) = self.shards.desk(number) {
            desk.leave(&self.shards.get(desk.shard()).free, &self.arena);
        }
    }

    /// Lets another thread do the next thing it does.
    pub(crate) fn pause(&self) {
        self.waiters.pause();
    }
}
