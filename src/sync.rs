//! The one door to atomics: everything else in the crate takes them from here.

#[cfg(target_has_atomic = "64")]
pub(crate) use core::sync::atomic::AtomicU64;
pub(crate) use core::sync::atomic::{AtomicUsize, Ordering};
