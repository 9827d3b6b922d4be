//! How long to wait before what has failed is tried again.

use core::time::Duration;

/// Waits that grow: the first, then twice as long each time, up to the longest.
///
/// ```
/// use std::time::Duration;
/// use tickwheel::Backoff;
///
/// let ms = Duration::from_millis;
/// let backoff = Backoff::new(ms(100), ms(1_000)).attempts(6);
/// let waits: Vec<_> = (1..=6).map(|failures| backoff.wait(failures)).collect();
/// let expected = [100, 200, 400, 800, 1_000].map(|wait| Some(ms(wait)));
/// assert_eq!(waits[..5], expected);
/// assert_eq!(waits[5], None); // the sixth failure is the last
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    attempts: Option<u32>,
}

// === impl Backoff ===

impl Backoff {
    /// Waits of `first`, twice that, and so on, but of `longest` at most; without an end.
    #[must_use]
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self {
            first,
            longest,
            attempts: None,
        }
    }

    /// Gives up after so many attempts, at least one.
    #[must_use]
    pub const fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = Some(attempts);
        self
    }

    /// How long to wait after the given number of failures; `None` to give up.
    #[must_use]
    pub fn wait(&self, failures: u32) -> Option<Duration> {
        if self.attempts.is_some_and(|attempts| failures >= attempts) {
            return None;
        }
        // 64 doublings of a nanosecond are longer than 500 years.
        let doublings = failures.saturating_sub(1).min(64);
        let wait = self.first.as_nanos().saturating_mul(1 << doublings);
        if wait >= self.longest.as_nanos() {
            return Some(self.longest);
        }
        // Shorter than a duration, so it is one.
        let (secs, nanos) = (wait / 1_000_000_000, wait % 1_000_000_000);
        Some(Duration::new(secs as u64, nanos as u32))
    }
}

impl Default for Backoff {
    /// A second, doubled up to a minute, without an end.
    fn default() -> Self {
        Self::new(Duration::from_secs(1), Duration::from_secs(60))
    }
}
