//! Somebody's code that panics: hooks and wakers, while the driver runs them. Then no step waits for an answer, which a panic
//! would take away with it.

use std::any::Any;
use std::cell::Cell;
use std::panic::resume_unwind;

thread_local! {
    /// One of so many panics; 0 if none does.
    static LIT: Cell<u64> = const { Cell::new(0) };
    static BLOWN: Cell<usize> = const { Cell::new(0) };
}

/// Meanwhile one of so many panics, or none.
pub(crate) fn lit<R>(one_of: u64, run: impl FnOnce() -> R) -> R {
    let was = LIT.replace(one_of);
    let done = run();
    LIT.set(was);
    done
}

/// Panics, if it is the turn of this number.
pub(crate) fn burn(number: u64) {
    let one_of = LIT.get();
    if number.checked_rem(one_of) == Some(0) {
        blow();
    }
}

/// Panics, and says nothing on the terminal.
pub(crate) fn blow() {
    BLOWN.set(BLOWN.get() + 1);
    let fuse: Box<dyn Any + Send> = Box::new("a fuse");
    resume_unwind(fuse);
}

/// How many have, in this thread.
pub(crate) fn blown() -> usize {
    BLOWN.get()
}
