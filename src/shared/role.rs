//! The driver's role: held by one thread at a time, and what only its holder may touch.

use core::ops::{Deref, DerefMut};
#[cfg(not(loom))]
use core::ptr;

use super::mutant::{mutant, ordering};
use crate::sync::{AtomicBool, Ordering, UnsafeCell};

/// What belongs to whoever has the role.
pub(super) struct Role<P> {
    taken: AtomicBool,
    private: UnsafeCell<P>,
}

/// The role, until this is dropped.
pub(super) struct Taken<'a, P> {
    role: &'a Role<P>,
    /// What the cell holds; nobody else has one.
    #[cfg(not(loom))]
    private: ptr::NonNull<P>,
    #[cfg(loom)]
    private: Option<loom::cell::MutPtr<P>>,
}

// SAFETY: the role lends what it holds to one thread at a time, as a mutex does.
#[expect(unsafe_code, reason = "the role excludes")]
unsafe impl<P: Send> Sync for Role<P> {}

// === impl Role ===

impl<P> Role<P> {
    pub(super) fn new(private: P) -> Self {
        Self {
            taken: AtomicBool::new(false),
            private: UnsafeCell::new(private),
        }
    }

    /// Takes the role, unless somebody has it. Never waits.
    #[inline]
    pub(super) fn take(&self) -> Option<Taken<'_, P>> {
        // ORDERING: Acquire pairs with the Release in `drop`: what the last holder did is seen.
        let taken = self
            .taken
            .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);
        if taken.is_err() && !mutant!(RoleUnasked) {
            return None;
        }
        Some(Taken {
            role: self,
            private: self.lend(),
        })
    }

    #[cfg(not(loom))]
    #[inline]
    #[expect(
        unsafe_code,
        reason = "not a reference: the role ends before the guard does"
    )]
    fn lend(&self) -> ptr::NonNull<P> {
        self.private.with_mut(|private| {
            // SAFETY: a cell is somewhere.
            unsafe { ptr::NonNull::new_unchecked(private) }
        })
    }

    #[cfg(loom)]
    fn lend(&self) -> Option<loom::cell::MutPtr<P>> {
        Some(self.private.get_mut())
    }
}

// === impl Taken ===

#[cfg(loom)]
impl<P> Taken<'_, P> {
    fn tracked(&self) -> &loom::cell::MutPtr<P> {
        match &self.private {
            Some(private) => private,
            None => unreachable!("the role is given up in `drop` only"),
        }
    }
}

impl<P> Deref for Taken<'_, P> {
    type Target = P;

    #[cfg(not(loom))]
    #[inline]
    #[expect(unsafe_code, reason = "the role excludes")]
    fn deref(&self) -> &P {
        // SAFETY: only the thread that changed `taken` from false to true has a guard, until that
        // is dropped.
        unsafe { self.private.as_ref() }
    }

    #[cfg(loom)]
    #[expect(unsafe_code, reason = "loom tracks the access")]
    fn deref(&self) -> &P {
        self.tracked().with(|private| {
            // SAFETY: nobody else has the role; loom panics if it is not so.
            unsafe { &*private }
        })
    }
}

impl<P> DerefMut for Taken<'_, P> {
    #[cfg(not(loom))]
    #[inline]
    #[expect(unsafe_code, reason = "the role excludes")]
    fn deref_mut(&mut self) -> &mut P {
        // SAFETY: as in `deref`, and the guard is borrowed mutably.
        unsafe { self.private.as_mut() }
    }

    #[cfg(loom)]
    #[expect(unsafe_code, reason = "loom tracks the access")]
    fn deref_mut(&mut self) -> &mut P {
        self.tracked().with(|private| {
            // SAFETY: nobody else has the role; loom panics if it is not so.
            unsafe { &mut *private }
        })
    }
}

impl<P> Drop for Taken<'_, P> {
    #[inline]
    fn drop(&mut self) {
        #[cfg(loom)]
        drop(self.private.take());
        // ORDERING: Release pairs with the Acquire in `take`.
        self.role
            .taken
            .store(false, ordering!(Release unless RoleRelaxed));
    }
}
