//! Two threads of which one has read the clock just before a deadline, and the other after it. The first extends what the
//! second finds expired, in the same nanoseconds. Either may win; but if one is told that it lives, so is the
//! other.

use std::cell::Cell;
use std::hint;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use tickwheel::{Clock, Leases, Lost, SessionPolicy, Sessions, Timestamp};

use super::*;

const ROUNDS: u64 = 10_000;
const IDLE: u64 = 10;

thread_local! {
    static TIME: Cell<u64> = const { Cell::new(0) };
}

/// For each thread the clock shows what that has set.
struct Own;

impl Clock for Own {
    fn now(&self) -> Timestamp {
        Timestamp::from_nanos(TIME.get())
    }
}

/// Lets the other thread go on to its end, should the test fail.
struct LetGo<'a>(&'a AtomicU64);

impl Drop for LetGo<'_> {
    fn drop(&mut self) {
        self.0.store(u64::MAX, Ordering::SeqCst);
    }
}

fn timers() -> Timers {
    Timers::builder().clock(Own).build_hand_driven().unwrap()
}

/// Calls both at once for each round, when `prepare` has. They see the time 9 and 12 after `prepare`. Then `judge` is
/// given the answers.
fn rounds<A: Send, B: Send + 'static>(
    prepare: impl Fn(u64),
    early: impl Fn(u64) -> A,
    late: impl Fn(u64) -> B + Sync,
    judge: impl Fn(u64, A, B),
) {
    let (begun, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let answer = std::sync::Mutex::new(None);
    let wait = |for_it: &AtomicU64, round| {
        let mut spins = 0;
        while for_it.load(Ordering::SeqCst) < round {
            spins += 1;
            if spins % 500 == 0 {
                thread::yield_now();
            }
            hint::spin_loop();
        }
    };
    thread::scope(|scope| {
        let _let_go = LetGo(&begun);
        scope.spawn(|| {
            for round in 1..=ROUNDS {
                TIME.set(round * 100 + 12);
                wait(&begun, round);
                let late = late(round);
                *answer.lock().unwrap() = Some(late);
                done.store(round, Ordering::SeqCst);
            }
        });
        for round in 1..=ROUNDS {
            TIME.set(round * 100);
            prepare(round);
            TIME.set(round * 100 + 9);
            begun.store(round, Ordering::SeqCst);
            // Not always the first.
            (0..round % 64).for_each(|_| hint::spin_loop());
            let early = early(round);
            wait(&done, round);
            TIME.set(round * 100 + 12);
            let late = answer.lock().unwrap().take();
            judge(round, early, late.expect("it has answered"));
        }
    });
}

#[test]
fn a_lease_is_renewed_for_both_or_lost_for_both() {
    let timers = timers();
    let leases: Leases<u64, u8> = Leases::new(&timers);
    let grant = std::sync::Mutex::new(None);
    let mine = || grant.lock().unwrap().clone().unwrap();
    rounds(
        |round| {
            let granted = leases.try_acquire(round, 1, nanos(IDLE));
            *grant.lock().unwrap() = Some(granted.unwrap());
        },
        |_| leases.renew(&mine()).is_ok(),
        |round| match round % 2 {
            0 => leases.renew(&mine()).map(|_| ()),
            _ => mine().status().map(|_| ()),
        },
        |round, early, late| {
            let expected = if early { Ok(()) } else { Err(Lost::Expired) };
            assert_eq!(late, expected, "round {round}: renewed: {early}");
            assert_eq!(mine().is_live(), early);
            assert_eq!(leases.release(&mine()).is_ok(), early);
        },
    );
}

fn sessions(timers: &Timers) -> Sessions<u64, u8> {
    Sessions::new(timers, SessionPolicy::new().idle(nanos(IDLE)))
}

#[test]
fn a_session_lives_for_both_or_is_gone_for_both() {
    let timers = timers();
    let sessions = sessions(&timers);
    rounds(
        |round| drop(sessions.start(round, 0).unwrap()),
        |round| sessions.touch(&round).is_ok(),
        |round| match round % 3 {
            0 => sessions.get(&round).is_some(),
            1 => sessions.contains(&round),
            _ => sessions.touch(&round).is_ok(),
        },
        |round, early, late| {
            assert_eq!(late, early, "round {round}");
            assert_eq!(sessions.remove(&round).is_ok(), early);
            assert_eq!(sessions.len(), 0);
        },
    );
}

#[test]
fn a_session_that_was_touched_is_ended_and_else_has_expired() {
    let timers = timers();
    let sessions = sessions(&timers);
    rounds(
        |round| {
            let limits = SessionPolicy::new().idle(nanos(IDLE)).limits();
            drop(sessions.start_with(round, 0, Some("ada"), limits).unwrap());
        },
        |round| sessions.touch(&round).is_ok(),
        |round| match round % 2 {
            0 => sessions.remove(&round).is_ok(),
            _ => sessions.revoke_all("ada") == 1,
        },
        |round, early, late| {
            // Touched first and then ended, or expired; never touched, and missed.
            assert!(late || !early, "round {round}: touched, and not ended");
            assert!(!sessions.contains(&round));
            assert_eq!(sessions.len(), 0);
        },
    );
}

#[test]
fn a_session_that_is_started_is_touched_or_has_expired_before() {
    let timers = timers();
    let sessions = sessions(&timers);
    rounds(
        |round| drop(sessions.start(round, 0).unwrap()),
        |round| {
            sessions
                .touch(&round)
                .is_ok_and(|left| left.deadline < at(round, 20))
        },
        |round| sessions.touch_or_start(round, || 1).unwrap().is_started(),
        |round, early, late| {
            assert!(!(early && late), "round {round}: two under one key");
            assert_eq!(sessions.len(), 1, "round {round}");
            sessions.remove(&round).unwrap();
            assert_eq!(sessions.len(), 0, "round {round}");
        },
    );
}

fn at(round: u64, offset: u64) -> Timestamp {
    Timestamp::from_nanos(round * 100 + offset)
}
