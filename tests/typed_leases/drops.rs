//! Values and panics: nothing is leaked, dropped twice, or lost.

use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;
use std::{future::Future, pin::Pin};

use tickwheel::{EndReason, Leases, Lost, ManualClock, Shutdown, Timers};

use crate::{Task, at, ready, secs};

/// A value that is counted.
struct Counted(Arc<AtomicUsize>, u32);

impl Counted {
    fn new(count: &Arc<AtomicUsize>, id: u32) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count), id)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        assert_ne!(self.0.fetch_sub(1, Ordering::Relaxed), 0, "dropped twice");
    }
}

impl Hash for Counted {
    fn hash<S: Hasher>(&self, state: &mut S) {
        self.1.hash(state);
    }
}

impl PartialEq for Counted {
    fn eq(&self, other: &Self) -> bool {
        self.1 == other.1
    }
}

impl Eq for Counted {}

fn hand_driven() -> (ManualClock, Timers) {
    let clock = ManualClock::new();
    let timers = Timers::builder().clock(clock.clone());
    (clock, timers.build_hand_driven().unwrap())
}

#[test]
fn a_holder_is_dropped_as_soon_as_its_grant_has_ended() {
    let (clock, timers) = hand_driven();
    let holders = Arc::new(AtomicUsize::new(0));
    let alive = || holders.load(Ordering::Relaxed);
    let leases: Leases<u32, Counted> = Leases::builder().lock_delay(secs(5)).build(&timers);
    let holder = || Counted::new(&holders, 0);

    let grant = leases.try_acquire(1u32, holder(), secs(10)).unwrap();
    assert!(leases.try_acquire(1u32, holder(), secs(10)).is_err());
    assert_eq!(alive(), 1, "who is refused is dropped");
    leases.release(&grant).unwrap();
    drop(grant);
    assert_eq!(alive(), 0, "released");

    drop(leases.try_acquire(1u32, holder(), secs(10)).unwrap());
    assert_eq!(alive(), 1, "the lease lives without its grant");
    clock.set(at(10));
    timers.turn_fully().unwrap();
    assert_eq!(alive(), 0, "expired, whatever the lock delay");

    clock.set(at(15));
    let grant = leases.try_acquire(1u32, holder(), secs(10)).unwrap();
    let mut waiting = leases.acquire(1u32, holder(), secs(10));
    assert!(Task::new().poll(&mut waiting).is_pending());
    assert_eq!(alive(), 2);
    drop(waiting);
    assert_eq!(alive(), 1, "who has waited");
    assert!(leases.revoke(&1).is_some());
    drop(grant);
    assert_eq!(alive(), 0, "revoked");
}

#[test]
fn everything_is_dropped_once_whatever_becomes_of_it() {
    for mode in 0..4 {
        let (names, holders) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        {
            let (clock, timers) = hand_driven();
            let leases: Leases<Counted, Counted> = Leases::new(&timers);
            let mut waiting = Vec::new();
            for round in 0..3 {
                for id in 0..20 {
                    let (name, holder) = (Counted::new(&names, id), Counted::new(&holders, id));
                    if id % 2 == 0 {
                        drop(leases.try_acquire(name, holder, secs(10 + u64::from(id))));
                    } else {
                        let mut acquire = leases.acquire(name, holder, secs(10));
                        let _ = Task::new().poll(&mut acquire);
                        waiting.push(acquire);
                    }
                }
                clock.set(at(round * 12));
                timers.turn_fully().unwrap();
            }
            match mode {
                0 => drop(waiting),
                1 => drop(timers.shutdown(Shutdown::Drop)),
                2 => drop(leases),
                _ => drop((timers, waiting)),
            }
        }
        assert_eq!(holders.load(Ordering::Relaxed), 0, "holders, mode {mode}");
        assert_eq!(names.load(Ordering::Relaxed), 0, "names, mode {mode}");
    }
}

/// Panics when it is woken.
struct Bomb;

impl Wake for Bomb {
    fn wake(self: Arc<Self>) {
        panic!("a waker");
    }
}

#[test]
fn a_waker_that_panics_takes_nothing_with_it() {
    let (_, timers) = hand_driven();
    let leases: Leases<String> = Leases::new(&timers);
    let grant = leases.try_acquire("r", "A", secs(10)).unwrap();
    let bomb = Waker::from(Arc::new(Bomb));
    let mut acquire = leases.acquire("r", "B", secs(10));
    let poll = Pin::new(&mut acquire).poll(&mut Context::from_waker(&bomb));
    assert!(poll.is_pending());
    assert!(catch_unwind(AssertUnwindSafe(|| leases.release(&grant))).is_err());
    assert_eq!(leases.release(&grant), Ok(()));
    let next = ready(Task::new().poll(&mut acquire)).unwrap();
    assert!(next.is_live());
}

#[test]
fn a_hook_that_panics_ends_the_grant_all_the_same_and_the_rest_is_done() {
    let (clock, timers) = hand_driven();
    let told = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&told);
    let leases: Leases<String> = Leases::builder()
        .on_end(move |ended| {
            count.fetch_add(1, Ordering::Relaxed);
            assert_ne!(ended.generation % 2, 1, "on purpose");
        })
        .build(&timers);
    let grant = leases.try_acquire("r", "A", secs(10)).unwrap();
    let (task, mut acquire) = (Task::new(), leases.acquire("r", "B", secs(10)));
    assert!(task.poll(&mut acquire).is_pending());
    assert!(catch_unwind(AssertUnwindSafe(|| leases.release(&grant))).is_err());
    assert_eq!(leases.renew(&grant), Err(Lost::Released));
    assert_eq!(task.wakes(), 1, "handed over and woken");
    let two = ready(task.poll(&mut acquire)).unwrap();
    leases.release(&two).unwrap();
    // In the driver: caught there, counted, and the driver lives.
    let _three = leases.try_acquire("r", "C", secs(10)).unwrap();
    clock.set(at(10));
    timers.turn_fully().unwrap();
    assert_eq!(timers.stats().panics, 1);
    assert_eq!(told.load(Ordering::Relaxed), 3);
    assert!(leases.try_acquire("r", "D", secs(10)).is_ok());
}

/// A name whose hash panics when it is told to.
#[derive(PartialEq, Eq)]
struct Moody(bool);

impl Hash for Moody {
    fn hash<S: Hasher>(&self, state: &mut S) {
        assert!(!self.0, "a hash");
        0.hash(state);
    }
}

#[test]
fn a_name_that_panics_leaves_everything_as_it_was() {
    let (_, timers) = hand_driven();
    let leases: Leases<Moody, String> = Leases::new(&timers);
    let ask = |moody| leases.try_acquire(Moody(moody), "A", Duration::MAX);
    assert!(catch_unwind(AssertUnwindSafe(|| ask(true))).is_err());
    let grant = ask(false).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| leases.revoke(&Moody(true)))).is_err());
    assert!(grant.is_live() && timers.len() == 1);
    assert!(leases.release(&grant).is_ok() && leases.is_empty());
}

#[test]
fn reasons_are_told_with_borrowed_values() {
    // Names and holders need neither be cloned nor shown.
    let (_, timers) = hand_driven();
    let count = Arc::new(AtomicUsize::new(0));
    let leases = Leases::<Counted, Counted>::builder()
        .on_end(|ended| {
            assert_eq!((ended.key.1, ended.value.1), (7, 8));
            assert_eq!(ended.reason, EndReason::Revoked);
        })
        .build(&timers);
    let name = || Counted::new(&count, 7);
    let _grant = leases.try_acquire(name(), Counted::new(&count, 8), secs(1));
    assert!(leases.revoke(&name()).is_some());
}
