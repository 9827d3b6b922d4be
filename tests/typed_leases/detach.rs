//! A guard that is taken apart, and one that never comes to be.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use tickwheel::{FencingToken, LeaseGuardOptions, Lessor, Loss, Renewal};

use crate::{Bed, Task, at, ready, secs};

#[test]
fn who_detaches_a_guard_has_the_lease_and_nobody_renews_it() {
    let bed = Bed::new();
    let losses = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&losses);
    let options =
        LeaseGuardOptions::new(&bed.timers).on_lost(move |loss| log.lock().unwrap().push(loss));
    let request = ("r".to_string(), "A".to_string());
    let guard = options
        .acquire(bed.leases.clone(), request, secs(30))
        .unwrap();
    let (task, mut lost) = (Task::new(), guard.lost());
    assert!(task.poll(&mut lost).is_pending());
    bed.go(20); // renewed
    let token = guard.token();

    let grant = guard.detach();
    assert_eq!(grant.token(), token);
    assert_eq!(
        (task.wakes(), ready(task.poll(&mut lost))),
        (1, Loss::Detached)
    );
    assert_eq!(bed.holder().as_deref(), Some("A"));
    assert_eq!(bed.timers.len(), 1, "that of the lease");
    assert!(bed.ends().is_empty() && losses.lock().unwrap().is_empty());

    let deadline = grant.deadline();
    assert!(deadline > at(30) && deadline <= at(50));
    bed.go(50);
    assert!(!grant.is_live() && bed.holder().is_none());
    assert_eq!(bed.ends().len(), 1);
}

#[test]
fn what_was_lost_is_detached_as_lost() {
    let bed = Bed::new();
    let guard = bed.leases.hold("r", "A", secs(30)).unwrap();
    assert_eq!(bed.leases.revoke("r"), Some(guard.token()));
    bed.go(10); // learns of it
    let (task, mut lost) = (Task::new(), guard.lost());
    let grant = guard.detach();
    assert!(!grant.is_live());
    assert_eq!(task.poll(&mut lost), Poll::Ready(Loss::Refused));
    assert!(bed.timers.is_empty());
}

/// A lessor whose grants have no number.
struct Numberless(Arc<AtomicUsize>);

impl Lessor for Numberless {
    type Request = ();
    type Grant = ();
    type Error = ();
    type ReleaseError = ();

    fn acquire(&self, (): (), ttl: Duration) -> Result<((), Duration), ()> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(((), ttl))
    }

    fn renew(&self, (): &(), renewal: Renewal) {
        renewal.refuse();
    }

    fn release(&self, (): &()) -> Result<(), ()> {
        let held = self.0.fetch_sub(1, Ordering::Relaxed);
        assert!(held < 2, "it may panic as well");
        Ok(())
    }

    fn token(&self, (): &()) -> FencingToken {
        panic!("no number");
    }
}

#[test]
fn a_lessor_that_panics_for_a_number_has_its_lease_back() {
    let bed = Bed::new();
    let held = Arc::new(AtomicUsize::new(0));
    for others in 0..2 {
        held.store(others, Ordering::Relaxed);
        let options = LeaseGuardOptions::new(&bed.timers);
        let ask = || options.acquire(Numberless(Arc::clone(&held)), (), secs(10));
        let panic = catch_unwind(AssertUnwindSafe(ask)).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"no number"), "the first panic");
        assert_eq!(held.load(Ordering::Relaxed), others, "released");
        assert!(bed.timers.is_empty());
    }
}
