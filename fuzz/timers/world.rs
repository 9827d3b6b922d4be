//! A runtime beside what is known of it: every step is done to both.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tickwheel::{Cancel, Clock, ManualClock, Resolution, Shutdown, TimerKey, Timers, Timestamp};

use crate::callback::{Shared, rearm};
use crate::oracle::Oracle;
use crate::program::{End, Input, Step};

pub(crate) struct World {
    clock: ManualClock,
    timers: Timers,
    batch: usize,
    shared: Shared,
    /// Some of the keys that are over.
    stale: Vec<TimerKey>,
}

// === impl World ===

impl World {
    pub(crate) fn new(input: &Input) -> Self {
        let tick = [1, 7, 1_000, 1_000_000][usize::from(input.tick % 4)];
        let clock = ManualClock::starting_at(Timestamp::from_nanos(input.start));
        let resolution = Resolution::new(Duration::from_nanos(tick)).unwrap();
        let timers = Timers::builder()
            .clock(clock.clone())
            .resolution(resolution)
            .shards(if input.shards { 3 } else { 1 })
            .batch(input.batch, Duration::MAX)
            .build_hand_driven()
            .unwrap();
        let oracle = Oracle {
            tick,
            ..Oracle::default()
        };
        Self {
            clock,
            timers,
            batch: input.batch,
            shared: Shared {
                oracle: Arc::new(Mutex::new(oracle)),
                living: Arc::default(),
            },
            stale: Vec::new(),
        }
    }

    pub(crate) fn step(&mut self, step: &Step) {
        let timers = self.timers.clone();
        let shared = self.shared.clone();
        let picked = |which| shared.oracle().pick(which);
        match *step {
            Step::Arm(shape) => shared.arm(&mut shared.oracle(), &timers, shape),
            Step::Cancel(which) => self.cancel(picked(which), Timers::cancel),
            Step::CancelWait(which) => self.cancel(picked(which), Timers::cancel_wait),
            Step::Rearm(which, after) => {
                if let Some(id) = picked(which) {
                    rearm(&mut shared.oracle(), &timers, id, after);
                }
            }
            Step::Disarm(which) => {
                if let Some(id) = picked(which) {
                    rearm(&mut shared.oracle(), &timers, id, u64::MAX);
                }
            }
            Step::Clock(span) => drop(self.clock.advance(Duration::from_nanos(span))),
            Step::Back(span) => {
                let back = self.clock.now().as_nanos().saturating_sub(span);
                self.clock.jump(Timestamp::from_nanos(back));
            }
            Step::Turn => {
                let (turned, fired) = self.fires(|timers| timers.turn().unwrap());
                assert_eq!(turned.fired, fired);
                // Fewer count as that.
                let most = self.batch.max(64);
                assert!(fired <= most, "{fired} in a batch of {most}");
                self.is_done(turned.more);
            }
            Step::TurnFully => {
                let (turned, fired) = self.fires(|timers| timers.turn_fully().unwrap());
                assert_eq!(turned.fired, fired);
                assert!(!turned.more);
                self.is_done(false);
            }
            Step::AdvanceBy(span) => {
                let span = Duration::from_nanos(span);
                let end = self.clock.now().saturating_add(span);
                let clock = self.clock.clone();
                let (told, fired) = self.fires(|timers| timers.advance_by(&clock, span));
                assert_eq!(told, fired);
                assert_eq!(
                    clock.now(),
                    end.min(LAST),
                    "the clock has moved by {span:?}"
                );
                self.is_done(false);
            }
            Step::AdvanceToNext => self.advance_to_next(),
            Step::Pause | Step::Resume => {
                let pause = matches!(step, Step::Pause);
                let changed = if pause {
                    timers.pause()
                } else {
                    timers.resume()
                };
                assert_eq!(changed, shared.oracle().paused != pause);
                shared.oracle().paused = pause;
            }
        }
    }

    fn cancel(&mut self, id: Option<u64>, cancel: fn(&Timers, TimerKey) -> Cancel<()>) {
        let Some(id) = id else { return };
        let gone = self.shared.oracle().timers.remove(&id).unwrap();
        assert_eq!(
            cancel(&self.timers, gone.key),
            Cancel::Cancelled(()),
            "{id} lives"
        );
        self.stale.push(gone.key);
    }

    /// Lets the runtime fire. What it says, and how many have fired.
    fn fires<R>(&self, turn: impl FnOnce(&Timers) -> R) -> (R, usize) {
        let before = {
            let mut oracle = self.shared.oracle();
            oracle.turning = true;
            if !oracle.between {
                let timers = oracle.timers.values_mut();
                timers.for_each(|timer| timer.fresh = false);
            }
            oracle.fired
        };
        let answer = turn(&self.timers);
        let mut oracle = self.shared.oracle();
        oracle.turning = false;
        let fired = oracle.fired - before;
        (answer, usize::try_from(fired).unwrap())
    }

    /// After a turn nothing is left that was due when it began.
    fn is_done(&self, more: bool) {
        let (mut oracle, now) = (self.shared.oracle(), self.timers.now());
        let is_open = !more && !oracle.paused;
        let done = !is_open || !oracle.is_behind(now.as_nanos());
        assert!(done, "at {now:?} there waits what was due: {oracle:?}");
        oracle.between = !is_open;
    }

    fn advance_to_next(&self) {
        let earliest = self.shared.oracle().earliest();
        let clock = self.clock.clone();
        let (told, fired) = self.fires(|timers| timers.advance_to_next(&clock));
        assert_eq!(told, fired);
        self.is_done(false);
        let oracle = self.shared.oracle();
        let at = earliest.and_then(|due| due.checked_mul(oracle.tick));
        let comes = at.is_some_and(|at| at <= LAST.as_nanos());
        assert!(
            fired > 0 || !comes || oracle.paused,
            "nothing fires, and {at:?} comes"
        );
    }

    /// Compares all that can be asked.
    pub(crate) fn compare(&self) {
        let (timers, oracle) = (&self.timers, self.shared.oracle());
        timers.check();
        let now = timers.now();
        assert!(now >= self.clock.now());
        assert_eq!(timers.len(), oracle.timers.len());
        assert_eq!(self.shared.living.load(Relaxed), oracle.timers.len());
        assert_eq!(timers.is_paused(), oracle.paused);
        assert_eq!(timers.stats().panics, oracle.panics);
        for (id, timer) in &oracle.timers {
            let told = oracle.told(timer.deadline);
            assert_eq!(timers.deadline(timer.key), Some(told), "of {id}: {timer:?}");
            let left = match told.is_never() {
                true => Duration::MAX,
                false => told.saturating_since(now),
            };
            assert_eq!(
                timers.remaining(timer.key),
                Some(left),
                "of {id}: {timer:?}"
            );
        }
        if let Some(earliest) = oracle.earliest() {
            let earliest = earliest.saturating_mul(oracle.tick).max(now.as_nanos());
            let next = timers.next_deadline().expect("something is armed");
            assert!(next.as_nanos() <= earliest, "{next:?}, due {earliest}");
        }
    }

    pub(crate) fn finish(self, end: End) {
        let (timers, len) = (&self.timers, self.timers.len());
        for key in &self.stale {
            assert_eq!(timers.cancel(*key), Cancel::Stale);
        }
        self.shared.oracle().ended = !matches!(end, End::None);
        match end {
            End::None => {}
            End::Drop => assert!(timers.shutdown(Shutdown::Drop).is_empty()),
            End::HandBack => {
                let back = timers.shutdown(Shutdown::HandBack);
                assert_eq!(back.len(), len);
                self.shared.oracle().handed_back = true;
                back.into_iter().for_each(|unfired| unfired.run());
            }
            End::FireDue => {
                let paused = std::mem::take(&mut self.shared.oracle().paused);
                self.shared.oracle().between = false;
                let (back, _) = self.fires(|timers| timers.shutdown(Shutdown::FireDue));
                assert!(back.is_empty());
                let (oracle, now) = (self.shared.oracle(), timers.now().as_nanos());
                assert!(
                    paused || oracle.paused || !oracle.is_behind(now),
                    "{oracle:?}"
                );
            }
        }
        if !matches!(end, End::None) {
            assert!(timers.is_shut_down() && timers.is_empty());
            assert!(timers.wait(Duration::ZERO).is_ok());
        }
        drop(self.timers);
        let living = self.shared.living.load(Relaxed);
        assert_eq!(living, 0, "callbacks that nobody drops");
    }
}

/// The latest that a clock shows.
const LAST: Timestamp = Timestamp::from_nanos(u64::MAX - 1);
