//! What is worth knowing about a log and its sessions.

use std::time::Duration;

use crate::log::Malformed;
use crate::sessions::{Counts, Ended, Reason};

/// Malformed lines that are remembered one by one.
const MALFORMED_SHOWN: usize = 5;

/// Lengths of sessions in seconds: where each bucket begins, and what to call it. The
/// last one has no end.
pub(crate) const BUCKETS: [(u64, &str); 9] = [
    (0, "0 s"),
    (1, "1-9 s"),
    (10, "10-59 s"),
    (60, "1-4 min"),
    (5 * 60, "5-14 min"),
    (15 * 60, "15-29 min"),
    (30 * 60, "30-59 min"),
    (60 * 60, "60-119 min"),
    (120 * 60, "2 h or more"),
];

#[derive(Debug, Default)]
pub(crate) struct Summary {
    pub(crate) hits: u64,
    pub(crate) malformed: u64,
    /// The first few malformed lines: their numbers, and what is wrong with them.
    pub(crate) first_malformed: Vec<(u64, Malformed)>,
    /// When the first hit and the newest happened, in seconds since 1970.
    pub(crate) span: Option<(u64, u64)>,
    pub(crate) idle: u64,
    pub(crate) absolute: u64,
    pub(crate) single_hit: u64,
    pub(crate) most_hits: Option<Longest>,
    pub(crate) most_seconds: Option<Longest>,
    /// Sessions by length; see [`BUCKETS`].
    pub(crate) histogram: [u64; BUCKETS.len()],
    pub(crate) counts: Counts,
    /// From the first line read to the last session ended.
    pub(crate) elapsed: Duration,
}

/// A session that outdid those that ended before it.
#[derive(Debug)]
pub(crate) struct Longest {
    pub(crate) address: Vec<u8>,
    pub(crate) agent: Vec<u8>,
    pub(crate) first_hit: u64,
    pub(crate) hits: u64,
    pub(crate) seconds: u64,
}

impl Summary {
    pub(crate) fn lines(&self) -> u64 {
        self.hits + self.malformed
    }

    pub(crate) fn sessions(&self) -> u64 {
        self.idle + self.absolute
    }

    pub(crate) fn lines_per_second(&self) -> f64 {
        // A clock may be too coarse for an empty log.
        self.lines() as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    pub(crate) fn hit(&mut self, at: u64) {
        self.hits += 1;
        let (first, newest) = self.span.unwrap_or((at, at));
        self.span = Some((first, newest.max(at)));
    }

    pub(crate) fn malformed(&mut self, reason: Malformed) {
        self.malformed += 1;
        if self.first_malformed.len() < MALFORMED_SHOWN {
            self.first_malformed.push((self.lines(), reason));
        }
    }

    pub(crate) fn session(&mut self, ended: &Ended<'_>) {
        match ended.reason {
            Reason::Idle => self.idle += 1,
            Reason::Absolute => self.absolute += 1,
        }
        self.single_hit += u64::from(ended.hits == 1);
        let bucket = BUCKETS.partition_point(|&(from, _)| from <= ended.seconds()) - 1;
        self.histogram[bucket] += 1;
        if self
            .most_hits
            .as_ref()
            .is_none_or(|most| ended.hits > most.hits)
        {
            self.most_hits = Some(Longest::from(ended));
        }
        if self
            .most_seconds
            .as_ref()
            .is_none_or(|most| ended.seconds() > most.seconds)
        {
            self.most_seconds = Some(Longest::from(ended));
        }
    }
}

impl From<&Ended<'_>> for Longest {
    fn from(ended: &Ended<'_>) -> Self {
        Self {
            address: ended.address.to_vec(),
            agent: ended.agent.to_vec(),
            first_hit: ended.first_hit,
            hits: ended.hits,
            seconds: ended.seconds(),
        }
    }
}
