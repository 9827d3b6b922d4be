//! The dumb walker: every invariant of a shared wheel at rest, by looking at everything.

use alloc::vec;

use super::SharedWheel;
use super::arena::{group_of, mark_bits};
use super::word::{Place, State};
use crate::sync::Ordering;

impl<T, const BITS: u32> SharedWheel<T, BITS> {
    /// Panics if anything about the wheel is not as it should be. Only while no other thread
    /// uses it, and not from a callback. O(slots + entries).
    ///
    /// For tests: ours run it after every step of every model. Not part of the API.
    ///
    /// # Panics
    ///
    /// See above.
    #[doc(hidden)]
    pub fn check(&self) {
        let Ok(mut driving) = self.drive() else {
            panic!("somebody drives the wheel");
        };
        let private = &mut *driving.private;
        private.wheel.check();
        let now = private.wheel.now().get();
        let used = self.arena.used();
        let mut free = vec![false; used as usize];
        let mut mark = |index: u32| {
            assert!(
                !core::mem::replace(&mut free[index as usize], true),
                "entry {index} is free twice"
            );
        };
        for shard in self.shards.iter() {
            shard.free.iter(&self.arena).for_each(&mut mark);
        }
        // Nobody may be getting up meanwhile. A thread that was joined is not; one that has ended only as its scope sees it may be.
        for desk in self.shards.desks() {
            desk.iter().for_each(&mut mark);
        }
        let mut live = 0;
        for index in 0..used {
            let entry = self.arena.entry(index);
            let word = entry.word();
            let place = private.wheel.place_of(index);
            assert!(
                !word.is_running(),
                "entry {index}: {word:?}, but no callback runs"
            );
            assert!(
                matches!(word.state(), State::Empty | State::Armed | State::Held),
                "entry {index}: {word:?} at rest"
            );
            live += usize::from(word.is_live());
            let is_free = free[index as usize];
            assert!(
                !(is_free && word.is_live()),
                "entry {index}: {word:?}, but free"
            );
            if let Place::Far(companion) = word.place() {
                assert!(
                    !free[companion as usize] && !self.arena.entry(companion).word().is_live(),
                    "entry {index} refers to {companion}, which is in use"
                );
            }
            let Ok(deadline) = entry.deadline(word, &self.arena) else {
                panic!("entry {index}: {word:?} changes while the wheel is checked");
            };
            let due = entry.due(deadline);
            if word.is_filed() {
                let met = place.unwrap_or(u64::MAX);
                assert!(
                    met <= due.max(now),
                    "entry {index}: {word:?} due {due}, but met at {met}"
                );
            } else if word.is_armed() {
                let met = place.is_some_and(|met| met <= due.max(now));
                assert!(
                    met || self.is_marked(index) || private.sweep.is_under_way(),
                    "entry {index}: {word:?} due {due}, and the driver will not know"
                );
            }
        }
        assert_eq!(live, self.len(), "{live} timers, {} counted", self.len());
    }

    /// Whether a sweep would find the entry.
    fn is_marked(&self, index: u32) -> bool {
        let Some(group) = self.arena.group(group_of(index)) else {
            return false;
        };
        let (block_bit, entry_bit) = mark_bits(index);
        // ORDERING: Relaxed. Nobody else uses the wheel.
        group.block_marks(index).load(Ordering::Relaxed) & entry_bit != 0
            && group.marks.0.load(Ordering::Relaxed) & block_bit != 0
            && self.bell.0.root_has(group_of(index))
    }
}
