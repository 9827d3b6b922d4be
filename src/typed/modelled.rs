//! What the models use of this layer: in no normal build.

use super::deadline::{self, Expiry};
use crate::Timestamp;

pub use super::leases::ModelledTokens;

/// The word of a record, by itself. Times are in nanoseconds.
#[derive(Debug)]
pub struct ModelledDeadline(deadline::Deadline);

impl ModelledDeadline {
    /// A record that expires at that time.
    #[must_use]
    pub fn new(to: u64) -> Self {
        Self(deadline::Deadline::new(at(to)))
    }

    /// The deadline, or `None` if the record has ended.
    #[must_use]
    pub fn get(&self) -> Option<u64> {
        self.0.get().map(Timestamp::as_nanos)
    }

    /// Whether the record lives at that time.
    #[must_use]
    pub fn is_live(&self, now: u64) -> bool {
        self.0.is_live(at(now))
    }

    /// Until when it lives then; `None` if it is gone.
    pub fn touch(&self, now: u64, to: u64) -> Option<u64> {
        let touched = self.0.touch(at(now), at(to));
        touched.ok().map(Timestamp::as_nanos)
    }

    /// Ends a record whose time is over. Until when it was to live, if this call has ended it.
    pub fn expire(&self, now: u64) -> Option<u64> {
        match self.0.expire(at(now)) {
            Expiry::Expired(deadline) => Some(deadline.as_nanos()),
            Expiry::Lives(_) | Expiry::Over => None,
        }
    }

    /// Ends a record that lives. Until when it was to live, if this call has ended it.
    pub fn end(&self, now: u64) -> Option<u64> {
        let ended = self.0.end(at(now));
        ended.ok().map(Timestamp::as_nanos)
    }
}

fn at(nanos: u64) -> Timestamp {
    Timestamp::from_nanos(nanos)
}
