//! A guard that could renew does: whatever time was lost before it began, and however short the lessor lets
//! it live. What it has to give back it gives back, whatever panics.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use tickwheel::{FencingToken, LeaseGuardOptions, Lessor, Loss, ManualClock, Renewal, Timers};

use crate::{Bed, at, secs};

/// A lessor who lets everything live for one span, whatever it is asked for.
#[derive(Clone)]
struct Own {
    clock: ManualClock,
    timers: Timers,
    /// How long a grant is under way.
    delay: Duration,
    life: Arc<AtomicU64>,
    renewals: Arc<Mutex<Vec<u64>>>,
}

impl Own {
    fn new(delay: u64, life: u64) -> Self {
        let clock = ManualClock::new();
        let timers = Timers::builder().clock(clock.clone());
        Self {
            timers: timers.build_hand_driven().unwrap(),
            clock,
            delay: secs(delay),
            life: Arc::new(AtomicU64::new(life)),
            renewals: Arc::default(),
        }
    }

    fn options(&self) -> LeaseGuardOptions {
        LeaseGuardOptions::new(&self.timers).jitter(0)
    }

    fn life(&self) -> Duration {
        secs(self.life.load(Ordering::Relaxed))
    }

    fn go(&self, second: u64) {
        self.clock.set(at(second));
        while self.timers.turn_fully().unwrap().fired > 0 {}
    }

    fn renewals(&self) -> Vec<u64> {
        self.renewals.lock().unwrap().clone()
    }
}

impl Lessor for Own {
    type Request = ();
    type Grant = ();
    type Error = ();
    type ReleaseError = ();

    fn acquire(&self, (): (), _ttl: Duration) -> Result<((), Duration), ()> {
        self.clock.advance(self.delay);
        Ok(((), self.life()))
    }

    fn renew(&self, (): &(), renewal: Renewal) {
        self.renewals
            .lock()
            .unwrap()
            .push(renewal.asked().as_nanos() / 1_000_000_000);
        renewal.confirm(self.life());
    }

    fn release(&self, (): &()) -> Result<(), ()> {
        Ok(())
    }

    fn token(&self, (): &()) -> FencingToken {
        FencingToken::new(1)
    }
}

#[test]
fn a_grant_that_was_long_under_way_is_renewed_at_once_and_then_every_third() {
    let own = Own::new(21, 30);
    let guard = own.options().acquire(own.clone(), (), secs(30)).unwrap();
    assert_eq!(guard.deadline(), Some(at(30)));
    for second in 21..=100 {
        own.go(second);
        assert!(!guard.is_lost() && !guard.is_at_risk(), "at {second}");
    }
    assert_eq!(own.renewals(), [21, 31, 41, 51, 61, 71, 81, 91]);
}

#[test]
fn renewals_go_by_the_life_that_the_lessor_gives_if_that_is_shorter() {
    let own = Own::new(0, 9);
    let guard = own.options().acquire(own.clone(), (), secs(30)).unwrap();
    for second in 1..=30 {
        own.go(second);
        assert!(!guard.is_lost() && !guard.is_at_risk(), "at {second}");
    }
    assert_eq!(own.renewals(), (1..=10).map(|n| n * 3).collect::<Vec<_>>());
}

#[test]
fn a_lessor_who_comes_to_give_less_is_asked_more_often() {
    let own = Own::new(0, 30);
    let guard = own.options().acquire(own.clone(), (), secs(30)).unwrap();
    own.go(9);
    own.life.store(24, Ordering::Relaxed);
    for second in 10..=60 {
        own.go(second);
        assert!(!guard.is_lost(), "at {second}");
    }
    assert!(!guard.is_at_risk());
    assert_eq!(own.renewals(), [10, 18, 26, 34, 42, 50, 58]);
    own.life.store(90, Ordering::Relaxed);
    for second in 61..=100 {
        own.go(second);
    }
    assert_eq!(own.renewals()[7..], [66, 76, 86, 96], "what was asked for");
}

#[test]
fn with_a_time_of_zero_the_life_that_the_lessor_gives_counts() {
    let own = Own::new(0, 9);
    let guard = own.options().acquire(own.clone(), (), Duration::ZERO);
    let guard = guard.unwrap();
    for second in 1..=12 {
        own.go(second);
        assert!(!guard.is_lost() && !guard.is_at_risk(), "at {second}");
    }
    assert_eq!(own.renewals(), [3, 6, 9, 12]);
}

#[test]
fn what_is_kept_near_its_deadline_is_renewed_at_once() {
    let bed = Bed::new();
    let grant = bed.ask("A", 30).unwrap();
    bed.set(21);
    let deadline = grant.deadline();
    let options = LeaseGuardOptions::new(&bed.timers).jitter(0);
    let guard = options
        .keep(bed.leases.clone(), grant, secs(30), deadline)
        .unwrap();
    assert!(guard.is_at_risk());
    bed.drive();
    bed.go(22);
    assert!(!guard.is_at_risk());
    for second in 23..=100 {
        bed.go(second);
        assert!(!guard.is_lost(), "at {second}");
    }
}

#[test]
fn a_hold_whose_token_took_its_time_is_renewed() {
    let (slow, later) = (Arc::new(Mutex::new(None::<ManualClock>)), secs(21));
    let clock = Arc::clone(&slow);
    let bed = Bed::with(|builder| {
        builder.persist_tokens(100, move |_| {
            let clock = clock.lock().unwrap().clone();
            clock.into_iter().for_each(|clock| {
                clock.advance(later);
            });
            Ok::<(), std::io::Error>(())
        })
    });
    *slow.lock().unwrap() = Some(bed.clock.clone());
    let guard = bed.leases.hold("r", "A", secs(30)).unwrap();
    assert_eq!(guard.deadline(), Some(at(30)), "asked at 0");
    for second in 22..=60 {
        bed.go(second);
        assert!(!guard.is_lost(), "at {second}");
    }
}

/// A waker that panics.
struct Bad;

impl Wake for Bad {
    fn wake(self: Arc<Self>) {
        panic!("on purpose");
    }
}

#[test]
fn a_release_releases_though_a_waker_panics() {
    let bed = Bed::new();
    let guard = bed.leases.hold("r", "A", secs(10)).unwrap();
    let mut lost = Box::pin(guard.lost());
    let waker = Waker::from(Arc::new(Bad));
    let pending = lost.as_mut().poll(&mut Context::from_waker(&waker));
    assert!(pending.is_pending());
    let released = catch_unwind(AssertUnwindSafe(|| guard.release()));
    assert!(released.is_err(), "the panic is told");
    assert!(bed.leases.is_empty() && bed.ask("B", 10).is_ok());
    let mut cx = Context::from_waker(Waker::noop());
    assert!(matches!(
        lost.as_mut().poll(&mut cx),
        std::task::Poll::Ready(Loss::Released)
    ));
}

#[test]
fn a_guard_keeps_its_timer_where_others_take_every_place() {
    let bed = Bed::on(Timers::builder().limit(4), |builder| builder);
    let guard = bed.leases.hold("r", "A", secs(9)).unwrap();
    for second in 1..=60 {
        while bed.timers.arm(secs(1000), |_| {}).is_ok() {}
        bed.go(second);
        assert!(!guard.is_lost(), "at {second}");
    }
    drop(guard);
    assert_eq!(bed.timers.len(), 2, "both places are free");
}
