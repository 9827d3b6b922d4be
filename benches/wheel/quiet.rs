//! Whether the system left the thread alone while single calls were timed.

use crate::interrupted::interruptions;

/// How often to try again when the system took the processor away.
const TRIES: usize = 5;

/// Runs `work` until the system has not taken the processor away from this thread meanwhile, or
/// has done so too often. What came of it last.
///
/// The longest of many calls would otherwise be a matter of what else the machine does.
pub(crate) fn undisturbed<R>(mut work: impl FnMut() -> R) -> R {
    for _ in 1..TRIES {
        let before = interruptions();
        let done = work();
        if interruptions() == before {
            return done;
        }
    }
    work()
}
