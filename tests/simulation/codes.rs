//! Codes for two subjects. The model: for each a cell with the code that lives.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::SmallRng;
use tickwheel::snapshot::CodesSnapshot;
use tickwheel::{Alphabet, EndReason, IssueError, Issued, OneTimeCodes, RefusedCause, Timers};

use crate::cx::Cx;
use crate::ends::Ends;
use crate::process::Passage;

const TTL: u64 = 30;
const ATTEMPTS: u32 = 3;
const COOLDOWN: u64 = 5;
const SUBJECTS: [&str; 2] = ["ada", "bob"];
const PURPOSE: &str = "login";
/// Nobody is issued that one in 2^160 tries.
const WRONG: &str = "00000000000000000000000000000000";

#[derive(Clone, Debug)]
pub(crate) enum Do {
    Issue(usize),
    /// The last code but so many, or a wrong one; with its nonce or without.
    Answer(usize, Option<usize>, bool),
    Cancel(usize),
    Left(usize),
    Count,
}

impl Do {
    pub(crate) fn draw(rng: &mut SmallRng) -> Self {
        let (of, back) = (rng.random_range(0..2), rng.random_range(0..3));
        let right = rng.random_ratio(1, 3);
        match rng.random_range(0..10) {
            0..=3 => Self::Issue(of),
            4..=7 => Self::Answer(of, right.then_some(back), rng.random_ratio(1, 3)),
            8 => Self::Cancel(of),
            _ if right => Self::Left(of),
            _ => Self::Count,
        }
    }
}

#[derive(Clone, Debug)]
struct Alive {
    generation: u64,
    nonce: u64,
    deadline: u64,
    wrong: u32,
}

#[derive(Default)]
struct Cell {
    code: Option<Alive>,
    cooled: u64,
    /// What is remembered of a subject does not go back behind that.
    floor: u64,
}

#[derive(Default)]
pub(crate) struct Part {
    real: Option<OneTimeCodes>,
    saved: Option<CodesSnapshot>,
    cells: [Cell; 2],
    issued: [Vec<Issued>; 2],
    pub(crate) ends: Ends,
}

// --- the process ---

impl Part {
    pub(crate) fn start(&mut self, timers: &Timers, passage: &Passage) -> Result<(), String> {
        let log = self.ends.open();
        let real = OneTimeCodes::builder(timers)
            .alphabet(Alphabet::Digits, WRONG.len())
            .time_to_live(Duration::from_nanos(TTL))
            .attempts(ATTEMPTS)
            .attempts_per_subject(1_000, Duration::from_nanos(500))
            .issues_per_subject(1_000, Duration::from_nanos(500))
            .cooldown(Duration::from_nanos(COOLDOWN))
            .digest_key([7; 32])
            .on_end(move |end| {
                let told = (end.reason, end.deadline.as_nanos(), end.value.as_u64());
                log.tell(end.generation, told);
            })
            .build()
            .map_err(|error| error.to_string())?;
        if let Some(saved) = self.saved.take() {
            let restored = real.restore(saved, &[PURPOSE], passage.options());
            let report = restored.map_err(|error| error.to_string())?;
            let live = self.live();
            if report.restored != live {
                return Err(format!("{report:?}, and should be {live}"));
            }
        }
        self.real = Some(real);
        self.cells.iter_mut().for_each(|cell| cell.floor = 0);
        Ok(())
    }

    pub(crate) fn save(&mut self, passage: &Passage) {
        let real = self.real.as_ref().expect("it runs");
        self.saved = Some(real.snapshot_at(passage.anchor));
    }

    pub(crate) fn stop(&mut self) {
        self.real = None;
        for cell in &self.cells {
            if let Some(code) = &cell.code {
                let end = (EndReason::Shutdown, code.deadline, code.nonce);
                self.ends.add(code.generation, end);
            }
        }
    }
}

// --- the model ---

impl Part {
    /// Looks at all, after which the clock goes back.
    pub(crate) fn look(&mut self, now: u64) -> Result<(), String> {
        let real = self.real.clone().expect("it runs");
        for (cell, subject) in self.cells.iter_mut().zip(SUBJECTS) {
            let is = real.time_to_live(subject, PURPOSE).is_some();
            if is != cell.code.is_some() {
                return Err(format!("{subject} has a code: {is}"));
            }
            cell.floor = cell.floor.max(now);
        }
        let (is, should) = (real.len(), self.live());
        if is != should {
            return Err(format!("{is} codes, and should be {should}"));
        }
        Ok(())
    }

    fn live(&self) -> usize {
        let live = self.cells.iter().filter(|cell| cell.code.is_some());
        live.count()
    }

    pub(crate) fn settle(&mut self, now: u64) {
        for of in 0..SUBJECTS.len() {
            let now = now.max(self.cells[of].floor);
            if self.cells[of]
                .code
                .as_ref()
                .is_some_and(|code| code.deadline <= now)
            {
                self.end(of, EndReason::Absolute);
            }
        }
    }

    fn end(&mut self, of: usize, reason: EndReason) -> Option<u64> {
        let gone = self.cells[of].code.take()?;
        self.ends
            .add(gone.generation, (reason, gone.deadline, gone.nonce));
        Some(gone.nonce)
    }

    /// Whether an answer is accepted; if not, what is left of the attempts if any was charged.
    fn verify(
        &mut self,
        of: usize,
        generation: Option<u64>,
        nonce: Option<u64>,
    ) -> Result<(), Option<u32>> {
        let Some(code) = &mut self.cells[of].code else {
            return Err(None);
        };
        if nonce.is_some_and(|nonce| nonce != code.nonce) {
            return Err(None);
        }
        if generation == Some(code.generation) {
            self.end(of, EndReason::Consumed);
            return Ok(());
        }
        code.wrong += 1;
        let left = ATTEMPTS - code.wrong;
        if left == 0 {
            self.end(of, EndReason::TooManyAttempts);
        }
        Err(Some(left))
    }
}

// --- both ---

impl Part {
    pub(crate) fn act(&mut self, what: &Do, cx: &Cx<'_>) -> Result<String, String> {
        let real = self.real.clone().expect("it runs");
        Ok(match *what {
            Do::Issue(of) => {
                let cooled = self.cells[of].cooled;
                let mut now = cx.now.max(self.cells[of].floor);
                let left = cooled.checked_sub(now).filter(|left| *left > 0);
                match real.issue(SUBJECTS[of], PURPOSE) {
                    Ok(issued) => {
                        cx.same("cooldown", &None, &left)?;
                        if self.end(of, EndReason::Replaced).is_none()
                            && issued.deadline.as_nanos() == cx.now + TTL
                        {
                            // The subject was forgotten, and with it what time it was.
                            (now, self.cells[of].floor) = (cx.now, 0);
                        }
                        let code = Alive {
                            generation: issued.generation,
                            nonce: issued.nonce.as_u64(),
                            deadline: now + TTL,
                            wrong: 0,
                        };
                        cx.same("deadline", &issued.deadline.as_nanos(), &code.deadline)?;
                        let line = format!("{} is issued {}", SUBJECTS[of], code.generation);
                        let cell = &mut self.cells[of];
                        (cell.code, cell.cooled) = (Some(code), now + COOLDOWN);
                        self.issued[of].push(issued);
                        line
                    }
                    Err(IssueError::Cooldown(is)) => {
                        cx.same("cooldown", &Some(is.as_nanos() as u64), &left)?
                    }
                    Err(IssueError::TimersFull) => cx.full()?,
                    Err(other) => return Err(other.to_string()),
                }
            }
            Do::Answer(of, back, with_nonce) => {
                let all = &self.issued[of];
                let issued = back.and_then(|back| all.len().checked_sub(back + 1));
                let issued = issued.map(|number| &all[number]);
                let text = issued.map_or(WRONG, |issued| issued.code.expose());
                let nonce = issued.map(|issued| issued.nonce).filter(|_| with_nonce);
                let is = match nonce {
                    Some(nonce) => real.verify_nonce(SUBJECTS[of], PURPOSE, nonce, text),
                    None => real.verify(SUBJECTS[of], PURPOSE, text),
                };
                let is = is.map_err(|refused| {
                    let cause = refused.cause();
                    let RefusedCause::Mismatch { left } = cause else {
                        let well_formed = cause != RefusedCause::Malformed;
                        return (!well_formed).then_some(u32::MAX);
                    };
                    Some(left)
                });
                let generation = issued.map(|issued| issued.generation);
                let expected = self.verify(of, generation, nonce.map(|nonce| nonce.as_u64()));
                cx.same(
                    &format!("{} answers with {generation:?}", SUBJECTS[of]),
                    &is,
                    &expected,
                )?
            }
            Do::Cancel(of) => {
                let is = real.cancel(SUBJECTS[of], PURPOSE);
                let expected = self.end(of, EndReason::Removed);
                // Nonces are drawn at random, and have no place in a story.
                cx.same("nonce", &is.map(|nonce| nonce.as_u64()), &expected)?;
                format!("{} cancels: {}", SUBJECTS[of], is.is_some())
            }
            Do::Left(of) => {
                let is = real
                    .time_to_live(SUBJECTS[of], PURPOSE)
                    .map(|left| left.as_nanos() as u64);
                let now = cx.now.max(self.cells[of].floor);
                let code = self.cells[of].code.as_ref();
                cx.same(SUBJECTS[of], &is, &code.map(|code| code.deadline - now))?
            }
            Do::Count => cx.same("counts", &real.len(), &self.live())?,
        })
    }
}
