//! The system's allocator, counting the bytes in use.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static LIVE: AtomicUsize = AtomicUsize::new(0);

pub(crate) struct Counting;

/// Bytes asked for and not yet given back.
///
/// Exact as long as one thread allocates, as is the case while a peer is measured.
pub(crate) fn live() -> usize {
    LIVE.load(Relaxed)
}

/// Not a read-modify-write, which would charge the peers that allocate for being watched.
fn count(given_back: usize, taken: usize) {
    let live = LIVE.load(Relaxed);
    LIVE.store(live.wrapping_sub(given_back).wrapping_add(taken), Relaxed);
}

// SAFETY: every call passes on to `System`, with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(0, layout.size());
        // SAFETY: the caller's promises are those `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(0, layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(layout.size(), new_size);
        // SAFETY: as above.
        unsafe { System.realloc(ptr, layout, new_size) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        count(layout.size(), 0);
        // SAFETY: as above.
        unsafe { System.dealloc(ptr, layout) }
    }
}
