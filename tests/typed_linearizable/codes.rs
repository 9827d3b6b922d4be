//! Codes for one subject and purpose.

use std::sync::{Arc, Mutex};

use tickwheel::{Alphabet, EndReason, IssueError, Issued, OneTimeCodes, RefusedCause, Timers};

use crate::kind::{Kind, Model, Pick, nanos, time};
use crate::race::dawdle;

const TTL: u64 = 10;
const ATTEMPTS: u32 = 2;
const COOLDOWN: u64 = 3;

/// An end that was told: generation, why, deadline.
pub(crate) type End = (u64, EndReason, u64);

#[derive(Clone, Debug)]
pub(crate) enum Did {
    /// Somebody began to issue a code at that time, from which its life is counted.
    Drafted(u64),
    /// The generation and the deadline.
    Issued(u64, u64),
    /// For how long.
    Cooldown(u64),
    /// An answer: the code of that generation, or a wrong one; with that nonce, if with any.
    Verify {
        code: Option<u64>,
        nonce: Option<u64>,
        answer: Result<(), RefusedCause>,
    },
    /// Which has ended.
    Cancel(Option<u64>),
    /// One has ended whose issuer has not got it yet.
    CancelUnseen,
    /// How long the code will live.
    Left(Option<u64>),
    Turned,
    /// All ends, by generation.
    Told(Vec<End>),
}

// --- the model ---

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Alive {
    generation: u64,
    deadline: u64,
    wrong: u32,
}

/// A cell for the code, and what was in it before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Cell {
    code: Option<Alive>,
    /// When the next may be issued.
    cooled: u64,
    /// That there was a code.
    remembers: bool,
    ends: Vec<End>,
}

impl Cell {
    fn end(&mut self, reason: EndReason) -> Option<u64> {
        let gone = self.code.take()?;
        self.ends.push((gone.generation, reason, gone.deadline));
        Some(gone.generation)
    }

    fn expire(&mut self, now: u64) {
        if self.code.as_ref().is_some_and(|code| code.deadline <= now) {
            self.end(EndReason::Absolute);
        }
    }

    /// Why an answer is refused, if it is.
    fn verify(&mut self, code: Option<u64>, nonce: Option<u64>) -> Option<RefusedCause> {
        let Some(alive) = &mut self.code else {
            let last = self.ends.last().filter(|_| self.remembers);
            return Some(last.map_or(RefusedCause::Unknown, |end| RefusedCause::Ended(end.1)));
        };
        if nonce.is_some_and(|nonce| nonce != alive.generation) {
            return Some(RefusedCause::OtherNonce);
        }
        if code == Some(alive.generation) {
            self.end(EndReason::Consumed);
            return None;
        }
        alive.wrong += 1;
        let left = ATTEMPTS - alive.wrong;
        if left == 0 {
            self.end(EndReason::TooManyAttempts);
        }
        Some(RefusedCause::Mismatch { left })
    }

    fn step(&mut self, now: u64, did: &Did) -> bool {
        self.expire(now);
        match *did {
            Did::Drafted(at) => at == now,
            Did::Issued(generation, deadline) => {
                let fits = self.cooled <= now && deadline <= now + TTL;
                self.end(EndReason::Replaced);
                (self.cooled, self.remembers) = (now + COOLDOWN, true);
                self.code = Some(Alive {
                    generation,
                    deadline,
                    wrong: 0,
                });
                fits && generation == self.ends.len() as u64
            }
            Did::Cooldown(left) => now + left == self.cooled && left > 0,
            Did::Verify {
                code,
                nonce,
                answer,
            } => answer.err() == self.verify(code, nonce),
            Did::Cancel(generation) => generation == self.end(EndReason::Removed),
            Did::CancelUnseen => self.end(EndReason::Removed).is_some(),
            Did::Left(left) => left == self.code.as_ref().map(|code| code.deadline - now),
            Did::Turned => true,
            Did::Told(ref told) => {
                self.end(EndReason::Shutdown);
                *told == self.ends
            }
        }
    }
}

impl Model for Cell {
    type Did = Did;

    fn after(&self, now: u64, did: &Did) -> Vec<Self> {
        let mut then = self.clone();
        let mut all = Vec::new();
        if then.step(now, did) {
            if then.remembers && then.code.is_none() && then.cooled <= now {
                // What matters no more is forgotten, also for those who still believe in an earlier time; unless somebody
                // is about to issue a code.
                let (cooled, remembers) = (0, false);
                let ends = then.ends.clone();
                all.push(Self {
                    cooled,
                    remembers,
                    ends,
                    code: None,
                });
            }
            all.push(then);
        }
        if matches!(did, Did::Turned) {
            // It may have been too early.
            all.push(self.clone());
        }
        all
    }
}

// --- the real ones ---

pub(crate) struct Real {
    codes: OneTimeCodes,
    issued: Mutex<Vec<Issued>>,
    told: Arc<Mutex<Vec<End>>>,
}

impl Real {
    /// One of the codes: its generation, nonce and secret.
    fn pick(&self, pick: Pick<'_>) -> Option<(u64, tickwheel::CodeNonce, String)> {
        let issued = self.issued.lock().unwrap();
        let back = 1 + usize::from(pick(4) == 0);
        let one = &issued[issued.len().checked_sub(back)?];
        Some((one.generation, one.nonce, one.code.expose().to_owned()))
    }

    fn issue(&self) -> Vec<Did> {
        match self.codes.issue("ada", "login") {
            Ok(issued) => {
                let (generation, deadline) = (issued.generation, time(issued.deadline));
                self.issued.lock().unwrap().push(issued);
                vec![
                    Did::Drafted(deadline - TTL),
                    Did::Issued(generation, deadline),
                ]
            }
            Err(IssueError::Cooldown(left)) => vec![Did::Cooldown(left.as_nanos() as u64)],
            Err(other) => panic!("{other}"),
        }
    }
}

/// Nobody is issued that one in 2^160 tries.
const WRONG: &str = "00000000000000000000000000000000";

impl Kind for Real {
    type Model = Cell;

    fn new(timers: &Timers) -> Self {
        let told = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&told);
        let codes = OneTimeCodes::builder(timers)
            .alphabet(Alphabet::Crockford32, WRONG.len())
            .time_to_live(nanos(TTL))
            .attempts(ATTEMPTS)
            .cooldown(nanos(COOLDOWN))
            .attempts_per_subject(1, nanos(0))
            .issues_per_subject(1, nanos(0))
            .on_end(move |end| {
                dawdle();
                let end: End = (end.generation, end.reason, time(end.deadline));
                log.lock().unwrap().push(end);
            })
            .build();
        Self {
            codes: codes.unwrap(),
            issued: Mutex::default(),
            told,
        }
    }

    fn act(&self, pick: Pick<'_>) -> Vec<Did> {
        let codes = &self.codes;
        let what = pick(12);
        let Some((code, nonce, secret)) = self.pick(pick).filter(|_| what > 3) else {
            return self.issue();
        };
        let did = match what {
            4..7 => Did::Verify {
                code: Some(code),
                nonce: None,
                answer: codes.verify("ada", "login", &secret).map_err(|r| r.cause()),
            },
            7 => Did::Verify {
                code: None,
                nonce: None,
                answer: codes.verify("ada", "login", WRONG).map_err(|r| r.cause()),
            },
            8 | 9 => {
                let answer = [&secret, WRONG][pick(2) as usize];
                let right = (answer == secret).then_some(code);
                let verified = codes.verify_nonce("ada", "login", nonce, answer);
                Did::Verify {
                    code: right,
                    nonce: Some(code),
                    answer: verified.map_err(|refused| refused.cause()),
                }
            }
            10 => {
                let left = codes.time_to_live("ada", "login");
                Did::Left(left.map(|left| left.as_nanos() as u64))
            }
            _ => {
                let cancelled = codes.cancel("ada", "login");
                let issued = self.issued.lock().unwrap();
                let mut which = issued.iter().filter(|one| Some(one.nonce) == cancelled);
                match (cancelled, which.next()) {
                    (Some(_), Some(one)) => Did::Cancel(Some(one.generation)),
                    (None, _) => Did::Cancel(None),
                    (Some(_), None) => Did::CancelUnseen,
                }
            }
        };
        vec![did]
    }

    fn turned() -> Did {
        Did::Turned
    }

    fn end(self) -> Did {
        drop(self.codes);
        let mut told = self.told.lock().unwrap().clone();
        told.sort_unstable_by_key(|end| end.0);
        Did::Told(told)
    }
}
