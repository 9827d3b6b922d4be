//! Reading sessions while a million others expire within a second.
//!
//! The thread of the runtime ends them. Another one reads sessions that live, one after the other, and now and then looks
//! at one that is to expire, before and after it is due.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tickwheel::{SessionLimits, SessionPolicy, Sessions, Timers, Timestamp};

use crate::batches::{random_keys, shuffled};
use crate::interrupted::interruptions;
use crate::peers::{IDLE, timers};
use crate::suite::Shape;

/// Sessions that live all the time.
const LIVING: usize = 10_000;

/// Over how long deadlines are spread.
const SPREAD: Duration = Duration::from_secs(1);

/// How long starting a session takes at most, on average.
const STARTING: Duration = Duration::from_micros(10);

/// How long is read before the first is due.
const CALM: Duration = Duration::from_millis(500);

/// Reads from one look at a session that is to expire to the next.
const LOOK: usize = 64;

/// Sessions that are looked at.
const LOOKED_AT: usize = 4_096;

/// Room for samples, made before the clock runs.
const SAMPLES: usize = 1 << 23;

/// How late the last is told of at most.
const PATIENCE: Duration = Duration::from_secs(60);

struct Storm {
    timers: Timers,
    sessions: Sessions<u128, u128>,
    /// How many have expired.
    expired: Arc<AtomicUsize>,
    living: Vec<u128>,
    /// Some that are to expire, and when.
    doomed: Vec<(u128, Timestamp)>,
    from: Timestamp,
    until: Timestamp,
}

/// Nanoseconds, one sample for each read.
#[derive(Default)]
struct Found {
    samples: Vec<u32>,
    looks: usize,
}

/// Microseconds that a read takes: half of them, 99%, 99.9% at most, the worst, first while none expires and then while
/// all do. Then how many reads and looks there were, how late the last was told of in milliseconds, and how
/// often the system interrupted the thread that reads.
pub(crate) fn storm(shape: &Shape) -> Vec<f64> {
    let storm = Storm::new(shape.n);
    let order = shuffled(&storm.living, 0);
    storm.read(&order, |storm| storm.timers.now() + CALM >= storm.from);
    let mut calm = storm.read(&order, |storm| storm.timers.now() >= storm.from);
    let before = interruptions();
    let mut during = storm.read(&order, |storm| {
        storm.expired.load(Ordering::Acquire) >= shape.n
    });
    let interruptions = interruptions() - before;
    let late = storm.timers.now() - storm.until;
    storm.check_ends(shape.n);
    let rest = [
        during.samples.len() as f64,
        during.looks as f64,
        late.as_secs_f64() * 1e3,
        interruptions as f64,
    ];
    [&calm.shares()[..], &during.shares()[..], &rest].concat()
}

// === impl Storm ===

impl Storm {
    fn new(n: usize) -> Self {
        let timers = timers();
        let expired = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&expired);
        let sessions =
            Sessions::with_events(&timers, SessionPolicy::new().idle(IDLE), move |end| {
                if end.reason.is_expiry() {
                    count.fetch_add(1, Ordering::Release);
                }
            });
        let mut living = random_keys(LIVING + n);
        let doomed = living.split_off(LIVING);
        for key in &living {
            sessions.start(*key, !key).expect("there is room");
        }
        let from = timers.now() + 2 * CALM + n as u32 * STARTING;
        let mut rng = SmallRng::seed_from_u64(11);
        for key in &doomed {
            let nanos = rng.random_range(0..SPREAD.as_nanos() as u64);
            let idle = from + Duration::from_nanos(nanos) - timers.now();
            let limits = SessionLimits {
                idle: Some(idle),
                absolute: None,
            };
            let started = sessions.start_with(*key, !key, None, limits);
            started.expect("there is room");
        }
        let until = doomed.iter().map(|key| deadline(&sessions, key)).max();
        let until = until.expect("some are to expire");
        let doomed = doomed
            .iter()
            .take(LOOKED_AT)
            .map(|key| (*key, deadline(&sessions, key)))
            .collect();
        assert!(timers.now() + CALM < from, "starting took too long");
        Self {
            timers,
            sessions,
            expired,
            living,
            doomed,
            from,
            until,
        }
    }

    /// Reads sessions that live until it is `enough`.
    fn read(&self, order: &[u128], enough: impl Fn(&Self) -> bool) -> Found {
        let mut samples = vec![1; SAMPLES];
        samples.clear();
        let mut found = Found { samples, looks: 0 };
        let begun = Instant::now();
        let mut looked_at = self.doomed.iter().cycle();
        for reads in order.chunks(LOOK).cycle() {
            for key in reads {
                let clock = Instant::now();
                let read = self.sessions.get(key).map(|session| *session);
                let took = clock.elapsed().as_nanos();
                assert_eq!(read, Some(!key), "a session that lives");
                if found.samples.len() < SAMPLES {
                    found.samples.push(u32::try_from(took).unwrap_or(u32::MAX));
                }
            }
            looked_at
                .by_ref()
                .take(1)
                .for_each(|doomed| self.look(doomed));
            found.looks += 1;
            if enough(self) {
                break;
            }
            let late = begun.elapsed() > PATIENCE;
            assert!(!late, "some were not told of");
        }
        found
    }

    /// It is there until its deadline, and not from then on.
    fn look(&self, (key, deadline): &(u128, Timestamp)) {
        let before = self.timers.now();
        let seen = self.sessions.peek(key).map(|session| *session);
        let after = self.timers.now();
        if after < *deadline {
            assert_eq!(seen, Some(!key), "a session that is not due yet");
        }
        if before >= *deadline {
            assert_eq!(seen, None, "a session that has expired");
        }
    }

    /// Each was told of, once, and none that lives.
    fn check_ends(&self, n: usize) {
        assert_eq!(self.sessions.len(), LIVING);
        assert_eq!(self.sessions.resident(), LIVING);
        assert_eq!(self.expired.load(Ordering::Acquire), n);
    }
}

fn deadline(sessions: &Sessions<u128, u128>, key: &u128) -> Timestamp {
    let left = sessions.time_to_live(key);
    left.expect("it is not due yet").deadline
}

// === impl Found ===

impl Found {
    /// In microseconds.
    fn shares(&mut self) -> [f64; 4] {
        self.samples.sort_unstable();
        [0.5, 0.99, 0.999, 1.0].map(|share| {
            let sample = (self.samples.len() - 1) as f64 * share;
            f64::from(self.samples[sample as usize]) / 1e3
        })
    }
}
