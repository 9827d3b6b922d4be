//! What was told of ends, and what has to be.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tickwheel::EndReason;

use crate::fuse;

/// All ways to end.
pub(crate) const ALL: [EndReason; 10] = [
    EndReason::Idle,
    EndReason::Absolute,
    EndReason::Removed,
    EndReason::Replaced,
    EndReason::Capacity,
    EndReason::Released,
    EndReason::Revoked,
    EndReason::Consumed,
    EndReason::TooManyAttempts,
    EndReason::Shutdown,
];

/// Why something has ended, the deadline that it had, and what it was.
pub(crate) type End = (EndReason, u64, u64);

/// What hooks were told, with generations.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<(u64, End)>>>);

impl Log {
    /// A hook is told, and may panic.
    pub(crate) fn tell(&self, generation: u64, end: End) {
        self.0.lock().unwrap().push((generation, end));
        fuse::burn(generation);
    }
}

/// Ends that have to be told once each.
#[derive(Default)]
pub(crate) struct Ends {
    log: Log,
    untold: BTreeMap<u64, End>,
    pub(crate) reasons: Vec<EndReason>,
    /// What the model did that it must not.
    twice: Option<u64>,
}

impl Ends {
    /// Where the hook of a new process writes.
    pub(crate) fn open(&mut self) -> Log {
        self.log = Log::default();
        self.log.clone()
    }

    /// By the model this has ended.
    pub(crate) fn add(&mut self, generation: u64, end: End) {
        self.reasons.push(end.0);
        if self.untold.insert(generation, end).is_some() {
            self.twice = Some(generation);
        }
    }

    /// Compares what was told since. Of what has expired, that `may_wait` says may be told later; of all else it had
    /// to be told by now.
    pub(crate) fn check(&mut self, may_wait: impl Fn(u64) -> bool) -> Result<(), String> {
        if let Some(generation) = self.twice {
            return Err(format!("{generation} has ended twice"));
        }
        for (generation, end) in self.log.0.lock().unwrap().drain(..) {
            match self.untold.remove(&generation) {
                Some(expected) if expected == end => {}
                expected => {
                    return Err(format!(
                        "of {generation} {end:?} was told, and should be {expected:?}"
                    ));
                }
            }
        }
        for (generation, end) in &self.untold {
            if !end.0.is_expiry() || !may_wait(end.1) {
                return Err(format!("of {generation} {end:?} was not told"));
            }
        }
        Ok(())
    }
}
