//! In whose code this thread is: so that nobody waits for himself.

use alloc::vec::Vec;
use core::cell::RefCell;
use core::marker::PhantomData;
use std::thread_local;

use super::Shared;
use crate::TimerKey;

/// Somebody's code is running that belongs to this runtime, and to this timer if to any.
type Frame = (usize, Option<TimerKey>);

thread_local! {
    /// What this thread is inside of, the innermost last. The driver's own callbacks are known to the
    /// wheel.
    static FRAMES: RefCell<Vec<Frame>> = const { RefCell::new(Vec::new()) };
}

/// This thread is inside, until this is dropped.
#[must_use]
pub(super) struct Inside(PhantomData<*const ()>);

/// The address by which a runtime is known. It lives while a thread is inside.
fn address(shared: &Shared) -> usize {
    core::ptr::from_ref(shared).addr()
}

/// Enters somebody's code.
pub(super) fn enter(shared: &Shared, key: Option<TimerKey>) -> Inside {
    // A thread that is going away has no frames any more, and may then wait for itself.
    let _ = FRAMES.try_with(|frames| frames.borrow_mut().push((address(shared), key)));
    Inside(PhantomData)
}

fn any(is: impl Fn(&Frame) -> bool) -> bool {
    FRAMES
        .try_with(|frames| frames.borrow().iter().any(is))
        .unwrap_or(false)
}

/// Whether this thread runs code that a shutdown of the runtime waits for.
pub(super) fn is_inside(shared: &Shared) -> bool {
    any(|(runtime, _)| *runtime == address(shared))
}

/// Whether this thread runs the callback of this timer, for an executor.
pub(super) fn runs(key: TimerKey) -> bool {
    any(|(_, timer)| *timer == Some(key))
}

impl Drop for Inside {
    fn drop(&mut self) {
        let _ = FRAMES.try_with(|frames| frames.borrow_mut().pop());
    }
}
