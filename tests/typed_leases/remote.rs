//! A lessor at a distance, whose answers can be late, or lost.

use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tickwheel::{
    AcquireError, Clock, FencingToken, Grant, LeaseGuard, LeaseGuardOptions, Leases, Lessor, Lost,
    ManualClock, Renewal, Timers,
};

use crate::{at, secs};

/// What a remote lessor does with a renewal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Mode {
    Answer,
    /// Renews, and keeps the answer back.
    Hold,
    /// Renews, and the answer is lost.
    Lose,
    /// Cannot be reached.
    Fail,
    Refuse,
    Panic,
}

/// A lessor at a distance: its answers can be late, or lost.
#[derive(Clone)]
pub(crate) struct Remote {
    pub(crate) clock: ManualClock,
    pub(crate) timers: Timers,
    pub(crate) leases: Leases<String>,
    state: Arc<State>,
}

struct State {
    mode: Mutex<Mode>,
    /// How long a grant is under way.
    delay: Mutex<Duration>,
    renewals: Mutex<Vec<u64>>,
    held: Mutex<Vec<(Renewal, Duration)>>,
    releases: AtomicUsize,
}

impl Remote {
    pub(crate) fn new() -> Self {
        let clock = ManualClock::new();
        let timers = Timers::builder().clock(clock.clone());
        let timers = timers.build_hand_driven().unwrap();
        // The lessor's own expiry is judged by the same clock, and its timers by the same driver.
        let leases = Leases::new(&timers);
        let state = State {
            mode: Mutex::new(Mode::Answer),
            delay: Mutex::default(),
            renewals: Mutex::default(),
            held: Mutex::default(),
            releases: AtomicUsize::new(0),
        };
        let state = Arc::new(state);
        Self {
            clock,
            timers,
            leases,
            state,
        }
    }

    pub(crate) fn set(&self, mode: Mode) {
        *self.state.mode.lock().unwrap() = mode;
    }

    /// Lets grants be under way for that long.
    pub(crate) fn delay(&self, span: Duration) {
        *self.state.delay.lock().unwrap() = span;
    }

    pub(crate) fn options(&self) -> LeaseGuardOptions {
        LeaseGuardOptions::new(&self.timers).jitter(0)
    }

    pub(crate) fn guard(&self, options: LeaseGuardOptions, ttl: u64) -> LeaseGuard<Self> {
        options.acquire(self.clone(), "A", secs(ttl)).unwrap()
    }

    pub(crate) fn go(&self, second: u64) {
        self.clock.set(at(second));
        while self.timers.turn_fully().unwrap().fired > 0 {}
    }

    /// Seconds at which it was asked for renewals.
    pub(crate) fn renewals(&self) -> Vec<u64> {
        self.state.renewals.lock().unwrap().clone()
    }

    /// Gives the oldest answer that was kept back.
    pub(crate) fn answer(&self) {
        let (renewal, life) = self.state.held.lock().unwrap().remove(0);
        renewal.confirm(life);
    }

    /// Lets go of the answers that are still kept back: each keeps alive the guard that asked, and that this.
    pub(crate) fn forget(&self) {
        let held = mem::take(&mut *self.state.held.lock().unwrap());
        drop(held);
    }

    pub(crate) fn releases(&self) -> usize {
        self.state.releases.load(Ordering::Relaxed)
    }
}

impl Lessor for Remote {
    type Request = &'static str;
    type Grant = Grant<String, String>;
    type Error = AcquireError;
    type ReleaseError = Lost;

    fn acquire(
        &self,
        holder: &'static str,
        ttl: Duration,
    ) -> Result<(Self::Grant, Duration), AcquireError> {
        let granted = Lessor::acquire(&self.leases, ("r".to_owned(), holder.to_owned()), ttl);
        self.clock.advance(*self.state.delay.lock().unwrap());
        granted
    }

    fn renew(&self, grant: &Self::Grant, renewal: Renewal) {
        let now = self.clock.now();
        assert_eq!(renewal.asked(), now);
        let second = now.as_nanos() / 1_000_000_000;
        self.state.renewals.lock().unwrap().push(second);
        let mode = *self.state.mode.lock().unwrap();
        let renewed = match mode {
            Mode::Answer | Mode::Hold | Mode::Lose => self.leases.renew(grant),
            Mode::Fail => return renewal.fail(),
            Mode::Refuse => return renewal.refuse(),
            Mode::Panic => panic!("on purpose"),
        };
        match (mode, renewed) {
            (Mode::Hold, Ok(until)) => {
                let life = until.saturating_since(now);
                self.state.held.lock().unwrap().push((renewal, life));
            }
            (Mode::Lose, _) => drop(renewal),
            (_, Ok(until)) => renewal.confirm(until.saturating_since(now)),
            (_, Err(_)) => renewal.refuse(),
        }
    }

    fn release(&self, grant: &Self::Grant) -> Result<(), Lost> {
        self.state.releases.fetch_add(1, Ordering::Relaxed);
        self.leases.release(grant)
    }

    fn token(&self, grant: &Self::Grant) -> FencingToken {
        grant.token()
    }
}
