//! The workloads: what is done to a peer, and how it is timed.

use std::hint::black_box;
use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use crate::memory;
use crate::peers::Peer;

/// Deadlines are uniform over this many ticks of 1 ms.
pub(crate) const SPAN: u64 = 60_000;

/// How far out `refresh` keeps its deadlines: half an hour.
pub(crate) const FAR: u64 = 30 * 60_000;

/// By how much later each pass of `refresh` sets them.
const REFRESH: u64 = 50;

/// Passes that get deadlines of their own before those of the first come again.
const WINDOWS: usize = 256;

/// How many ticks the idle tick is averaged over.
pub(crate) const IDLE_TICKS: u64 = 100_000;

const SEED: u64 = 7;

/// How many timers, from when on, and their deadlines: the same for every peer.
pub(crate) struct Scenario {
    pub(crate) n: usize,
    pub(crate) start: u64,
    pub(crate) first: Vec<u64>,
    fresh: Vec<u64>,
}

/// What the caller knows of one timer.
struct Held<K> {
    id: u32,
    key: Option<K>,
}

/// A peer with `n` timers, whose keys are in hand.
pub(crate) struct Population<'a, P: Peer> {
    pub(crate) peer: P,
    scenario: &'a Scenario,
    held: Vec<Held<P::Key>>,
    /// Bytes the peer took for its first `n` timers.
    bytes: usize,
    passes: usize,
}

// === impl Scenario ===

impl Scenario {
    pub(crate) fn new(n: usize, start: u64) -> Self {
        let mut rng = SmallRng::seed_from_u64(SEED);
        let mut deadlines = |count| -> Vec<u64> {
            (0..count)
                .map(|_| start + rng.random_range(1..=SPAN))
                .collect()
        };
        Self {
            n,
            start,
            first: deadlines(n),
            fresh: deadlines(n + WINDOWS),
        }
    }

    /// Other deadlines for each pass, without a random number or a division per timer.
    pub(crate) fn fresh(&self, pass: usize) -> &[u64] {
        let from = pass % WINDOWS;
        &self.fresh[from..from + self.n]
    }
}

// === impl Held ===

impl<K> Held<K> {
    #[inline]
    fn take(&mut self) -> K {
        self.key.take().expect("a timer is armed between passes")
    }
}

// === impl Population ===

impl<'a, P: Peer> Population<'a, P> {
    /// Brings an empty peer to the start, and arms every timer once, in the order of the table.
    pub(crate) fn new(scenario: &'a Scenario) -> Self {
        let ids = 0..u32::try_from(scenario.n).expect("a timer's number has 32 bits");
        let held = ids.map(|id| Held { id, key: None }).collect();
        let before = memory::live();
        let mut peer = P::new(scenario.n);
        peer.advance(scenario.start);
        let mut population = Self {
            peer,
            scenario,
            held,
            bytes: 0,
            passes: 0,
        };
        population.arm();
        population.bytes = memory::live().saturating_sub(before);
        population
    }

    /// As `new`, and then the table is shuffled, once. From now on its order says nothing of
    /// where timers lie, or when they are due.
    pub(crate) fn scattered(scenario: &'a Scenario) -> Self {
        let mut population = Self::new(scenario);
        population.shuffle();
        population
    }

    /// As `scattered`, and then every timer is cancelled and armed again, so that those that
    /// are due one after the other do not lie one after the other.
    ///
    /// A peer that deletes lazily has one dead entry per timer then, as it would in use.
    pub(crate) fn mixed(scenario: &'a Scenario) -> Self {
        let mut population = Self::scattered(scenario);
        population.cancel_arm();
        population
    }

    pub(crate) fn bytes_per_timer(&self) -> f64 {
        self.bytes as f64 / self.scenario.n as f64
    }

    pub(crate) fn shuffle(&mut self) {
        self.held.shuffle(&mut SmallRng::seed_from_u64(SEED));
    }

    /// Times one pass over the table. Numbers the pass.
    fn pass(&mut self, work: impl FnOnce(&mut P, &mut [Held<P::Key>], usize)) -> Duration {
        let Self {
            peer, held, passes, ..
        } = self;
        *passes += 1;
        peer.within(|peer| {
            let clock = Instant::now();
            work(peer, held, *passes);
            clock.elapsed()
        })
    }

    /// Times one pass that gives every timer another deadline, in order of the table.
    fn move_all(&mut self, each: impl Fn(&mut P, P::Key, u64, u32) -> P::Key) -> Duration {
        let scenario = self.scenario;
        self.pass(|peer, held, pass| {
            for (held, &at) in held.iter_mut().zip(scenario.fresh(pass)) {
                let key = held.take();
                held.key = Some(each(peer, key, at, held.id));
            }
        })
    }

    // --- the workloads ---

    /// Arms every timer; none is armed before.
    pub(crate) fn arm(&mut self) -> Duration {
        let scenario = self.scenario;
        self.pass(|peer, held, _| {
            for (held, &at) in held.iter_mut().zip(&scenario.first) {
                held.key = Some(peer.arm(at, held.id));
            }
        })
    }

    /// Cancels every timer, so that they can be armed again.
    pub(crate) fn cancel(&mut self) -> Duration {
        self.pass(|peer, held, _| {
            for held in held {
                let key = held.take();
                peer.cancel(key);
            }
        })
    }

    /// Cancels every timer and arms it for another deadline, one by one.
    pub(crate) fn cancel_arm(&mut self) -> Duration {
        self.move_all(|peer, key, at, id| {
            peer.cancel(key);
            peer.arm(at, id)
        })
    }

    /// Moves every timer to another deadline: half of them later, half of them earlier.
    pub(crate) fn rearm(&mut self) -> Duration {
        self.move_all(|peer, key, at, id| peer.rearm(key, at, id))
    }

    /// Moves every timer half an hour out, to where `refresh` finds it.
    pub(crate) fn put_off(&mut self) {
        self.refresh_from(self.scenario.start + FAR);
    }

    /// Moves every timer a bit later than the pass before did, as traffic does with the idle
    /// timeouts of connections.
    pub(crate) fn refresh(&mut self) -> Duration {
        let later = REFRESH * (self.passes as u64 + 1);
        self.refresh_from(self.scenario.start + FAR + later)
    }

    /// The first timers of the table go to `from`, those behind to one tick later each time.
    fn refresh_from(&mut self, from: u64) -> Duration {
        let share = self.scenario.n.div_ceil(REFRESH as usize);
        self.pass(|peer, held, _| {
            for (at, held) in (from..).zip(held.chunks_mut(share)) {
                for held in held {
                    let key = held.take();
                    held.key = Some(peer.rearm(key, at, held.id));
                }
            }
        })
    }

    /// Fires everything, one advance per tick. No clock is read in between, so that nothing
    /// has to be subtracted.
    pub(crate) fn expire(&mut self) -> Duration {
        let clock = Instant::now();
        let fired = self.ticks().map(|tick| self.peer.advance(tick)).sum();
        let elapsed = clock.elapsed();
        self.assert_all(fired);
        elapsed
    }

    /// As `expire`, but times every advance, a clock call included. Sorted.
    pub(crate) fn advances(&mut self) -> Vec<Duration> {
        let mut fired = 0;
        let mut times: Vec<_> = self
            .ticks()
            .map(|tick| {
                let clock = Instant::now();
                fired += self.peer.advance(tick);
                clock.elapsed()
            })
            .collect();
        self.assert_all(fired);
        times.sort_unstable();
        times
    }

    /// Times every arm by itself, a clock call included: each timer is cancelled first, which is
    /// not timed. Sorted.
    pub(crate) fn arms(&mut self) -> Vec<Duration> {
        let scenario = self.scenario;
        let mut times = Vec::with_capacity(scenario.n);
        self.pass(|peer, held, pass| {
            for (held, &at) in held.iter_mut().zip(scenario.fresh(pass)) {
                peer.cancel(held.take());
                let clock = Instant::now();
                held.key = Some(peer.arm(at, held.id));
                times.push(clock.elapsed());
            }
        });
        times.sort_unstable();
        times
    }

    /// Fires everything, advancing only to when the peer says there is something to do. How
    /// many advances that took, and how long, asking included.
    pub(crate) fn tickless(&mut self) -> (u64, Duration) {
        let (mut now, mut fired, mut advances) = (self.scenario.start, 0, 0);
        let clock = Instant::now();
        while let Some(next) = self.peer.next() {
            // Some say that it is now when they do not know better.
            now = next.max(now + 1);
            fired += self.peer.advance(now);
            advances += 1;
        }
        let elapsed = clock.elapsed();
        self.assert_all(fired);
        (advances, elapsed)
    }

    /// `IDLE_TICKS` ticks after everything has fired.
    pub(crate) fn idle(&mut self) -> Duration {
        let from = self.scenario.start + SPAN;
        let clock = Instant::now();
        for tick in 1..=IDLE_TICKS {
            black_box(&mut self.peer).advance(from + tick);
        }
        clock.elapsed()
    }

    fn ticks(&self) -> impl Iterator<Item = u64> + use<P> {
        let start = self.scenario.start;
        start + 1..=start + SPAN
    }

    pub(crate) fn assert_all(&self, fired: u64) {
        let n = self.scenario.n;
        assert_eq!(
            fired,
            n as u64,
            "{}: {fired} of {n} timers fired by the tick they were due",
            P::NAME
        );
    }
}

impl<P: Peer> Drop for Population<'_, P> {
    fn drop(&mut self) {
        for held in &mut self.held {
            if let Some(key) = held.key.take() {
                self.peer.release(key);
            }
        }
    }
}
