//! One timer's place: its word, what the word refers to, and its value.

use core::num::NonZeroU32;

use super::arena::Arena;
use super::mutant::{mutant, ordering};
use super::slot::Slot;
use super::word::{Place, REACH, Word};
use crate::Tick;
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// One timer. 64 bytes with a value of up to 16: a cache line.
///
/// The word decides who may touch what:
///
/// | field | written by | while |
/// |---|---|---|
/// | `tolerance`, `generation`, `home` | the armer | the entry is empty and popped |
/// | `base` | the armer; the callback | the entry is empty and popped, or running; and not filed |
/// | `link`, `skip` | whoever frees the entry | it is empty |
/// | `far` | whoever popped the entry to keep a deadline of another timer in it | |
/// | `value` | whoever the last transition gave it to | |
#[repr(C, align(64))]
pub(super) struct Entry<T> {
    word: AtomicU64,
    /// The tick from which near deadlines count.
    base: AtomicU64,
    /// How late the timer may be served.
    tolerance: AtomicU64,
    /// A deadline of another timer, which refers to this entry.
    far: AtomicU64,
    /// Which of the timers that live here one after the other.
    generation: AtomicU32,
    /// The next free entry.
    pub(super) link: AtomicU32,
    /// The shard that the entry goes back to when it has fired.
    home: AtomicU32,
    /// A free entry some steps further on, one more than its index: a hint.
    pub(super) skip: AtomicU32,
    pub(super) value: Slot<T>,
}

// === impl Entry ===

impl<T> Entry<T> {
    #[cfg(loom)]
    pub(super) fn new() -> Self {
        Self {
            word: AtomicU64::new(0),
            base: AtomicU64::new(0),
            tolerance: AtomicU64::new(0),
            far: AtomicU64::new(0),
            generation: AtomicU32::new(0),
            link: AtomicU32::new(0),
            home: AtomicU32::new(0),
            skip: AtomicU32::new(0),
            value: Slot::new(),
        }
    }

    // --- the word ---

    /// The word, with everything that whoever wrote it did before.
    #[inline]
    pub(super) fn word(&self) -> Word {
        // ORDERING: Acquire pairs with every Release that writes a word: base, tolerance,
        // generation and value are those of the timer whose word this is, or of a later one.
        Word::from_bits(self.word.load(Ordering::Acquire))
    }

    /// The word, without anything else: only ever wrong.
    #[cfg(loom)]
    pub(super) fn word_relaxed(&self) -> Word {
        Word::from_bits(self.word.load(Ordering::Relaxed))
    }

    /// Makes a transition, or says what the word has become. See the table in `word`.
    #[inline]
    pub(super) fn transition(&self, from: Word, to: Word) -> Result<(), Word> {
        self.exchange(from, to, Ordering::AcqRel, Ordering::Acquire)
    }

    /// As [`transition`](Self::transition), in an ordering that a model wants to see fail.
    #[inline]
    pub(super) fn exchange(
        &self,
        from: Word,
        to: Word,
        success: Ordering,
        failure: Ordering,
    ) -> Result<(), Word> {
        // ORDERING: AcqRel and Acquire, see the table in `word`: Release hands on what was
        // written to the entry, Acquire takes it over.
        self.word
            .compare_exchange(from.bits(), to.bits(), success, failure)
            .map_or_else(|now| Err(Word::from_bits(now)), |_| Ok(()))
    }

    /// Sets the word of an entry that nobody else can change: empty, popped and not filed.
    #[inline]
    pub(super) fn publish(&self, word: Word, order: Ordering) {
        // ORDERING: Release pairs with the Acquire in `word` and `transition`: whoever sees the
        // timer sees its value, generation, base and tolerance.
        self.word.store(word.bits(), order);
    }

    /// Replaces the word whatever it is: only ever wrong.
    #[cfg(loom)]
    pub(super) fn overwrite(&self, word: Word) -> Word {
        Word::from_bits(self.word.swap(word.bits(), Ordering::AcqRel))
    }

    // --- what belongs to the armer ---

    /// Which timer has the entry, or had it last.
    #[inline]
    pub(super) fn generation(&self) -> u32 {
        // ORDERING: Relaxed. Judged only together with a word that was loaded before and whose
        // exchange succeeds later; the generation does not change while a timer has the entry.
        self.generation.load(Ordering::Relaxed)
    }

    /// The generation of the next timer. Entries whose generations have run out are not free.
    #[inline]
    pub(super) fn next_generation(&self) -> NonZeroU32 {
        NonZeroU32::new(self.generation().wrapping_add(1)).unwrap_or(NonZeroU32::MAX)
    }

    #[inline]
    pub(super) fn set_generation(&self, generation: NonZeroU32) {
        // ORDERING: Release pairs with the fence in `cancel_key`.
        self.generation.store(
            generation.get(),
            ordering!(Release unless GenerationRelaxed),
        );
    }

    /// Whether the entry has had as many timers as there are generations.
    #[inline]
    pub(super) fn is_used_up(&self) -> bool {
        self.generation() == u32::MAX
    }

    #[inline]
    pub(super) fn tolerance(&self) -> u64 {
        // ORDERING: Relaxed. As `generation`.
        self.tolerance.load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn set_tolerance(&self, tolerance: u64) {
        // ORDERING: Relaxed. Published by the word.
        self.tolerance.store(tolerance, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn home(&self) -> u32 {
        // ORDERING: Relaxed. Read by the driver, who got the entry through its word.
        self.home.load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn set_home(&self, home: u32) {
        // ORDERING: Relaxed. Published by the word.
        self.home.store(home, Ordering::Relaxed);
    }

    // --- deadlines ---

    /// Lets near deadlines count so that `deadline` is in the middle of what they reach.
    #[inline]
    pub(super) fn set_base_around(&self, deadline: u64) {
        // ORDERING: Release pairs with the Acquire in `deadline`: whoever counts from the new base
        // does not find the word that counted from the old one.
        self.base.store(
            deadline.saturating_sub(REACH / 2),
            ordering!(Release unless BaseRelaxed),
        );
    }

    /// How to write `deadline` down as near, if the base allows it.
    #[inline]
    pub(super) fn near(&self, deadline: u64) -> Option<Place> {
        // Not around the end of time: offsets are compared instead of deadlines.
        // ORDERING: Acquire, as in `deadline`.
        let offset = deadline.checked_sub(self.base.load(Ordering::Acquire))?;
        (offset < REACH).then_some(Place::Near(offset))
    }

    /// Keeps a deadline of another timer. The caller has popped this entry for that.
    #[inline]
    pub(super) fn keep_far(&self, deadline: u64) {
        // ORDERING: Release pairs with the Acquire in `deadline`: whoever reads this finds that
        // the timer which referred to this entry before does so no longer.
        self.far
            .store(deadline, ordering!(Release unless FarRelaxed));
    }

    /// The deadline that `word` wrote down, if it is still the word: else what that has become.
    #[inline]
    pub(super) fn deadline(&self, word: Word, arena: &Arena<T>) -> Result<u64, Word> {
        // ORDERING: Acquire on both pairs with `set_base_around` and `keep_far`: a number that
        // belongs to a later word comes with that word, and the comparison shows it.
        let deadline = match word.place() {
            Place::Near(offset) => self.base.load(Ordering::Acquire).wrapping_add(offset),
            Place::Far(index) => arena.entry(index).far.load(Ordering::Acquire),
        };
        if mutant!(FarUnchecked) {
            return Ok(deadline);
        }
        // ORDERING: Relaxed. Ordered after the load above by its Acquire.
        let now = Word::from_bits(self.word.load(Ordering::Relaxed));
        if now == word {
            Ok(deadline)
        } else {
            Err(self.word())
        }
    }

    /// The tick at which a timer with this deadline is due, and the deadline.
    #[inline]
    pub(super) fn due(&self, deadline: u64) -> u64 {
        match self.tolerance() {
            0 => deadline,
            tolerance => Tick::new(deadline).coalesce(tolerance.into()).get(),
        }
    }
}
