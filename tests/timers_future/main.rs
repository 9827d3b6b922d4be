#![cfg(all(not(loom), feature = "std"))]
//! Futures on a runtime that is driven by hand, with a clock that is moved by hand.
//!
//! Properties:
//! * never early; ready at the first poll at which the clock has reached the time;
//! * a task that waits is woken at the tick of its time, wherever that was moved to, and no other task is;
//! * nothing is registered, no clock read and nothing counted for what need not wait;
//! * what is dropped leaves nothing behind;
//! * each state ends with the runtime, with an error unless its time has come;
//! * a poll allocates nothing;
//! * a waker may panic wherever it is used;
//! * it works on the executors that there are.

mod allocations;
mod executors;
mod expirations;
mod interval;
mod rig;
mod shutdown;
mod sleep;
#[cfg(feature = "stream")]
mod stream;
mod timeout;
mod wakers;
