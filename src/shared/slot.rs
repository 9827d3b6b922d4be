//! The cell that holds a timer's value.

use core::mem::MaybeUninit;

use crate::sync::UnsafeCell;

/// A place for a value. Whether there is one, and who may touch it, is for the entry's word to
/// say.
#[repr(transparent)]
pub(super) struct Slot<T>(UnsafeCell<MaybeUninit<T>>);

// SAFETY: a slot gives its value from one thread to another, as sending does. It never lends it
// to two: the word gives the right to `put` and to `take` to one thread at a time.
#[expect(unsafe_code, reason = "values go from thread to thread")]
unsafe impl<T: Send> Sync for Slot<T> {}

// === impl Slot ===

impl<T> Slot<T> {
    #[cfg(loom)]
    pub(super) fn new() -> Self {
        Self(UnsafeCell::new(MaybeUninit::uninit()))
    }

    /// Puts a value in. Does not drop what was there.
    ///
    /// # Safety
    ///
    /// Nobody else touches the slot meanwhile: the entry is popped or running, and empty.
    #[inline]
    #[expect(unsafe_code, reason = "the word says who may")]
    pub(super) unsafe fn put(&self, value: T) {
        self.0.with_mut(|place| {
            // SAFETY: the cell is live and, says the caller, not touched by anybody else.
            unsafe { place.write(MaybeUninit::new(value)) }
        });
    }

    /// Takes the value out.
    ///
    /// # Safety
    ///
    /// There is one, and nobody else touches the slot meanwhile: a transition out of a state
    /// in which the entry owns its value has given it to the caller.
    #[inline]
    #[expect(unsafe_code, reason = "the word says who may")]
    pub(super) unsafe fn take(&self) -> T {
        self.0.with_mut(|place| {
            // SAFETY: the cell is live and, says the caller, not touched by anybody else.
            let value = unsafe { place.read() };
            // SAFETY: there is a value, says the caller, and it is not taken twice.
            unsafe { value.assume_init() }
        })
    }
}
