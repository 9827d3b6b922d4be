//! Futures: what a task awaits, on any executor.
//!
//! | file | what lives there |
//! |---|---|
//! | `sleep` | a time to wait for: the one future that is registered with the wheel |
//! | `timeout` | a future that may take so long |
//! | `interval` | a time that comes again and again |
//! | `expirations`, `waiting` | values that one task owns, each with its time; waiting for them |
//! | `stream` | the last two as streams |
//! | `seat` | through what they hold the runtime |
//!
//! They use nothing but `core::task`: whoever polls them is woken by the driver of the runtime, through
//! the waker that lies in the wheel's entry. Time is that of the runtime's clock. They hold what the
//! handles share, but are no handles: a runtime whose last handle is dropped shuts down, and they
//! end with it.

mod expirations;
mod interval;
mod seat;
mod sleep;
#[cfg(feature = "stream")]
mod stream;
mod timeout;
mod waiting;

pub use expirations::Expirations;
pub use interval::Interval;
pub(super) use seat::Seats;
pub use sleep::Sleep;
pub use timeout::{Timeout, TimeoutError};
