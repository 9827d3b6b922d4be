//! Guards: when they renew, what they believe, what they tell.

use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use tickwheel::{
    AcquireError, ArmError, EndReason, GuardError, LeaseGuardOptions, Loss, Lost, Shutdown, Timers,
    Timestamp,
};

use crate::remote::{Mode, Remote};
use crate::{Bed, Task, at, ready, secs};

type Log<T> = Arc<Mutex<Vec<T>>>;

/// Options that log losses and warnings.
fn logged(remote: &Remote) -> (LeaseGuardOptions, Log<Loss>, Log<u64>) {
    let (losses, risks): (Log<Loss>, Log<u64>) = (Arc::default(), Arc::default());
    let (lost, risk) = (Arc::clone(&losses), Arc::clone(&risks));
    let options = remote
        .options()
        .on_lost(move |loss| lost.lock().unwrap().push(loss))
        .on_risk(move |left| risk.lock().unwrap().push(left.as_secs()));
    (options, losses, risks)
}

#[test]
fn it_renews_every_third_of_its_time() {
    let remote = Remote::new();
    let guard = remote.guard(remote.options(), 90);
    for second in 1..=300 {
        remote.go(second);
        assert!(!guard.is_lost() && !guard.is_at_risk(), "at {second}");
    }
    assert_eq!(
        remote.renewals(),
        (1..=10).map(|n| n * 30).collect::<Vec<_>>()
    );
    assert_eq!(guard.deadline(), Some(at(390)));
}

#[test]
fn jitter_is_only_ever_earlier_and_differs() {
    let mut first = Vec::new();
    for _ in 0..2 {
        let remote = Remote::new();
        let _guard = remote.guard(remote.options().jitter(99), 6000); // 50 at most
        for step in 1..=1000 {
            remote.go(step * 10);
        }
        let mut last = 0;
        for at in remote.renewals() {
            assert!((1000..=2000 + 10).contains(&(at - last)), "{last} to {at}");
            last = at;
        }
        let gaps: std::collections::BTreeSet<_> = {
            let renewals = remote.renewals();
            renewals.windows(2).map(|pair| pair[1] - pair[0]).collect()
        };
        assert!(gaps.len() > 1);
        first.push(remote.renewals());
    }
    assert_eq!(first[0], first[1], "and is the same for the same token");
}

#[test]
fn its_deadline_counts_from_before_the_request() {
    let remote = Remote::new();
    remote.delay(secs(7));
    let guard = remote.guard(remote.options(), 60);
    assert_eq!(guard.deadline(), Some(at(60)), "asked at 0, answered at 7");

    remote.set(Mode::Hold);
    remote.go(7 + 20);
    assert_eq!(guard.deadline(), Some(at(60)));
    remote.go(40);
    remote.answer();
    assert_eq!(
        guard.deadline(),
        Some(at(27 + 60)),
        "asked at 27, answered at 40"
    );
    assert!(guard.deadline().unwrap() <= guard.grant().deadline());
    remote.forget();
}

#[test]
fn a_grant_that_comes_when_it_is_over_is_released() {
    let remote = Remote::new();
    remote.delay(secs(60));
    let late = remote.options().acquire(remote.clone(), "A", secs(60));
    assert!(matches!(late, Err(GuardError::TooLate)));
    assert_eq!(remote.releases(), 1);
    remote.go(60);
    assert!(remote.timers.is_empty());
}

#[test]
fn after_a_failure_it_asks_again_after_a_ninth() {
    for mode in [Mode::Fail, Mode::Lose] {
        let remote = Remote::new();
        let guard = remote.guard(remote.options(), 90);
        remote.set(mode);
        for second in 1..=51 {
            remote.go(second);
        }
        assert_eq!(remote.renewals(), [30, 40, 50], "{mode:?}");
        remote.set(Mode::Answer);
        for second in 52..=91 {
            remote.go(second);
        }
        assert_eq!(remote.renewals()[3..], [60, 90]);
        assert!(!guard.is_at_risk());
    }
}

#[test]
fn it_is_at_risk_a_third_before_its_deadline_and_says_so_once() {
    let remote = Remote::new();
    let (options, losses, risks) = logged(&remote);
    let guard = remote.guard(options, 90);
    remote.set(Mode::Fail);
    remote.go(59);
    assert!(!guard.is_at_risk());
    remote.clock.set(at(60));
    assert!(guard.is_at_risk(), "exact, before anybody has driven");
    for second in 60..=79 {
        remote.go(second);
    }
    assert_eq!(*risks.lock().unwrap(), [30]);
    assert_eq!(remote.renewals(), [59, 60, 70], "asked then, too");
    remote.set(Mode::Answer);
    remote.go(89);
    assert!(!guard.is_at_risk());
    remote.set(Mode::Fail);
    for second in 90..=150 {
        remote.go(second);
    }
    assert_eq!(*risks.lock().unwrap(), [30, 30], "again after a renewal");
    assert!(losses.lock().unwrap().is_empty());
}

#[test]
fn it_is_lost_at_its_deadline_for_good_and_tells_so_in_three_ways() {
    let remote = Remote::new();
    let (options, losses, _) = logged(&remote);
    let guard = remote.guard(options, 90);
    let tasks = [(); 3].map(|()| Task::new());
    let mut futures = tasks.each_ref().map(|task| {
        let mut lost = guard.lost();
        assert!(task.poll(&mut lost).is_pending());
        lost
    });
    let [_, _, dropped] = &tasks;
    assert_eq!(dropped.wakers(), 1);
    remote.set(Mode::Hold);
    for second in 1..90 {
        remote.go(second);
    }
    assert!(!guard.is_lost());
    remote.clock.set(at(90)); // nobody drives
    assert!(guard.is_lost() && guard.deadline().is_none());
    assert_eq!(guard.loss(), Some(Loss::Expired));
    assert_eq!(*losses.lock().unwrap(), [Loss::Expired]);
    remote.answer(); // that would have been until 120
    remote.clock.jump(at(80));
    assert!(guard.is_lost());
    for (task, lost) in tasks.iter().zip(&mut futures) {
        assert_eq!(
            (task.wakes(), task.poll(lost)),
            (1, Poll::Ready(Loss::Expired))
        );
    }
    let asked = remote.renewals().len();
    remote.go(500);
    assert_eq!(remote.renewals().len(), asked, "it asks no more");
    drop(guard);
    assert_eq!(remote.releases(), 1, "the lessor is told all the same");
    assert_eq!(losses.lock().unwrap().len(), 1);
    remote.forget();
}

#[test]
fn the_driver_tells_of_a_loss_without_anybody_looking() {
    let remote = Remote::new();
    let (options, losses, _) = logged(&remote);
    let guard = remote.guard(options, 90);
    let (task, mut lost) = (Task::new(), guard.lost());
    assert!(task.poll(&mut lost).is_pending());
    remote.set(Mode::Fail);
    for second in 1..=90 {
        remote.go(second);
    }
    assert_eq!((task.wakes(), losses.lock().unwrap().len()), (1, 1));
}

#[test]
fn it_is_lost_at_once_when_the_lessor_says_so() {
    let remote = Remote::new();
    let (options, losses, _) = logged(&remote);
    let guard = remote.guard(options, 90);
    remote.set(Mode::Refuse);
    remote.go(30);
    assert_eq!(guard.loss(), Some(Loss::Refused));
    assert_eq!(*losses.lock().unwrap(), [Loss::Refused]);

    // These leases refuse what was revoked.
    let bed = Bed::new();
    let guard = bed.leases.hold("r", "A", secs(90)).unwrap();
    assert!(bed.leases.revoke("r").is_some());
    bed.go(30);
    assert_eq!(guard.loss(), Some(Loss::Refused));
}

#[test]
fn a_release_stops_the_renewals_first_and_late_answers_change_nothing() {
    let remote = Remote::new();
    let (options, losses, risks) = logged(&remote);
    let guard = remote.guard(options, 90);
    let (task, mut lost) = (Task::new(), guard.lost());
    assert!(task.poll(&mut lost).is_pending());
    remote.set(Mode::Hold);
    remote.go(30);
    let grant = guard.grant().clone();
    assert_eq!(guard.release(), Ok(()));
    assert_eq!(ready(task.poll(&mut lost)), Loss::Released);
    remote.answer();
    assert!(!grant.is_live() && remote.leases.holder("r").is_none());
    remote.go(500);
    assert_eq!((remote.renewals(), remote.releases()), (vec![30], 1));
    assert!(remote.timers.is_empty());
    assert!(
        losses.lock().unwrap().is_empty(),
        "it was given back, not lost"
    );
    assert!(risks.lock().unwrap().is_empty());
}

#[test]
fn dropped_it_releases() {
    let bed = Bed::with(|builder| builder.lock_delay(secs(10)));
    let guard = bed.leases.hold("r", "A", secs(90)).unwrap();
    assert_eq!(bed.timers.len(), 2);
    drop(guard);
    assert_eq!(bed.ends(), [("A".into(), EndReason::Released, 90, 1)]);
    assert!(bed.timers.is_empty() && bed.ask("B", 10).is_ok());
}

#[test]
fn a_future_that_goes_takes_its_waker_with_it() {
    let bed = Bed::new();
    let guard = bed.leases.hold("r", "A", secs(90)).unwrap();
    let (task, mut lost) = (Task::new(), guard.lost());
    assert!(task.poll(&mut lost).is_pending() && task.poll(&mut lost).is_pending());
    assert_eq!(task.wakers(), 1);
    drop(lost);
    assert_eq!(task.wakers(), 0);
}

#[test]
fn it_is_lost_with_its_runtime() {
    let remote = Remote::new();
    let (options, losses, _) = logged(&remote);
    let guard = remote.guard(options, 90);
    remote.timers.shutdown(Shutdown::Drop);
    assert_eq!(guard.loss(), Some(Loss::ShutDown));
    assert_eq!(*losses.lock().unwrap(), [Loss::ShutDown]);
}

#[test]
fn a_lessor_that_panics_is_asked_again() {
    let remote = Remote::new();
    let guard = remote.guard(remote.options(), 90);
    remote.set(Mode::Panic);
    remote.go(30);
    assert_eq!(remote.timers.stats().panics, 1);
    remote.set(Mode::Answer);
    remote.go(40);
    assert_eq!(guard.deadline(), Some(at(130)));
}

#[test]
fn near_the_longest_hold_it_is_at_risk_and_then_lost() {
    let bed = Bed::with(|builder| builder.max_hold(secs(200)));
    let (risks, losses): (Log<u64>, Log<Loss>) = (Arc::default(), Arc::default());
    let (risk, lost) = (Arc::clone(&risks), Arc::clone(&losses));
    let guard = LeaseGuardOptions::new(&bed.timers)
        .on_risk(move |left| risk.lock().unwrap().push(left.as_secs()))
        .on_lost(move |loss| lost.lock().unwrap().push(loss))
        .acquire(
            bed.leases.clone(),
            ("r".to_owned(), "A".to_owned()),
            secs(90),
        )
        .unwrap();
    for second in 1..200 {
        bed.go(second);
        assert_eq!(
            (guard.is_lost(), guard.is_at_risk()),
            (false, second >= 170)
        );
    }
    bed.go(200);
    assert!(guard.is_lost());
    assert_eq!(
        (risks.lock().unwrap().len(), losses.lock().unwrap().len()),
        (1, 1)
    );
}

#[test]
fn without_a_timer_there_is_no_guard_and_no_lease() {
    let bed = Bed::on(Timers::builder().limit(1), |builder| builder);
    let guard = bed.leases.hold("r", "A", secs(90));
    assert!(matches!(guard, Err(AcquireError::Full)));
    assert!(bed.leases.is_empty() && bed.timers.is_empty());
    let other = Bed::on(Timers::builder().limit(1), |builder| builder);
    other.timers.arm(secs(1), |_| {}).unwrap();
    let remote = Remote::new();
    let options = LeaseGuardOptions::new(&other.timers);
    let guard = options.acquire(remote.clone(), "A", secs(90));
    assert!(matches!(guard, Err(GuardError::Timer(ArmError::Full))));
    assert_eq!(remote.releases(), 1);
}

#[test]
fn a_grant_that_was_waited_for_can_be_guarded() {
    let bed = Bed::new();
    let grant = bed.ask("A", 90).unwrap();
    bed.go(50);
    let guard = bed.leases.guard(grant.clone()).unwrap();
    assert_eq!(guard.deadline(), Some(at(140)), "renewed as it begins");
    drop(guard);
    assert!(matches!(bed.leases.guard(grant), Err(AcquireError::Lapsed)));
}

#[test]
fn a_lease_without_end_is_never_at_risk() {
    let bed = Bed::new();
    let guard = bed.leases.hold("r", "A", Duration::MAX).unwrap();
    bed.clock.set(Timestamp::from_nanos(u64::MAX - 1));
    bed.drive();
    assert!(!guard.is_lost() && !guard.is_at_risk());
    assert_eq!(guard.deadline(), Some(Timestamp::NEVER));
}

#[test]
fn a_driver_that_comes_late_warns_of_what_is_left_unless_the_answer_comes_at_once() {
    for (mode, warned) in [(Mode::Fail, &[25][..]), (Mode::Answer, &[])] {
        let remote = Remote::new();
        let (options, losses, risks) = logged(&remote);
        let guard = remote.guard(options, 90);
        remote.set(mode);
        remote.go(65);
        assert_eq!(*risks.lock().unwrap(), warned, "{mode:?}");
        assert_eq!(guard.is_at_risk(), mode == Mode::Fail);
        assert!(losses.lock().unwrap().is_empty());
    }
}

#[test]
fn what_the_lessor_says_of_a_release_is_what_the_holder_hears() {
    let remote = Remote::new();
    let guard = remote.guard(remote.options(), 90);
    assert!(remote.leases.revoke("r").is_some());
    assert_eq!(guard.release(), Err(Lost::Revoked));
    let guard = remote.guard(remote.options(), 90);
    assert_eq!((guard.release(), remote.releases()), (Ok(()), 2));
}
