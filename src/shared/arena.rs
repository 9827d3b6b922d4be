//! Where the entries live: in groups that never move and are freed with the wheel.
//!
//! ```text
//! table   a pointer to each group, as far as it is made
//! group   4096 entries, marks for each, marks for each 64 of them (a block)
//! entry   one timer, at least a cache line of its own
//! ```
//!
//! Indices count through all of it. They are handed out in order and never taken back; an
//! entry that is free again goes to a free list.

use core::ptr;

use alloc::boxed::Box;

use super::entry::Entry;
use super::mutant::{mutant, ordering};
use super::padded::{Line, Padded};
use crate::prefetch::prefetch;
use crate::sync::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// Entries in a block, and blocks in a group: the bits of a word. Few in the models.
pub(super) const BLOCK: u32 = if cfg!(loom) { 2 } else { 64 };
const GROUP: u32 = BLOCK * BLOCK;

/// The most entries there can be. The driver's wheel spends one bit on telling slots from
/// entries.
pub(super) const MAX_ENTRIES: u32 = if cfg!(loom) { 16 } else { 1 << 30 };

/// Entries, and their marks.
#[repr(C, align(64))]
pub(super) struct Group<T> {
    /// One bit per block.
    pub(super) marks: Line<AtomicU64>,
    /// One bit per entry.
    blocks: [Line<AtomicU64>; BLOCK as usize],
    entries: [Entry<T>; GROUP as usize],
    /// How far the group begins behind the memory that was allocated for it.
    #[cfg(not(loom))]
    shift: usize,
}

/// All entries.
pub(super) struct Arena<T> {
    /// Null where there is no group yet.
    table: Box<[AtomicPtr<Group<T>>]>,
    /// Entries that were ever handed out. Those below it have their group.
    used: Padded<AtomicU32>,
    owns: core::marker::PhantomData<Group<T>>,
}

// === impl Arena ===

impl<T> Arena<T> {
    pub(super) fn new() -> Self {
        Self {
            table: memory::table((MAX_ENTRIES / GROUP) as usize),
            used: Padded(AtomicU32::new(0)),
            owns: core::marker::PhantomData,
        }
    }

    /// Entries that were ever handed out.
    #[inline]
    pub(super) fn used(&self) -> u32 {
        // ORDERING: Acquire pairs with the Release in `take`, so that their groups are there.
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
        // group with it, or `take` reads what this wrote, and that the root was swept.
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
            self.ensure(group_of(used));
            // ORDERING: Release publishes the group to `used` and `used_now`; Acquire pairs
            // with the Release of `used_now`, see there.
            let taken = self.used.0.compare_exchange(
                used,
                used + count,
                ordering!(AcqRel unless TakeRelaxed),
                ordering!(Acquire unless TakeRelaxed),
            );
            match taken {
                Ok(_) => return Some((used, count)),
                Err(now) => used = now,
            }
        }
    }

    /// The group of this number, if it is there. Any number will do.
    #[inline]
    pub(super) fn group(&self, number: u32) -> Option<&Group<T>> {
        // ORDERING: Acquire pairs with the Release in `ensure`: the group is made.
        let group = self.table.get(number as usize)?.load(Ordering::Acquire);
        // SAFETY: a group that is not null was made by `ensure`, is never changed but through
        // its atomics and cells, and is freed by `drop` alone, which has no other borrower.
        #[expect(unsafe_code, reason = "groups never move while the wheel lives")]
        unsafe {
            group.as_ref()
        }
    }

    /// The entry `index`, if its group is there. Any number will do.
    #[inline]
    pub(super) fn get(&self, index: u32) -> Option<&Entry<T>> {
        Some(self.group(group_of(index))?.entry(index))
    }

    /// The entry `index`, which was handed out.
    #[inline]
    #[track_caller]
    pub(super) fn entry(&self, index: u32) -> &Entry<T> {
        match self.get(index) {
            Some(entry) => entry,
            None => missing(index),
        }
    }

    /// Asks for the line of an entry. Any number will do.
    #[inline]
    pub(super) fn prefetch(&self, index: u32) {
        if let Some(entry) = self.get(index) {
            prefetch(entry);
        }
    }

    /// Makes the group of this number, unless it is there.
    fn ensure(&self, number: u32) {
        let place = &self.table[number as usize];
        // ORDERING: Acquire, as in `group`.
        if !place.load(Ordering::Acquire).is_null() {
            return;
        }
        let made = memory::group();
        // ORDERING: Release publishes the entries to `group`. Acquire on failure: somebody
        // else's group will be used.
        let put = place.compare_exchange(
            ptr::null_mut(),
            made,
            ordering!(Release unless GroupRelaxed),
            Ordering::Acquire,
        );
        if put.is_err() {
            // SAFETY: made above, and nobody has seen it.
            #[expect(unsafe_code, reason = "two threads made the same group")]
            unsafe {
                memory::free(made);
            }
        }
    }
}

impl<T> Drop for Arena<T> {
    fn drop(&mut self) {
        for number in 0..groups(self.used()) {
            // ORDERING: Relaxed. `&mut self`: whoever made it is done with it.
            let group = self.table[number as usize].load(Ordering::Relaxed);
            // SAFETY: made by `ensure` before entries of it were handed out, and put here once.
            #[expect(unsafe_code, reason = "the groups are the arena's own")]
            unsafe {
                memory::free(group);
            }
        }
    }
}

#[cold]
#[track_caller]
fn missing(index: u32) -> ! {
    unreachable!("entry {index} was never handed out")
}

// === impl Group ===

impl<T> Group<T> {
    /// The entry `index`, which is in this group.
    #[inline]
    pub(super) fn entry(&self, index: u32) -> &Entry<T> {
        &self.entries[(index % GROUP) as usize]
    }

    /// The marks of the block that the entry `index` of this group is in.
    #[inline]
    pub(super) fn block_marks(&self, index: u32) -> &AtomicU64 {
        &self.blocks[(index / BLOCK % BLOCK) as usize].0
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

/// Memory that the system need not provide before it is used: neither a table of all groups
/// there can be, nor a group of which little is used, costs more than its address.
#[cfg(not(loom))]
mod memory {
    use alloc::alloc::{alloc_zeroed, dealloc, handle_alloc_error};
    use alloc::boxed::Box;
    use core::alloc::Layout;
    use core::mem::{align_of, size_of};
    use core::ptr;

    use super::Group;
    use crate::sync::AtomicPtr;

    /// Allocators hand out fresh pages for zeroed memory up to this alignment. For more they
    /// take what they have and write to all of it.
    const ALIGN: usize = 16;

    pub(super) fn table<T>(len: usize) -> Box<[AtomicPtr<Group<T>>]> {
        let layout = layout::<AtomicPtr<Group<T>>>(len, 0);
        // SAFETY: the table is not of size zero.
        #[expect(unsafe_code, reason = "memory that is zero and not yet touched")]
        let first = unsafe { alloc_zeroed(layout) }.cast::<AtomicPtr<Group<T>>>();
        if first.is_null() {
            handle_alloc_error(layout);
        }
        // SAFETY: the layout is that of the slice, and zero is a null pointer.
        #[expect(unsafe_code, reason = "memory that is zero and not yet touched")]
        unsafe {
            Box::from_raw(ptr::slice_from_raw_parts_mut(first, len))
        }
    }

    pub(super) fn group<T>() -> *mut Group<T> {
        let layout = group_layout::<T>();
        // SAFETY: a group is not of size zero.
        #[expect(unsafe_code, reason = "memory that is zero and not yet touched")]
        let begin = unsafe { alloc_zeroed(layout) };
        if begin.is_null() {
            handle_alloc_error(layout);
        }
        let shift = begin.align_offset(align_of::<Group<T>>());
        // SAFETY: the layout has room for a group behind any shift to its alignment.
        #[expect(unsafe_code, reason = "aligned by hand, see `ALIGN`")]
        let group = unsafe { begin.add(shift) }.cast::<Group<T>>();
        // SAFETY: it is aligned and within what was allocated. All bytes zero are a valid group:
        // atomics of integers, cells that may be uninitialised, and a number.
        #[expect(unsafe_code, reason = "aligned by hand, see `ALIGN`")]
        let made = unsafe { &mut *group };
        made.shift = shift;
        group
    }

    /// Frees a group, and drops no value.
    ///
    /// # Safety
    ///
    /// [`group`] made it, and nobody uses it any more.
    #[expect(unsafe_code, reason = "frees what `group` allocated")]
    pub(super) unsafe fn free<T>(group: *mut Group<T>) {
        // SAFETY: the group is live and not shared, says the caller.
        let shift = unsafe { (*group).shift };
        // SAFETY: `group` went so far forward from the beginning of the allocation.
        let begin = unsafe { group.cast::<u8>().sub(shift) };
        // SAFETY: allocated with this layout.
        unsafe { dealloc(begin, group_layout::<T>()) }
    }

    fn group_layout<T>() -> Layout {
        layout::<Group<T>>(1, align_of::<Group<T>>() - ALIGN)
    }

    /// Room for so many, and some spare bytes.
    fn layout<E>(len: usize, spare: usize) -> Layout {
        let size = size_of::<E>()
            .checked_mul(len)
            .and_then(|size| size.checked_add(spare));
        match size.map(|size| Layout::from_size_align(size, ALIGN)) {
            Some(Ok(layout)) => layout,
            Some(Err(_)) | None => panic!("more than an address space"),
        }
    }
}

#[cfg(loom)]
mod memory {
    use alloc::boxed::Box;

    use super::{Entry, Group, Line};
    use crate::sync::{AtomicPtr, AtomicU64};

    pub(super) fn table<T>(len: usize) -> Box<[AtomicPtr<Group<T>>]> {
        (0..len)
            .map(|_| AtomicPtr::new(core::ptr::null_mut()))
            .collect()
    }

    pub(super) fn group<T>() -> *mut Group<T> {
        Box::into_raw(Box::new(Group {
            marks: Line(AtomicU64::new(0)),
            blocks: core::array::from_fn(|_| Line(AtomicU64::new(0))),
            entries: core::array::from_fn(|_| Entry::new()),
        }))
    }

    #[expect(unsafe_code, reason = "frees what `group` allocated")]
    pub(super) unsafe fn free<T>(group: *mut Group<T>) {
        // SAFETY: `group` made it from a box, and nobody uses it any more.
        drop(unsafe { Box::from_raw(group) });
    }
}
