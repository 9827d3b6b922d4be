//! Answers to one-time codes.

use std::hint::black_box;
use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use tickwheel::{OneTimeCodes, RefusedCause};

use crate::batches::quantiles;
use crate::peers::timers;
use crate::suite::Shape;

const PURPOSE: &str = "login";

/// Somebody who has a code.
struct Subject {
    name: String,
    code: String,
    wrong: String,
}

/// Subjects, in the order in which they answer, and their codes.
pub(crate) struct Issued {
    codes: OneTimeCodes,
    subjects: Vec<Subject>,
}

/// Right answers. Each ends its code; another one is issued while the clock stands.
pub(crate) fn right(shape: &Shape) -> Vec<f64> {
    let Issued {
        codes,
        mut subjects,
    } = Issued::new(shape.n);
    figures(shape, |at| {
        let batch = &mut subjects[at..][..shape.batch];
        let clock = Instant::now();
        for subject in &*batch {
            let verified = codes.verify(&subject.name, PURPOSE, &subject.code);
            assert!(verified.is_ok(), "a right answer is refused");
        }
        let elapsed = clock.elapsed();
        batch.iter_mut().for_each(|subject| subject.issue(&codes));
        elapsed
    })
}

/// Wrong answers to codes that live, and bear any number of them.
pub(crate) fn wrong(shape: &Shape) -> Vec<f64> {
    let issued = Issued::new(shape.n);
    figures(shape, |at| issued.answer_wrongly(at, shape.batch))
}

/// Answers for subjects that nobody knows.
pub(crate) fn unknown(shape: &Shape) -> Vec<f64> {
    let Issued {
        codes,
        mut subjects,
    } = Issued::new(shape.n);
    for Subject { name, .. } in &mut subjects {
        name.replace_range(..4, "none");
    }
    figures(shape, |at| {
        timed(&subjects[at..][..shape.batch], |subject| {
            let refused = codes.verify(&subject.name, PURPOSE, &subject.code);
            let cause = refused.map_err(|refused| refused.cause());
            assert_eq!(cause, Err(RefusedCause::Unknown), "nobody has a code");
        })
    })
}

/// The keyed digests that an answer needs, and nothing else: who is meant, and the answer.
pub(crate) fn digests(shape: &Shape) -> Vec<f64> {
    let subjects = subjects(shape.n);
    figures(shape, |at| digest_all(&subjects[at..][..shape.batch]))
}

/// What is left of a wrong answer without the digests: reading it, the clock, the map, the lock, the comparison.
pub(crate) fn rest(shape: &Shape) -> Vec<f64> {
    let issued = Issued::new(shape.n);
    let mut digests = Vec::new();
    let all = figures(shape, |at| {
        let alone = digest_all(&issued.subjects[at..][..shape.batch]);
        digests.push(alone.as_nanos() as f64 / shape.batch as f64);
        issued.answer_wrongly(at, shape.batch)
    });
    let digests = quantiles(digests, [0.1, 0.5]);
    all.iter().zip(digests).map(|(all, of)| all - of).collect()
}

/// Nanoseconds per answer: the 10th percentile of the batches, and their median. A batch is told where it begins.
fn figures(shape: &Shape, mut batch: impl FnMut(usize) -> Duration) -> Vec<f64> {
    let begins = (0..shape.n).step_by(shape.batch).cycle();
    let figures = begins
        .take(shape.batches)
        .map(|at| batch(at).as_nanos() as f64 / shape.batch as f64);
    quantiles(figures.collect(), [0.1, 0.5]).to_vec()
}

fn timed<T>(of: &[T], each: impl FnMut(&T)) -> Duration {
    let clock = Instant::now();
    of.iter().for_each(each);
    clock.elapsed()
}

/// None has a code yet.
fn subjects(n: usize) -> Vec<Subject> {
    let mut numbers: Vec<_> = (0..n).collect();
    numbers.shuffle(&mut SmallRng::seed_from_u64(7));
    let subject = |number| Subject {
        name: format!("user{number:07}@example.org"),
        code: "012345".to_owned(),
        wrong: String::new(),
    };
    numbers.into_iter().map(subject).collect()
}

fn digest_all(subjects: &[Subject]) -> Duration {
    let key: [u8; 32] = SmallRng::seed_from_u64(7).random();
    timed(subjects, |Subject { name, code, .. }| {
        let id = digest(&key, &[b"subject", name.as_bytes()]);
        let texts: [&[u8]; 4] = [b"code", &id, PURPOSE.as_bytes(), code.as_bytes()];
        black_box(digest(&key, &texts));
    })
}

/// As this crate does it.
fn digest(key: &[u8; 32], texts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_keyed(key);
    for text in texts {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text);
    }
    *hasher.finalize().as_bytes()
}

// === impl Subject ===

impl Subject {
    fn issue(&mut self, codes: &OneTimeCodes) {
        let issued = codes.issue(&self.name, PURPOSE).expect("there is room");
        self.code.clear();
        self.code.push_str(issued.code.expose());
        let last = if self.code.ends_with('7') { "8" } else { "7" };
        self.wrong.clear();
        self.wrong.push_str(&self.code[..self.code.len() - 1]);
        self.wrong.push_str(last);
    }
}

// === impl Issued ===

impl Issued {
    /// A code for each, without any limit of asking and answering.
    pub(crate) fn new(n: usize) -> Self {
        let codes = unlimited(n);
        let mut subjects = subjects(n);
        // In another order than that in which they answer.
        let mut by_name: Vec<_> = subjects.iter_mut().collect();
        by_name.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        by_name
            .into_iter()
            .for_each(|subject| subject.issue(&codes));
        Self { codes, subjects }
    }

    fn answer_wrongly(&self, at: usize, batch: usize) -> Duration {
        timed(&self.subjects[at..][..batch], |subject| {
            let refused = self.codes.verify(&subject.name, PURPOSE, &subject.wrong);
            assert!(refused.is_err(), "a wrong answer is accepted");
        })
    }
}

/// Codes for so many subjects, whoever asks and answers however often.
pub(crate) fn unlimited(subjects: usize) -> OneTimeCodes {
    OneTimeCodes::builder(&timers())
        .time_to_live(Duration::from_secs(3600))
        .attempts(u32::MAX)
        .attempts_per_subject(1, Duration::ZERO)
        .cooldown(Duration::ZERO)
        .issues_per_subject(1, Duration::ZERO)
        .capacity(subjects)
        .build()
        .expect("the system has random bytes")
}
