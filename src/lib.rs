//! tickwheel
#![no_std]
extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod clock;
mod error;
mod geometry;
mod key;
mod prefetch;
mod resolution;
mod sync;
mod tick;
mod timestamp;
mod wheel;

#[cfg(feature = "boot-clock")]
pub use clock::BootClock;
pub use clock::Clock;
#[cfg(target_has_atomic = "64")]
pub use clock::ManualClock;
#[cfg(feature = "std")]
pub use clock::{MonotonicClock, WallAnchor};
pub use error::{StaleKey, WheelFull};
pub use key::TimerKey;
pub use resolution::{Resolution, ResolutionError};
pub use tick::{Tick, Ticks};
pub use timestamp::Timestamp;
pub use wheel::{Drain, Expired, Iter, Progress, Turn, Wheel};
