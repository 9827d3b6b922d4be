#![cfg(not(loom))]
//! Leases on a runtime that is driven by hand, with a clock that is moved by hand.
//!
//! Properties:
//! * a grant lives in `[granted, deadline)` for every call, fired or not, and is expired for good;
//! * one holder at any time; tokens strictly increase, across release, expiry, revocation and restarts, and no
//!   renewal mints one;
//! * a renewal or an expiry, never both; deadlines only move later, and not beyond the longest hold;
//! * an old grant does nothing to a new one;
//! * who waits is served in order, leaves no trace when it goes, and ends with the runtime;
//! * one end is told for each grant, with why, whatever panics;
//! * no value is leaked or dropped twice, and a holder that has ended is dropped at once;
//! * a guard renews in time, says when it is at risk and when it is lost, by a deadline that is never later
//!   than the lessor's, and renews no more once it is released;
//! * what nobody holds is remembered, in a bounded number, takes no timer, and is not seen; what somebody is about to
//!   hold is not let go of;
//! * a fence refuses a holder that believes in its lease for too long.

mod clocks;
mod detach;
mod drops;
mod faults;
mod faults_guards;
mod faults_waiting;
mod fence;
mod gone;
mod grants;
mod guards;
mod hooks;
mod hurry;
mod idle;
mod kept;
mod model;
mod oracle;
mod race;
mod remote;
mod shown;
mod waiting;

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use tickwheel::{
    AcquireError, EndReason, Grant, Leases, LeasesBuilder, ManualClock, Timers, TimersBuilder,
    Timestamp,
};

pub(crate) const fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

pub(crate) const fn at(seconds: u64) -> Timestamp {
    Timestamp::from_duration(secs(seconds))
}

/// An end that was told: the resource, the holder, why, the deadline in seconds, the token.
pub(crate) type Told = (String, String, EndReason, u64, u64);

pub(crate) type Builder = LeasesBuilder<String, String>;

/// Leases on a manual clock, driven by hand, and what was told of their ends.
pub(crate) struct Bed {
    pub(crate) clock: ManualClock,
    pub(crate) timers: Timers,
    pub(crate) leases: Leases<String>,
    pub(crate) told: Arc<Mutex<Vec<Told>>>,
}

impl Bed {
    pub(crate) fn new() -> Self {
        Self::with(|builder| builder)
    }

    pub(crate) fn with(build: impl FnOnce(Builder) -> Builder) -> Self {
        Self::on(Timers::builder(), build)
    }

    pub(crate) fn on(timers: TimersBuilder, build: impl FnOnce(Builder) -> Builder) -> Self {
        let clock = ManualClock::new();
        let timers = timers.clock(clock.clone()).build_hand_driven().unwrap();
        let told = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&told);
        let builder = Leases::builder().on_end(move |ended| {
            let ended: Told = (
                String::clone(ended.key),
                String::clone(ended.value),
                ended.reason,
                ended.deadline.as_nanos() / 1_000_000_000,
                ended.generation,
            );
            log.lock().unwrap().push(ended);
        });
        let leases = build(builder).build(&timers);
        Self {
            clock,
            timers,
            leases,
            told,
        }
    }

    /// Asks for the lease "r".
    pub(crate) fn ask(
        &self,
        holder: &str,
        ttl: u64,
    ) -> Result<Grant<String, String>, AcquireError> {
        self.leases.try_acquire("r", holder, secs(ttl))
    }

    /// Lets the clock show that many seconds, and drives nothing.
    pub(crate) fn set(&self, seconds: u64) {
        self.clock.set(at(seconds));
    }

    /// As that, and fires what is due.
    pub(crate) fn go(&self, seconds: u64) {
        self.set(seconds);
        self.drive();
    }

    /// Fires what is due, also what that has armed for now.
    pub(crate) fn drive(&self) {
        while self.timers.turn_fully().unwrap().fired > 0 {}
    }

    /// Who holds "r".
    pub(crate) fn holder(&self) -> Option<String> {
        let holding = self.leases.holder("r")?;
        Some(holding.holder().clone())
    }

    /// The ends told so far: holder, reason, deadline, token.
    pub(crate) fn ends(&self) -> Vec<(String, EndReason, u64, u64)> {
        let told = self.told.lock().unwrap();
        let end = |told: &Told| (told.1.clone(), told.2, told.3, told.4);
        told.iter().map(end).collect()
    }
}

/// A task that counts how often it was woken.
#[derive(Clone)]
pub(crate) struct Task(Arc<Count>);

#[derive(Default)]
struct Count(AtomicUsize);

impl Task {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    pub(crate) fn poll<F: Future + Unpin>(&self, future: &mut F) -> Poll<F::Output> {
        let waker = Waker::from(Arc::clone(&self.0));
        Pin::new(future).poll(&mut Context::from_waker(&waker))
    }

    pub(crate) fn wakes(&self) -> usize {
        // ORDERING: Relaxed: whoever asks has joined, or is, whoever has woken.
        self.0.0.load(Ordering::Relaxed)
    }

    /// Wakers that somebody has.
    pub(crate) fn wakers(&self) -> usize {
        Arc::strong_count(&self.0) - 1
    }
}

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        // ORDERING: Relaxed: it is but counted.
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

pub(crate) fn ready<T>(poll: Poll<T>) -> T {
    match poll {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it is pending"),
    }
}
