//! Snapshots that are taken while others go on.
//!
//! Properties: what lived from before the call until after it is in the snapshot, once; what had ended before is not, nor what began
//! after; and it can be restored.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use tickwheel::snapshot::RestoreOptions;
use tickwheel::{Leases, OneTimeCodes, SessionPolicy, Sessions};

use crate::{KEY, Machine, secs, stored};

const THREADS: u64 = 4;
/// Keys of each thread.
const KEYS: u64 = 8;
const SNAPSHOTS: usize = 50;

/// What a thread has done with a key: it starts the first, the second and so on, and ends each.
#[derive(Default)]
struct Progress {
    /// The last whose start was called.
    called: AtomicU64,
    /// The last whose start has returned.
    started: AtomicU64,
    /// The last whose end was called.
    ending: AtomicU64,
    /// The last whose end has returned.
    ended: AtomicU64,
}

/// Stops the threads when this goes.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        // ORDERING: Relaxed. It says nothing of anything else.
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Progress {
    // ORDERING: SeqCst throughout. What is to be compared are orders of calls, and nothing is to be won by less.
    fn set(counter: &AtomicU64, number: u64) {
        counter.store(number, Ordering::SeqCst);
    }

    fn get(counter: &AtomicU64) -> u64 {
        // ORDERING: as above.
        counter.load(Ordering::SeqCst)
    }
}

/// Lets threads start and end things, while this one takes snapshots, given as key and number.
fn check<A, B, C>(
    start: impl Fn(u64, u64) -> A + Sync,
    touch: impl Fn(u64) -> B + Sync,
    end: impl Fn(u64) -> C + Sync,
    snapshot: impl Fn() -> Vec<(u64, u64)>,
) {
    let all: Vec<Progress> = (0..THREADS * KEYS).map(|_| Progress::default()).collect();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (all, over, start, touch, end) = (&all, &over, &start, &touch, &end);
            scope.spawn(move || {
                let mut number = 0;
                // ORDERING: Relaxed. It says nothing of anything else.
                while !over.load(Ordering::Relaxed) {
                    number += 1;
                    for key in thread * KEYS..(thread + 1) * KEYS {
                        let progress = &all[usize::try_from(key).unwrap()];
                        if number > 1 {
                            Progress::set(&progress.ending, number - 1);
                            let _ = end(key);
                            Progress::set(&progress.ended, number - 1);
                        }
                        Progress::set(&progress.called, number);
                        let _ = start(key, number);
                        Progress::set(&progress.started, number);
                        let _ = touch((key + KEYS) % (THREADS * KEYS));
                    }
                }
            });
        }
        // Also if an assertion fails.
        let _stop = Stop(&over);
        while all
            .iter()
            .any(|progress| Progress::get(&progress.started) == 0)
        {
            thread::yield_now();
        }
        let (mut seen, mut steady) = (0, 0);
        for _ in 0..SNAPSHOTS {
            let before: Vec<_> = all
                .iter()
                .map(|progress| {
                    let ended = Progress::get(&progress.ended);
                    (ended, Progress::get(&progress.started))
                })
                .collect();
            let snapshot = snapshot();
            let count = snapshot.len();
            let found: BTreeMap<u64, u64> = snapshot.into_iter().collect();
            assert_eq!(found.len(), count, "a key is in it twice");
            seen += count;
            for (key, progress) in (0..).zip(&all) {
                // Read in this order: the thread may go on meanwhile.
                let ending = Progress::get(&progress.ending);
                let called = Progress::get(&progress.called);
                let (ended, started) = before[usize::try_from(key).unwrap()];
                let found = found.get(&key).copied();
                if let Some(number) = found {
                    assert!(number > ended, "{number} of {key} had ended");
                    assert!(number <= called, "{number} of {key} had not begun");
                }
                if started > ended && ending < started {
                    assert_eq!(found, Some(started), "it lived all the time");
                    steady += 1;
                }
            }
        }
        assert!(seen >= steady && steady > 0, "nothing ever lived");
    });
}

#[test]
fn sessions() {
    let machine = Machine::noon();
    let policy = SessionPolicy::new().idle(secs(60));
    let sessions: Sessions<u64, u64> = Sessions::new(&machine.timers, policy);
    for key in 1000..1100 {
        sessions.start(key, key).unwrap();
    }
    check(
        |key, number| sessions.start(key, number).unwrap(),
        |key| sessions.touch(&key),
        |key| sessions.remove(&key).unwrap(),
        || {
            let snapshot = stored(&sessions.snapshot_at(machine.anchor));
            let other = Sessions::new(&machine.timers, policy);
            let report = other.restore(snapshot.clone(), machine.options());
            assert_eq!(report.unwrap().restored, snapshot.sessions.len());
            let seen = snapshot.sessions.iter().map(|seen| (seen.key, *seen.value));
            let (steady, moving): (Vec<_>, Vec<_>) = seen.partition(|seen| seen.0 >= 1000);
            assert_eq!(
                steady,
                (1000..1100).map(|key| (key, key)).collect::<Vec<_>>()
            );
            moving
        },
    );
}

#[test]
fn leases() {
    let machine = Machine::noon();
    let leases: Leases<u64, u64> = Leases::new(&machine.timers);
    check(
        |resource, number| leases.try_acquire(resource, number, secs(60)).unwrap(),
        |resource| leases.holder(&resource),
        |resource| leases.revoke(&resource).unwrap(),
        || {
            let snapshot = stored(&leases.snapshot_at(machine.anchor));
            let other = Leases::new(&machine.timers);
            let report = other.restore(snapshot.clone(), machine.options());
            assert_eq!(report.unwrap().restored, snapshot.grants.len());
            let held = snapshot.grants.into_iter();
            held.map(|held| (held.resource, held.holder)).collect()
        },
    );
}

#[test]
fn codes() {
    let machine = Machine::noon();
    let build = || {
        OneTimeCodes::builder(&machine.timers)
            .cooldown(secs(0))
            .issues_per_subject(1, secs(0))
            .digest_key(KEY)
            .build()
            .unwrap()
    };
    let codes = build();
    // The nonce says which code it is; its number is known by who has issued it.
    let numbers = std::sync::Mutex::new(BTreeMap::new());
    check(
        |subject, number| {
            let issued = codes.issue(subject.to_le_bytes(), "login").unwrap();
            numbers
                .lock()
                .unwrap()
                .insert(issued.nonce.as_u64(), (subject, number));
        },
        |subject| codes.time_to_live(subject.to_le_bytes(), "login"),
        |subject| codes.cancel(subject.to_le_bytes(), "login").unwrap(),
        || {
            let snapshot = stored(&codes.snapshot_at(machine.anchor));
            let other = build();
            let options: RestoreOptions = machine.options();
            other
                .restore(snapshot.clone(), &["login"], options)
                .unwrap();
            let purposes = snapshot
                .subjects
                .into_iter()
                .flat_map(|entry| entry.purposes);
            let nonces: Vec<_> = purposes
                .filter_map(|entry| Some(entry.code?.nonce))
                .collect();
            assert_eq!(other.len(), nonces.len());
            // Whoever has issued it may not have said so yet.
            let number = |nonce: u64| loop {
                if let Some(found) = numbers.lock().unwrap().get(&nonce) {
                    return *found;
                }
                thread::yield_now();
            };
            nonces.into_iter().map(number).collect()
        },
    );
}
