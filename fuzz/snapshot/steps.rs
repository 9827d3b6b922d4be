//! Accepted steps.

use std::collections::BTreeMap;
use std::time::Duration;

use tickwheel::snapshot::{ReplaySnapshot, RestoreError, RestoreOptions, RestoreReport, WallTime};
use tickwheel::{ReplayError, ReplayGuard};

use crate::kind::{Expected, KEY, Kind, is_twice, malformed, near, version};
use crate::machine::{Machine, Passed};

pub(crate) struct Accepted(ReplayGuard);

const SUBJECTS: [&str; 4] = ["ada", "bob", "eve", "tom"];

impl Kind for Accepted {
    type Snapshot = ReplaySnapshot;
    /// The digest of a subject, and the step.
    type Id = ([u8; 32], u64);

    fn start(machine: &Machine) -> Self {
        let window = Duration::from_secs(90);
        Self(ReplayGuard::with_digest_key(&machine.timers, window, KEY).unwrap())
    }

    fn fold(snapshot: &mut Self::Snapshot) {
        let (check, subjects) = known();
        snapshot.version = 1;
        snapshot.key_check = check;
        near(&mut snapshot.taken_at);
        for entry in &mut snapshot.subjects {
            entry.subject = subjects[usize::from(entry.subject[0]) % subjects.len()];
            entry.until.iter_mut().for_each(near);
        }
    }

    fn flaw(snapshot: &Self::Snapshot) -> Option<RestoreError> {
        let other = (snapshot.key_check != known().0).then_some(RestoreError::OtherKey);
        let subjects = snapshot.subjects.iter().map(|entry| entry.subject);
        let twice = malformed(is_twice(subjects));
        version(snapshot.version).or(other).or(twice)
    }

    fn taken_at(snapshot: &Self::Snapshot) -> WallTime {
        snapshot.taken_at
    }

    fn expect(snapshot: &Self::Snapshot, machine: &Machine, passed: &Passed) -> Expected<Self::Id> {
        let mut expected = Expected::new();
        for entry in &snapshot.subjects {
            let life = machine.life(passed, snapshot.taken_at, entry.until);
            expected.add((entry.subject, entry.step), life);
        }
        // A guard tells nobody.
        expected.told = 0;
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
        self.0.remembered()
    }

    fn told(&self) -> usize {
        0
    }

    fn is_asked(&self, _: &Self::Snapshot, lives: &BTreeMap<Self::Id, u64>) {
        assert_eq!(self.len(), lives.len());
        let (_, digests) = known();
        for (subject, digest) in SUBJECTS.iter().zip(digests) {
            let mut steps = lives.keys().filter(|(of, _)| *of == digest);
            if let Some((_, step)) = steps.next() {
                let again = self.0.accept(subject, *step);
                assert_eq!(again, Err(ReplayError::Replayed), "of {subject}");
            }
        }
    }

    fn goes_on(&self, _: &Self::Snapshot) {
        assert_eq!(self.0.accept("somebody", 1), Ok(()));
        assert_eq!(self.0.accept("somebody", 1), Err(ReplayError::Replayed));
    }
}

/// What shows the key, and the digests of the subjects.
fn known() -> ([u8; 32], [[u8; 32]; 4]) {
    thread_local! {
        static KNOWN: ([u8; 32], [[u8; 32]; 4]) = {
            let machine = Machine::at(0);
            let digest = |subject| {
                let guard = Accepted::start(&machine);
                guard.0.accept(subject, 1).unwrap();
                guard.save(&machine).subjects[0].subject
            };
            let check = Accepted::start(&machine).save(&machine).key_check;
            (check, SUBJECTS.map(digest))
        };
    }
    KNOWN.with(|known| *known)
}
