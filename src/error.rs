//! One small error per operation that can be refused.

use core::fmt;

/// The key names no armed timer of this wheel: it has fired, is firing, was cancelled, or
/// belongs to another wheel. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StaleKey;

/// The wheel holds as many timers as it may; gives the value back.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct WheelFull<T> {
    /// What was to be armed.
    pub value: T,
}

// === impl StaleKey ===

impl fmt::Display for StaleKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no armed timer has this key")
    }
}

impl core::error::Error for StaleKey {}

// === impl WheelFull ===

impl<T> fmt::Debug for WheelFull<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WheelFull").finish_non_exhaustive()
    }
}

impl<T> fmt::Display for WheelFull<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the wheel holds as many timers as it may")
    }
}

impl<T> core::error::Error for WheelFull<T> {}
