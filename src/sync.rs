//! The one door to atomics, cells and locks: everything else in the crate takes them from here.
//!
//! They are those of `core` and `std`. Under `cfg(loom)` they are loom's, and a model checker
//! tries the interleavings of whatever is built on them. What it must not see, because it
//! lives outside the models, is in `unmodelled`.
//!
//! There is no `compare_exchange_weak`: loom never makes it fail spuriously, so that a loop
//! whose body has a side effect would pass unchecked.

pub(crate) use core::sync::atomic::Ordering;

#[cfg(all(not(loom), feature = "std", target_has_atomic = "64"))]
pub(crate) use self::actual::*;
#[cfg(all(loom, feature = "std"))]
pub(crate) use self::modelled::*;

/// Atomics of `core` in every build: for statics, which loom's cannot be, and for clocks,
/// which only pass a number on.
pub(crate) mod unmodelled {
    #[cfg(target_has_atomic = "64")]
    pub(crate) use core::sync::atomic::AtomicU64;
    pub(crate) use core::sync::atomic::AtomicUsize;
}

/// What the machine has.
#[cfg(all(not(loom), feature = "std", target_has_atomic = "64"))]
mod actual {
    pub(crate) use core::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence,
    };
    pub(crate) use std::sync::{Condvar, Mutex};

    /// `core`'s cell with the access of loom's, so that a model sees where each access ends.
    #[derive(Debug)]
    pub(crate) struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        #[inline]
        pub(crate) const fn new(value: T) -> Self {
            Self(core::cell::UnsafeCell::new(value))
        }

        /// Gives `f` the place to write to.
        #[inline]
        pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }
    }
}

/// What loom models.
///
/// Loom reorders only what it holds to depend on each other, and two loads do not. But it
/// remembers just the last access of an atomic, so that a load hides an earlier one of
/// another thread, and a write that follows in the same thread is never tried before it.
/// That is every loop around a `compare_exchange`. Here each operation first stores to a
/// shadow that nobody reads. Stores depend on each other, and all orders are tried.
///
/// The operation itself keeps its ordering, and loads still yield stale values. The shadow
/// is not a `swap`, since that also reads: fences would take it for synchronisation.
#[cfg(loom)]
#[allow(missing_docs, reason = "the methods are those of `core`")]
pub mod modelled {
    use core::fmt;

    use super::Ordering;
    use loom::sync::atomic as stock;

    pub use loom::cell::UnsafeCell;
    #[cfg(feature = "std")]
    pub use loom::sync::{Condvar, Mutex};
    pub use stock::fence;

    macro_rules! atomic {
        ($name:ident $(<$of:ident>)?, $value:ty, [$($fetch:ident),*]) => {
            /// Loom's atomic of the same name, with all its accesses dependent.
            pub struct $name $(<$of>)? {
                real: stock::$name $(<$of>)?,
                shadow: stock::AtomicBool,
            }

            impl $(<$of>)? $name $(<$of>)? {
                #[track_caller]
                pub fn new(value: $value) -> Self {
                    Self {
                        real: stock::$name::new(value),
                        shadow: stock::AtomicBool::new(false),
                    }
                }

                /// The atomic, once the scheduler knows that this thread goes for it.
                #[track_caller]
                fn announced(&self) -> &stock::$name $(<$of>)? {
                    // ORDERING: nothing is read from the shadow, so nothing is ordered by it.
                    self.shadow.store(true, Ordering::Relaxed);
                    &self.real
                }

                #[track_caller]
                pub fn load(&self, order: Ordering) -> $value {
                    self.announced().load(order)
                }

                #[track_caller]
                pub fn store(&self, value: $value, order: Ordering) {
                    self.announced().store(value, order);
                }

                #[track_caller]
                pub fn swap(&self, value: $value, order: Ordering) -> $value {
                    self.announced().swap(value, order)
                }

                #[track_caller]
                pub fn compare_exchange(
                    &self,
                    current: $value,
                    new: $value,
                    success: Ordering,
                    failure: Ordering,
                ) -> Result<$value, $value> {
                    self.announced().compare_exchange(current, new, success, failure)
                }

                $(
                    #[track_caller]
                    pub fn $fetch(&self, value: $value, order: Ordering) -> $value {
                        self.announced().$fetch(value, order)
                    }
                )*
            }

            impl $(<$of>)? fmt::Debug for $name $(<$of>)? {
                /// Not an access: a model does not change by being printed.
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    self.real.fmt(f)
                }
            }
        };
    }

    atomic!(AtomicBool, bool, []);
    atomic!(AtomicPtr<T>, *mut T, []);
    atomic!(AtomicU32, u32, [fetch_add, fetch_or]);
    atomic!(AtomicU64, u64, [fetch_add, fetch_or, fetch_and]);
    atomic!(AtomicUsize, usize, [fetch_add]);
}
