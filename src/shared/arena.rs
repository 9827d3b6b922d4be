//! Where the entries live: in segments that never move and are freed with the wheel.
//!
//! ```text
//! entry   one timer, at least a cache line of its own
//! block   64 entries, and a word of marks, one bit per entry
//! group   64 blocks, and a word of marks, one bit per block
//! segment 1, 2, 4, 8 .. groups
//! ```
//!
//! Indices count through all of it. They are handed out in order and never taken back; an
//! entry that is free again goes to a free list.

use alloc::boxed::Box;
use core::marker::PhantomData;
use core::ptr;

use super::entry::Entry;
use super::mutant::mutant;
use super::padded::Padded;
use crate::prefetch::prefetch;
use crate::sync::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// Entries in a block, and blocks in a group: the bits of a word. Few in the models.
pub(super) const BLOCK: u32 = if cfg!(loom) { 2 } else { 64 };
const GROUP: u32 = BLOCK * BLOCK;
/// Segments double, so that so many hold every index.
const SEGMENTS: usize = (MAX_ENTRIES / GROUP).ilog2() as usize + 1;

/// The most entries there can be. The driver's wheel spends one bit on telling slots from
/// entries.
pub(super) const MAX_ENTRIES: u32 = if cfg!(loom) { 64 } else { 1 << 30 };

/// Entries, and a mark for each.
#[repr(C)]
pub(super) struct Block<T> {
    pub(super) marks: Padded<AtomicU64>,
    entries: [Entry<T>; BLOCK as usize],
}

/// Blocks, and a mark for each.
#[repr(C)]
pub(super) struct Group<T> {
    pub(super) marks: Padded<AtomicU64>,
    blocks: [Block<T>; BLOCK as usize],
}

/// All entries.
pub(super) struct Arena<T> {
    segments: [AtomicPtr<Group<T>>; SEGMENTS],
    /// Entries that were ever handed out. Those below it have their segment.
    used: Padded<AtomicU32>,
    owns: PhantomData<Box<[Group<T>]>>,
}

// === impl Arena ===

impl<T> Arena<T> {
    pub(super) fn new() -> Self {
        Self {
            segments: core::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())),
            used: Padded(AtomicU32::new(0)),
            owns: PhantomData,
        }
    }

    /// Entries that were ever handed out.
    #[inline]
    pub(super) fn used(&self) -> u32 {
        // ORDERING: Acquire pairs with the Release in `take`, so that their segments are there.
        self.used.0.load(Ordering::Acquire)
    }

    /// As [`used`](Self::used), of the latest value there is.
    ///
    /// Whoever takes entries after this call knows what its caller did before.
    #[inline]
    pub(super) fn used_now(&self) -> u32 {
        if mutant!(GroupsByLoad) {
            return self.used.0.load(Ordering::Relaxed);
        }
        // ORDERING: AcqRel, a read-modify-write: either it reads what `take` wrote, and its
        // segment with it, or `take` reads what this wrote, and that the root was swept.
        self.used.0.fetch_add(0, Ordering::AcqRel)
    }

    /// Hands out up to `count` entries that were never used, if there are any below `limit`:
    /// the first of them, and how many.
    #[cold]
    pub(super) fn take(&self, count: u32, limit: u32) -> Option<(u32, u32)> {
        let mut used = self.used();
        loop {
            // Not beyond the block, which is the caller's alone if all take whole blocks.
            let count = count
                .min(BLOCK - used % BLOCK)
                .min(limit.saturating_sub(used));
            if count == 0 {
                return None;
            }
            self.ensure(used);
            // ORDERING: Release publishes the segment to `used` and `used_now`; Acquire pairs
            // with the Release of `used_now`, see there.
            let taken = self.used.0.compare_exchange(
                used,
                used + count,
                Ordering::AcqRel,
                Ordering::Acquire,
            );
            match taken {
                Ok(_) => return Some((used, count)),
                Err(now) => used = now,
            }
        }
    }

    /// The group of this number, if it is there.
    #[inline]
    pub(super) fn group(&self, number: u32) -> Option<&Group<T>> {
        let (segment, at) = locate(number);
        // ORDERING: Acquire pairs with the Release in `ensure`: the group is made.
        let first = self.segments[segment].load(Ordering::Acquire);
        if first.is_null() {
            return None;
        }
        // SAFETY: `at` is less than the groups of the segment, see `locate`.
        #[expect(unsafe_code, reason = "segments never move while the wheel lives")]
        let group = unsafe { first.add(at) };
        // SAFETY: a segment that is not null was made by `ensure`, is never changed but through
        // its atomics and cells, and is freed by `drop` alone, which has no other borrower.
        #[expect(unsafe_code, reason = "segments never move while the wheel lives")]
        Some(unsafe { &*group })
    }

    /// The block that holds the entry `index`, and its group.
    #[inline]
    pub(super) fn block(&self, index: u32) -> Option<(&Group<T>, &Block<T>)> {
        let group = self.group(index / GROUP)?;
        Some((group, &group.blocks[(index / BLOCK % BLOCK) as usize]))
    }

    /// The entry `index`, if its segment is there. Any number will do.
    #[inline]
    pub(super) fn get(&self, index: u32) -> Option<&Entry<T>> {
        let (_, block) = self.block(index)?;
        Some(&block.entries[(index % BLOCK) as usize])
    }

    /// The entry `index`, which was handed out.
    #[inline]
    #[track_caller]
    pub(super) fn entry(&self, index: u32) -> &Entry<T> {
        match self.get(index) {
            Some(entry) => entry,
            None => unreachable!("entry {index} was never handed out"),
        }
    }

    /// Asks for the line of an entry. Any number will do.
    #[inline]
    pub(super) fn prefetch(&self, index: u32) {
        if let Some(entry) = self.get(index) {
            prefetch(entry);
        }
    }

    /// Makes the segment that holds the entry `index`, unless it is there.
    fn ensure(&self, index: u32) {
        let (segment, _) = locate(index / GROUP);
        let place = &self.segments[segment];
        // ORDERING: Acquire, as in `group`.
        if !place.load(Ordering::Acquire).is_null() {
            return;
        }
        let made = Box::into_raw(make::<T>(1 << segment)).cast::<Group<T>>();
        // ORDERING: Release publishes the entries to `group`. Acquire on failure: somebody
        // else's segment will be used.
        let put =
            place.compare_exchange(ptr::null_mut(), made, Ordering::Release, Ordering::Acquire);
        if put.is_err() {
            // SAFETY: made above from a box of as many groups, and nobody has seen it.
            #[expect(unsafe_code, reason = "two threads made the same segment")]
            drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(made, 1 << segment)) });
        }
    }
}

impl<T> Drop for Arena<T> {
    fn drop(&mut self) {
        for (segment, place) in self.segments.iter().enumerate() {
            // ORDERING: Relaxed. `&mut self`: whoever made it is done with it.
            let first = place.load(Ordering::Relaxed);
            if !first.is_null() {
                let groups = ptr::slice_from_raw_parts_mut(first, 1 << segment);
                // SAFETY: made by `ensure` from a box of as many groups, and put there once.
                #[expect(unsafe_code, reason = "the segments are the arena's own")]
                drop(unsafe { Box::from_raw(groups) });
            }
        }
    }
}

impl<T> Group<T> {
    /// The block at `at`, below [`BLOCK`].
    #[inline]
    pub(super) fn block(&self, at: u32) -> &Block<T> {
        &self.blocks[at as usize]
    }
}

/// The mark of the block of `index` in its group, and that of `index` in its block.
#[inline]
pub(super) const fn mark_bits(index: u32) -> (u64, u64) {
    (1 << (index / BLOCK % BLOCK), 1 << (index % BLOCK))
}

/// The number of the group of `index`.
#[inline]
pub(super) const fn group_of(index: u32) -> u32 {
    index / GROUP
}

/// How many groups the first `used` entries fill or begin.
#[inline]
pub(super) const fn groups(used: u32) -> u32 {
    used.div_ceil(GROUP)
}

/// The first entry of the block `at` of the group `number`.
#[inline]
pub(super) const fn first_of(number: u32, at: u32) -> u32 {
    number * GROUP + at * BLOCK
}

/// Segment and place of a group.
#[inline]
const fn locate(number: u32) -> (usize, usize) {
    let segment = (number + 1).ilog2();
    // A segment holds 2^segment groups, and those before it hold one less in all.
    (
        segment as usize % SEGMENTS,
        (number + 1 - (1 << segment)) as usize,
    )
}

/// Groups whose pages the system need not provide before they are used.
#[cfg(not(loom))]
fn make<T>(count: usize) -> Box<[Group<T>]> {
    let layout = match core::alloc::Layout::array::<Group<T>>(count) {
        Ok(layout) => layout,
        Err(_) => panic!("a segment of {count} groups is larger than an address space"),
    };
    // SAFETY: a group is never of size zero: it holds words.
    #[expect(unsafe_code, reason = "memory that is zero and not yet touched")]
    let first = unsafe { alloc::alloc::alloc_zeroed(layout) }.cast::<Group<T>>();
    if first.is_null() {
        alloc::alloc::handle_alloc_error(layout);
    }
    let groups = ptr::slice_from_raw_parts_mut(first, count);
    // SAFETY: the layout is that of the slice. All bytes zero are a valid group: its fields are
    // integers, atomics of integers, and cells that may be uninitialised.
    #[expect(unsafe_code, reason = "memory that is zero and not yet touched")]
    unsafe {
        Box::from_raw(groups)
    }
}

#[cfg(loom)]
fn make<T>(count: usize) -> Box<[Group<T>]> {
    let block = || Block {
        marks: Padded(AtomicU64::new(0)),
        entries: core::array::from_fn(|_| Entry::new()),
    };
    (0..count)
        .map(|_| Group {
            marks: Padded(AtomicU64::new(0)),
            blocks: core::array::from_fn(|_| block()),
        })
        .collect()
}
