//! What programs get to: a simulation that never restarts or panics would prove little.

use std::collections::BTreeSet;
use std::ops::AddAssign;
use std::sync::atomic::Ordering;

use tickwheel::EndReason;

use crate::fuse;
use crate::program::{Do, Program};
use crate::world::{finish, play};

/// What a program has got to.
#[derive(Debug, Default)]
pub(crate) struct Reached {
    pub(crate) restarts: usize,
    pub(crate) nested: usize,
    pub(crate) panics: usize,
    pub(crate) fired: usize,
    pub(crate) backs: usize,
    pub(crate) full: usize,
    /// Who waited for a lease: had it, gave up in time, left, came too late.
    pub(crate) waiters: [usize; 4],
    /// Who waited for a future of the runtime and was woken, and what guards have cancelled.
    pub(crate) sleeps: [usize; 2],
    /// Guards of leases that have lost theirs, and renewals.
    pub(crate) keepers: [usize; 2],
    pub(crate) ends: BTreeSet<String>,
}

impl AddAssign for Reached {
    fn add_assign(&mut self, other: Self) {
        self.restarts += other.restarts;
        self.nested += other.nested;
        self.panics += other.panics;
        self.fired += other.fired;
        self.backs += other.backs;
        self.full += other.full;
        for (sum, count) in self.waiters.iter_mut().zip(other.waiters) {
            *sum += count;
        }
        for (sum, count) in self.sleeps.iter_mut().zip(other.sleeps) {
            *sum += count;
        }
        for (sum, count) in self.keepers.iter_mut().zip(other.keepers) {
            *sum += count;
        }
        self.ends.extend(other.ends);
    }
}

pub(crate) fn reach(program: &Program) -> Reached {
    let blown = fuse::blown();
    let world = play(program);
    let restarts = program.steps.iter();
    let (waiters, keepers) = {
        let leases = world.leases.lock().unwrap();
        (leases.waiting.counts(), leases.keepers.counts)
    };
    let mut reached = Reached {
        restarts: restarts
            .filter(|step| matches!(step.what, Do::Restart(_)))
            .count(),
        nested: world.nested.load(Ordering::Relaxed),
        panics: fuse::blown() - blown,
        fired: world.timers.lock().unwrap().fired,
        backs: world.backs.load(Ordering::Relaxed),
        full: world.full.load(Ordering::Relaxed),
        waiters,
        sleeps: world.sleeps.lock().unwrap().counts,
        keepers,
        ends: BTreeSet::new(),
    };
    assert!(finish(&world).is_ok());
    let mut all = |reasons: &[EndReason]| {
        reached
            .ends
            .extend(reasons.iter().map(|reason| format!("{reason:?}")));
    };
    all(&world.sessions.lock().unwrap().ends.reasons);
    all(&world.logins.lock().unwrap().ends.reasons);
    all(&world.leases.lock().unwrap().ends.reasons);
    all(&world.codes.lock().unwrap().ends.reasons);
    reached
}
