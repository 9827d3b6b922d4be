//! One-time codes, on a manual clock and driven by hand: nothing here sleeps.
//!
//! | file | properties |
//! |---|---|
//! | `life` | when a code is good, to the nanosecond, whatever the clock and the driver do |
//! | `attempts` | what a wrong answer costs, whom, and for how long |
//! | `issues` | how often codes are to be had, and how many |
//! | `events` | one event for each code, whatever becomes of it and of the hook |
//! | `input` | what is no code, no subject, no policy; what is shown and what is not |
//! | `timers` | no timer and no record is left behind; full and shut down runtimes |
//! | `model`, `oracle` | random programs do what a plain oracle does |
//! | `threads` | of any number of right answers one is accepted, and no more wrong ones than may be |
//! | `faults` | faults that others have had |
//! | `replay` | steps that are accepted once |
//! | `windows` | limits in a window of time: what counts, and until when |

mod attempts;
mod events;
mod faults;
mod input;
mod issues;
mod life;
mod model;
mod oracle;
mod replay;
mod threads;
mod timers;
mod windows;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tickwheel::{
    CodeKey, CodeNonce, EndReason, Ended, Issued, ManualClock, OneTimeCodes, OneTimeCodesBuilder,
    RefusedCause, Timers,
};

pub(crate) type Event = Ended<CodeKey, CodeNonce>;

/// Codes on a manual clock, and what was told of them.
pub(crate) struct Bed {
    pub(crate) clock: ManualClock,
    pub(crate) timers: Timers,
    pub(crate) codes: OneTimeCodes,
    pub(crate) events: Events,
    /// What was issued by [`issue`](Self::issue).
    issued: Mutex<Vec<u64>>,
}

/// What a hook was told, and how much of that was taken.
#[derive(Clone, Default)]
pub(crate) struct Events(Arc<Mutex<(Vec<Event>, usize)>>);

pub(crate) const fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// An answer of the same form that is wrong.
pub(crate) fn wrong(issued: &Issued) -> String {
    let mut answer = String::from(issued.code.expose());
    let last = answer.pop().unwrap();
    answer.push(if last == '0' { '1' } else { '0' });
    answer
}

impl Bed {
    /// Codes for a minute, without cooldown and limits for subjects.
    pub(crate) fn new() -> Self {
        Self::with(|builder| builder)
    }

    pub(crate) fn with(build: impl FnOnce(OneTimeCodesBuilder) -> OneTimeCodesBuilder) -> Self {
        let clock = ManualClock::new();
        let timers = Timers::builder()
            .clock(clock.clone())
            .build_hand_driven()
            .unwrap();
        Self::over(clock, timers, build)
    }

    pub(crate) fn over(
        clock: ManualClock,
        timers: Timers,
        build: impl FnOnce(OneTimeCodesBuilder) -> OneTimeCodesBuilder,
    ) -> Self {
        let events = Events::default();
        let log = events.clone();
        let builder = OneTimeCodes::builder(&timers)
            .time_to_live(secs(60))
            .cooldown(Duration::ZERO)
            .attempts_per_subject(1, Duration::ZERO)
            .issues_per_subject(1, Duration::ZERO)
            .on_end(move |ended| log.0.lock().unwrap().0.push(ended));
        Self {
            clock,
            timers,
            codes: build(builder).build().unwrap(),
            events,
            issued: Mutex::default(),
        }
    }

    pub(crate) fn issue(&self, subject: &str, purpose: &'static str) -> Issued {
        let issued = self.codes.issue(subject, purpose).unwrap();
        self.issued.lock().unwrap().push(issued.generation);
        issued
    }

    pub(crate) fn verify(&self, subject: &str, answer: &str) -> Result<(), RefusedCause> {
        let verified = self.codes.verify(subject, "login", answer);
        verified.map_err(|refused| refused.cause())
    }

    /// Whether that answer is accepted.
    pub(crate) fn accepts(&self, subject: &str, issued: &Issued) -> bool {
        self.verify(subject, issued.code.expose()).is_ok()
    }

    pub(crate) fn turn(&self) {
        self.timers.turn_fully().unwrap();
    }

    /// Drops the codes. Then each that was issued has ended, once. Says how.
    pub(crate) fn end(self) -> BTreeMap<u64, EndReason> {
        let Self {
            codes,
            events,
            issued,
            timers,
            ..
        } = self;
        drop(codes);
        assert!(timers.is_empty(), "{timers:?}");
        let mut reasons = BTreeMap::new();
        for event in &events.0.lock().unwrap().0 {
            let before = reasons.insert(event.generation, event.reason);
            assert_eq!(before, None, "two ends: {event:?}");
        }
        let mut issued = issued.into_inner().unwrap();
        issued.sort_unstable();
        assert!(issued.iter().eq(reasons.keys()), "{issued:?} {reasons:?}");
        reasons
    }
}

impl Events {
    /// What was told since the last call.
    pub(crate) fn take(&self) -> Vec<Event> {
        let (events, taken) = &mut *self.0.lock().unwrap();
        let rest = events[*taken..].to_vec();
        *taken = events.len();
        rest
    }

    /// How those ended of which was told since the last call.
    pub(crate) fn reasons(&self) -> Vec<EndReason> {
        self.take().iter().map(|event| event.reason).collect()
    }
}
