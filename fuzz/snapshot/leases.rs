//! Leases.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use tickwheel::snapshot::{LeasesSnapshot, RestoreError, RestoreOptions, RestoreReport, WallTime};
use tickwheel::{FencingToken, Leases};

use crate::kind::{Expected, Kind, is_twice, malformed, near, version};
use crate::machine::{Machine, Passed};

pub(crate) struct Held(Leases<String>, Arc<AtomicUsize>);

/// A grant and its token, or a lock delay.
type Id = (String, Option<u64>);

impl Kind for Held {
    type Snapshot = LeasesSnapshot<String>;
    type Id = Id;

    fn start(machine: &Machine) -> Self {
        let told = Arc::<AtomicUsize>::default();
        let log = Arc::clone(&told);
        let hook = move |_: tickwheel::Ended<&String, &String>| {
            log.fetch_add(1, Relaxed);
        };
        Self(Leases::builder().on_end(hook).build(&machine.timers), told)
    }

    fn fold(snapshot: &mut Self::Snapshot) {
        snapshot.version = 1;
        snapshot.high_water %= 16;
        near(&mut snapshot.taken_at);
        for grant in &mut snapshot.grants {
            grant.token = 1 + grant.token % 8;
            grant.deadline.iter_mut().for_each(near);
            grant.cap.iter_mut().for_each(near);
        }
        for delay in &mut snapshot.delays {
            delay.until.iter_mut().for_each(near);
        }
    }

    fn flaw(snapshot: &Self::Snapshot) -> Option<RestoreError> {
        let (high, grants) = (snapshot.high_water, &snapshot.grants);
        let tokens = || grants.iter().map(|grant| grant.token);
        let delayed = snapshot.delays.iter().map(|delay| &delay.resource);
        let resources = grants.iter().map(|grant| &grant.resource);
        let is_malformed = high == u64::MAX
            || tokens().any(|token| token == 0 || token > high)
            || is_twice(tokens())
            || is_twice(resources.chain(delayed));
        version(snapshot.version).or_else(|| malformed(is_malformed))
    }

    fn taken_at(snapshot: &Self::Snapshot) -> WallTime {
        snapshot.taken_at
    }

    fn expect(snapshot: &Self::Snapshot, machine: &Machine, passed: &Passed) -> Expected<Id> {
        let mut expected = Expected::new();
        let until = |deadline| machine.life(passed, snapshot.taken_at, deadline);
        for grant in &snapshot.grants {
            let id = (grant.resource.clone(), Some(grant.token));
            expected.add(id, until(grant.deadline));
        }
        for delay in &snapshot.delays {
            if let Some(until) = until(delay.until) {
                expected.lives.insert((delay.resource.clone(), None), until);
            }
        }
        expected
    }

    fn restore(
        &self,
        snapshot: Self::Snapshot,
        options: RestoreOptions,
    ) -> Result<RestoreReport, RestoreError> {
        self.0.restore(snapshot, options)
    }

    fn save(&self, machine: &Machine) -> Self::Snapshot {
        self.0.snapshot_at(machine.anchor())
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn told(&self) -> usize {
        self.1.load(Relaxed)
    }

    fn is_asked(&self, snapshot: &Self::Snapshot, lives: &BTreeMap<Id, u64>) {
        for grant in &snapshot.grants {
            let token = FencingToken::new(grant.token);
            let until = lives.get(&(grant.resource.clone(), Some(grant.token)));
            let found = self.0.resume(&grant.resource, token);
            let deadline = found.as_ref().map(|found| found.deadline().as_nanos());
            assert_eq!(deadline, until.copied(), "of {grant:?}");
            if let Some(found) = found {
                assert_eq!((found.holder(), found.token()), (&grant.holder, token));
            }
        }
        let held = lives.keys().filter(|(_, token)| token.is_some());
        assert_eq!(self.len(), held.count());
        assert_eq!(self.0.high_water().get(), snapshot.high_water);
    }

    fn goes_on(&self, snapshot: &Self::Snapshot) {
        let ttl = Duration::from_secs(1);
        for grant in &snapshot.grants {
            let token = FencingToken::new(grant.token);
            let Some(found) = self.0.resume(&grant.resource, token) else {
                continue;
            };
            let other = self.0.try_acquire(&*grant.resource, "other", ttl);
            assert!(other.is_err(), "{grant:?} is somebody else's");
            // A renewal that is refused, for it lives for no time, has ended it or not, but for good.
            let before = found.deadline();
            match self.0.renew(&found) {
                Ok(deadline) => assert!(deadline >= before, "a renewal shortens a life"),
                Err(lost) => panic!("{grant:?} is lost: {lost:?}"),
            }
            assert!(self.0.release(&found).is_ok());
        }
        let granted = self.0.try_acquire("\u{1}another", "worker", ttl);
        if let Ok(granted) = &granted {
            assert!(granted.token().get() > snapshot.high_water);
        }
        let delayed = snapshot.delays.iter();
        let mut named = delayed.map(|delay| &*delay.resource);
        assert!(granted.is_ok() || named.any(|resource| resource == "\u{1}another"));
    }
}
