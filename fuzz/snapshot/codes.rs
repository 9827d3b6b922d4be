//! One-time codes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use tickwheel::OneTimeCodes;
use tickwheel::snapshot::{
    CodesSnapshot, RestoreError, RestoreOptions, RestoreReport, SubjectSnapshot, WallTime,
};

use crate::kind::{Expected, KEY, Kind, is_twice, malformed, near, version};
use crate::machine::{Machine, Passed};

pub(crate) struct Issued(OneTimeCodes, Arc<AtomicUsize>);

/// The digest of a subject, a purpose, a generation.
type Id = ([u8; 32], String, u64);

/// Those that the program knows.
const PURPOSES: [&str; 2] = ["login", "reset"];
const SUBJECTS: [&str; 4] = ["ada", "bob", "eve", "tom"];
/// Wrong answers that are heard, for a code and for a subject.
const ATTEMPTS: u32 = 5;
const OF_SUBJECT: usize = 3;

impl Issued {
    /// Wrong answers of a subject that count.
    fn counted(subject: &SubjectSnapshot, life: impl Fn(Option<WallTime>) -> Option<u64>) -> usize {
        let counted = subject.attempts.iter().map(|until| life(*until));
        counted.flatten().count()
    }
}

impl Kind for Issued {
    type Snapshot = CodesSnapshot;
    type Id = Id;

    fn start(machine: &Machine) -> Self {
        let told = Arc::<AtomicUsize>::default();
        let log = Arc::clone(&told);
        let codes = OneTimeCodes::builder(&machine.timers)
            .digest_key(KEY)
            .attempts(ATTEMPTS)
            .attempts_per_subject(OF_SUBJECT as u16, Duration::from_secs(600))
            .on_end(move |_| {
                log.fetch_add(1, Relaxed);
            })
            .build();
        Self(codes.unwrap(), told)
    }

    fn fold(snapshot: &mut Self::Snapshot) {
        let (check, subjects) = known();
        snapshot.version = 1;
        snapshot.key_check = check;
        snapshot.next_generation %= 16;
        near(&mut snapshot.taken_at);
        for subject in &mut snapshot.subjects {
            subject.subject = subjects[usize::from(subject.subject[0]) % subjects.len()];
            subject.attempts.iter_mut().flatten().for_each(near);
            subject.issues.iter_mut().flatten().for_each(near);
            for entry in &mut subject.purposes {
                if let Some(known) = PURPOSES.get(entry.purpose.len()) {
                    entry.purpose = (*known).into();
                }
                entry.cooled.iter_mut().for_each(near);
                if let Some(code) = &mut entry.code {
                    code.generation %= 8;
                    code.wrong %= 8;
                    code.deadline.iter_mut().for_each(near);
                }
            }
        }
    }

    fn flaw(snapshot: &Self::Snapshot) -> Option<RestoreError> {
        let (check, _) = known();
        let other = (snapshot.key_check != check).then_some(RestoreError::OtherKey);
        let (next, subjects) = (snapshot.next_generation, &snapshot.subjects);
        let purposes = |subject: &SubjectSnapshot| {
            let purposes = &subject.purposes;
            let mut codes = purposes.iter().flat_map(|entry| &entry.code);
            codes.any(|code| code.generation >= next)
                || is_twice(purposes.iter().map(|entry| &entry.purpose))
        };
        let is_malformed = next >= 1 << 63
            || is_twice(subjects.iter().map(|subject| subject.subject))
            || subjects.iter().any(purposes);
        let malformed = || malformed(is_malformed);
        version(snapshot.version).or(other).or_else(malformed)
    }

    fn taken_at(snapshot: &Self::Snapshot) -> WallTime {
        snapshot.taken_at
    }

    fn expect(snapshot: &Self::Snapshot, machine: &Machine, passed: &Passed) -> Expected<Id> {
        let mut expected = Expected::new();
        let until = |deadline| machine.life(passed, snapshot.taken_at, deadline);
        for subject in &snapshot.subjects {
            let is_tried = Self::counted(subject, until) >= OF_SUBJECT;
            for entry in &subject.purposes {
                let Some(code) = &entry.code else { continue };
                let life = until(code.deadline);
                if !PURPOSES.contains(&&*entry.purpose) {
                    expected.refused += 1;
                } else if life.is_some() && (is_tried || code.wrong >= ATTEMPTS) {
                    expected.refused += 1;
                    expected.told += 1;
                } else {
                    let purpose = entry.purpose.clone();
                    expected.add((subject.subject, purpose, code.generation), life);
                }
            }
        }
        expected
    }

    fn restore(
        &self,
        snapshot: Self::Snapshot,
        options: RestoreOptions,
    ) -> Result<RestoreReport, RestoreError> {
        self.0.restore(snapshot, &PURPOSES, options)
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

    fn is_asked(&self, _: &Self::Snapshot, lives: &BTreeMap<Id, u64>) {
        assert_eq!(self.len(), lives.len());
        let (_, digests) = known();
        for (subject, digest) in SUBJECTS.iter().zip(digests) {
            for purpose in PURPOSES {
                let mut living = lives.keys();
                let lives = living.any(|(of, what, _)| *of == digest && what == purpose);
                let left = self.0.time_to_live(subject, purpose);
                assert_eq!(left.is_some(), lives, "of {subject}, {purpose}");
            }
        }
    }

    fn goes_on(&self, _: &Self::Snapshot) {
        // Whoever was told nothing guesses.
        for subject in SUBJECTS {
            for purpose in PURPOSES {
                assert!(self.0.verify(subject, purpose, "").is_err());
            }
        }
        let issued = self.0.issue("somebody", "login").unwrap();
        let answer = issued.code.expose();
        assert!(self.0.verify("somebody", "login", answer).is_ok());
        assert!(self.0.verify("somebody", "login", answer).is_err());
    }
}

/// What shows the key, and the digests of the subjects.
fn known() -> ([u8; 32], [[u8; 32]; 4]) {
    thread_local! {
        static KNOWN: ([u8; 32], [[u8; 32]; 4]) = {
            let machine = Machine::at(0);
            let Issued(codes, _) = Issued::start(&machine);
            let digest = |subject| *codes.subject_id(subject).as_bytes();
            (codes.snapshot().key_check, SUBJECTS.map(digest))
        };
    }
    KNOWN.with(|known| *known)
}
