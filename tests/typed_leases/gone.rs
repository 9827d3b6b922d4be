//! However a resource was used, or was not: once nobody has a use for it any more, others drive it out.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tickwheel::{AcquireError, Grant, Leases, ManualClock, Timers};

use crate::idle::{IDLE, Name};
use crate::secs;

/// How many others are leased at a time.
const OTHERS: u32 = 10 * IDLE as u32;

/// How many timers there is room for.
const LIMIT: usize = 3 * OTHERS as usize;

struct Scene {
    clock: ManualClock,
    timers: Timers,
    leases: Leases<Name, ()>,
    /// How often there is the name in question.
    rare: Arc<AtomicUsize>,
}

impl Scene {
    fn new() -> Self {
        let clock = ManualClock::new();
        let timers = Timers::builder().clock(clock.clone()).limit(LIMIT);
        let timers = timers.build_hand_driven().unwrap();
        Self {
            leases: Leases::builder().lock_delay(secs(5)).build(&timers),
            clock,
            timers,
            rare: Arc::default(),
        }
    }

    fn name(&self) -> Name {
        Name::new(&self.rare, 0)
    }

    /// Lets all be over that has an end.
    fn wait(&self) {
        self.clock.advance(secs(60));
        while self.timers.turn_fully().unwrap().fired > 0 {}
    }

    /// Others drive it out. Which of them do is a matter of chance, so that there may have to be more of them.
    #[track_caller]
    fn driven_out(self) {
        let (count, mut id) = (Arc::default(), 0);
        let mut held = Vec::new();
        for _round in 0..20 {
            let acquire = |_| -> Grant<Name, ()> {
                id += 1;
                let acquired = self.leases.try_acquire(Name::new(&count, id), (), secs(10));
                acquired.unwrap()
            };
            let others: Vec<_> = (0..OTHERS).map(acquire).collect();
            for (nth, grant) in others.into_iter().enumerate() {
                if nth % 16 == 0 {
                    held.push(grant); // so that the next ones lie elsewhere
                } else {
                    self.leases.release(&grant).unwrap();
                }
            }
            if self.rare.load(Ordering::Relaxed) == 0 {
                return;
            }
        }
        panic!("it is held on to");
    }
}

#[test]
fn what_was_leased_and_released_is_driven_out() {
    let scene = Scene::new();
    let grant = scene.leases.try_acquire(scene.name(), (), secs(10));
    scene.leases.release(&grant.unwrap()).unwrap();
    assert!(scene.rare.load(Ordering::Relaxed) > 0, "it is remembered");
    scene.driven_out();
}

#[test]
fn what_was_lost_is_driven_out_once_the_delay_is_over() {
    let scene = Scene::new();
    drop(
        scene
            .leases
            .try_acquire(scene.name(), (), secs(10))
            .unwrap(),
    );
    scene.wait();
    scene.driven_out();
}

#[test]
fn what_there_was_no_timer_for_is_driven_out() {
    let scene = Scene::new();
    let arm = |_| scene.timers.arm(secs(1), |_| {}).unwrap();
    let full: Vec<_> = (0..LIMIT).map(arm).collect();
    let refused = scene.leases.try_acquire(scene.name(), (), secs(10));
    assert!(matches!(refused, Err(AcquireError::Full)));
    for key in full {
        assert!(scene.timers.cancel(key).is_cancelled());
    }
    scene.driven_out();
}

#[cfg(feature = "serde")]
mod restored {
    use super::*;
    use tickwheel::snapshot::{RestoreOptions, RestorePolicy};

    /// What another process had of it: a lease that is held, or a delay.
    fn restore(scene: &Scene, is_delay: bool) {
        let before = Scene::new();
        let grant = before
            .leases
            .try_acquire(scene.name(), (), secs(10))
            .unwrap();
        if is_delay {
            assert!(before.leases.revoke(&scene.name()).is_some());
        }
        let snapshot = before.leases.snapshot();
        assert_eq!(
            (snapshot.grants.len(), snapshot.delays.len()),
            (usize::from(!is_delay), usize::from(is_delay))
        );
        drop((grant, before));
        let options = RestoreOptions::new().policy(RestorePolicy::KeepRemaining);
        scene.leases.restore(snapshot, options).unwrap();
    }

    #[test]
    fn what_was_restored_and_expires_is_driven_out() {
        let scene = Scene::new();
        restore(&scene, false);
        assert_eq!(scene.leases.len(), 1);
        scene.wait();
        scene.driven_out();
    }

    #[test]
    fn what_was_delayed_in_a_snapshot_is_driven_out_once_that_is_over() {
        let scene = Scene::new();
        restore(&scene, true);
        assert!(
            scene
                .leases
                .try_acquire(scene.name(), (), secs(10))
                .is_err()
        );
        scene.wait();
        scene.driven_out();
    }
}
