//! Hits to sessions: the wheel at work.
//!
//! Every open session is a timer of the wheel, armed for the moment at which the session
//! ends if nothing more is heard of the visitor. A hit moves it later, which is all but
//! free; when the log's time moves, the wheel hands back the sessions that have ended.
//! A tick is a second, the origin is 1970, and the wheel keeps the time.

use std::collections::HashMap;
use std::io;
use std::rc::Rc;

use tickwheel::{Tick, Ticks, TimerKey, Wheel};

use crate::log::Hit;

/// How long a session may last. Neither limit is zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Since its last hit.
    pub(crate) idle: Ticks,
    /// Since its first.
    pub(crate) absolute: Ticks,
}

/// Which limit ended a session. Both at once counts as the absolute one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reason {
    Idle,
    Absolute,
}

/// A session that has ended. Times are seconds since 1970.
#[derive(Debug)]
pub(crate) struct Ended<'a> {
    pub(crate) address: &'a [u8],
    pub(crate) agent: &'a [u8],
    pub(crate) first_hit: u64,
    pub(crate) last_hit: u64,
    /// Its deadline: the first second at which it was no longer live.
    pub(crate) end: u64,
    pub(crate) hits: u64,
    pub(crate) reason: Reason,
}

/// What was counted on the way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Hits older than the newest before them.
    pub(crate) out_of_order: u64,
    pub(crate) armed: u64,
    pub(crate) rearmed: u64,
    pub(crate) fired: u64,
}

/// The open sessions of a log.
pub(crate) struct Sessions {
    limits: Limits,
    wheel: Wheel<Session>,
    /// The timer of each visitor's open session.
    open: HashMap<Rc<[u8]>, TimerKey>,
    /// The visitor of the current hit; kept for its capacity.
    visitor: Vec<u8>,
    counts: Counts,
}

/// An open session: the value of a timer.
struct Session {
    /// Address, space, user agent. An address contains no space.
    visitor: Rc<[u8]>,
    address_len: usize,
    first_hit: Tick,
    last_hit: Tick,
    hits: u64,
}

// === impl Sessions ===

impl Sessions {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            wheel: Wheel::new(),
            open: HashMap::new(),
            visitor: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// Moves time to the hit and ends what has ended by then, then counts the hit: to the
    /// visitor's open session or, if there is none, to a new one.
    ///
    /// # Errors
    ///
    /// The first that `ended` returned; it is not called again then.
    pub(crate) fn hit(
        &mut self,
        hit: &Hit<'_>,
        ended: impl FnMut(&Ended<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let now = Tick::new(hit.at).max(self.wheel.now());
        self.counts.out_of_order += u64::from(hit.at < now.get());
        self.advance(now, ended)?;

        self.visitor.clear();
        self.visitor.extend_from_slice(hit.address);
        self.visitor.push(b' ');
        self.visitor.extend_from_slice(hit.agent);
        match self.open.get(self.visitor.as_slice()) {
            Some(&key) => self.go_on(key, now),
            None => self.begin(hit.address.len(), now),
        }
        Ok(())
    }

    /// Lets the sessions that are still open run to their ends.
    ///
    /// # Errors
    ///
    /// As [`hit`](Self::hit).
    pub(crate) fn finish(
        mut self,
        ended: impl FnMut(&Ended<'_>) -> io::Result<()>,
    ) -> io::Result<Counts> {
        self.advance(Tick::NEVER, ended)?;
        Ok(self.counts)
    }

    fn advance(
        &mut self,
        now: Tick,
        mut ended: impl FnMut(&Ended<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut result = Ok(());
        let fired = self.wheel.advance(now, |_, expired| {
            let session = expired.value;
            self.open.remove(&session.visitor);
            if result.is_ok() {
                result = ended(&session.ended(expired.deadline, self.limits));
            }
        });
        self.counts.fired += fired as u64;
        result
    }

    /// The visitor's first hit, or the first after a session has ended.
    fn begin(&mut self, address_len: usize, now: Tick) {
        let visitor: Rc<[u8]> = self.visitor.as_slice().into();
        let session = Session {
            visitor: Rc::clone(&visitor),
            address_len,
            first_hit: now,
            last_hit: now,
            hits: 1,
        };
        let key = self.wheel.arm(session.deadline(self.limits), session);
        self.open.insert(visitor, key);
        self.counts.armed += 1;
    }

    /// One more hit of an open session.
    fn go_on(&mut self, key: TimerKey, now: Tick) {
        let session = self
            .wheel
            .get_mut(key)
            .expect("what has fired is no longer listed as open");
        session.last_hit = now;
        session.hits += 1;
        let deadline = session.deadline(self.limits);
        self.wheel
            .rearm(key, deadline)
            .expect("the timer was there a moment ago");
        self.counts.rearmed += 1;
    }
}

// === impl Session ===

impl Session {
    fn deadline(&self, limits: Limits) -> Tick {
        (self.last_hit + limits.idle).min(self.first_hit + limits.absolute)
    }

    fn ended(&self, deadline: Tick, limits: Limits) -> Ended<'_> {
        let (address, agent) = self.visitor.split_at(self.address_len);
        let reason = if deadline == self.first_hit + limits.absolute {
            Reason::Absolute
        } else {
            Reason::Idle
        };
        Ended {
            address,
            agent: &agent[1..],
            first_hit: self.first_hit.get(),
            last_hit: self.last_hit.get(),
            end: deadline.get(),
            hits: self.hits,
            reason,
        }
    }
}

// === impl Ended ===

impl Ended<'_> {
    /// From the first hit to the last.
    pub(crate) fn seconds(&self) -> u64 {
        self.last_hit - self.first_hit
    }
}

// === impl Reason ===

impl Reason {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Absolute => "absolute",
        }
    }
}
