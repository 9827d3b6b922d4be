//! Programs: made from a seed, and cut down when they fail.

use rand::rngs::SmallRng;
use rand::{Rng, RngExt, SeedableRng};

use crate::config::Config;
use crate::{codes, keepers, leases, logins, sessions, sleeps, timers};

/// How many threads there are.
pub(crate) const THREADS: u8 = 3;

#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) seed: u64,
    pub(crate) config: Config,
    pub(crate) steps: Vec<Step>,
}

/// What somebody does.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) thread: u8,
    pub(crate) what: Do,
}

#[derive(Clone, Debug)]
pub(crate) enum Do {
    /// Time passes.
    Pass(u64),
    /// The clock goes back.
    Back(u64),
    /// The runtime is paused, or goes on.
    Pause,
    /// The driver comes by.
    Drive,
    Timers(timers::Do),
    Sleeps(sleeps::Do),
    Sessions(sessions::Do),
    Logins(logins::Do),
    Leases(leases::Do),
    Keepers(keepers::Do),
    Codes(codes::Do),
    /// The process is stopped, is away for that long, and is started again.
    Restart(u64),
}

impl Program {
    pub(crate) fn of(seed: u64) -> Self {
        let mut rng = SmallRng::seed_from_u64(seed);
        let config = Config::draw(&mut rng);
        let theme = Theme::draw(&mut rng);
        let count = rng.random_range(5..120);
        // A thread that is stalled does nothing until then.
        let mut stalled = [0; THREADS as usize];
        let mut steps = Vec::new();
        for at in 0..count {
            let thread = rng.random_range(0..THREADS);
            let until = &mut stalled[usize::from(thread)];
            if *until > at {
                continue;
            }
            if rng.random_ratio(1, 20) {
                *until = at + rng.random_range(5..40);
            }
            let what = match rng.random_range(0..20) {
                0..=3 => Do::Pass(span(&mut rng)),
                4 | 5 => Do::Drive,
                6 if rng.random_ratio(1, 4) => Do::Restart(span(&mut rng)),
                6 if rng.random_ratio(1, 3) => Do::Back(span(&mut rng)),
                6 if rng.random_ratio(1, 4) => Do::Pause,
                _ => part(&mut rng, theme, true),
            };
            steps.push(Step { thread, what });
        }
        Self {
            seed,
            config,
            steps,
        }
        .with_sleepers()
    }

    /// Adds futures, and hooks that panic, to some programs: drawn apart, so that what a seed does besides stays as it was.
    fn with_sleepers(mut self) -> Self {
        let mut rng = SmallRng::seed_from_u64(!self.seed);
        if rng.random_ratio(1, 2) {
            self.config.fuses = rng.random_range(1..4);
        }
        let sleeps = match rng.random_range(0..4) {
            0 => self.steps.len(),
            1 => self.steps.len() / 4,
            _ => 0,
        };
        for _ in 0..sleeps {
            let at = rng.random_range(0..=self.steps.len());
            let thread = rng.random_range(0..THREADS);
            let what = Do::Sleeps(sleeps::Do::draw(&mut rng));
            self.steps.insert(at, Step { thread, what });
        }
        let keepers = if rng.random_ratio(1, 3) {
            self.steps.len() / 4
        } else {
            0
        };
        for _ in 0..keepers {
            let at = rng.random_range(0..=self.steps.len());
            let thread = rng.random_range(0..THREADS);
            let what = Do::Keepers(keepers::Do::draw(&mut rng));
            self.steps.insert(at, Step { thread, what });
        }
        self
    }

    /// The same with as few steps as still fail.
    pub(crate) fn cut(mut self, fails: impl Fn(&Self) -> bool) -> Self {
        let mut chunk = self.steps.len().div_ceil(2);
        while chunk > 0 {
            let mut at = 0;
            while at < self.steps.len() {
                let mut shorter = self.clone();
                let end = (at + chunk).min(shorter.steps.len());
                shorter.steps.drain(at..end);
                if fails(&shorter) {
                    self = shorter;
                } else {
                    at += chunk;
                }
            }
            chunk /= 2;
        }
        self
    }
}

/// What a program is mostly about.
#[derive(Clone, Copy)]
pub(crate) enum Theme {
    Leases,
    Timers,
    All,
}

impl Theme {
    fn draw(rng: &mut SmallRng) -> Self {
        match rng.random_range(0..10) {
            0..=3 => Self::Leases,
            4 => Self::Timers,
            _ => Self::All,
        }
    }
}

/// Something that one of the parts can do; in a callback, if it is not `outer`.
pub(crate) fn part(rng: &mut SmallRng, theme: Theme, outer: bool) -> Do {
    match theme {
        Theme::Leases if rng.random_ratio(2, 3) => return Do::Leases(leases::Do::draw(rng)),
        Theme::Timers if rng.random_ratio(2, 3) => {
            return Do::Timers(timers::Do::draw(rng, theme, outer));
        }
        Theme::Leases | Theme::Timers | Theme::All => {}
    }
    match rng.random_range(0..11) {
        0 | 1 => Do::Timers(timers::Do::draw(rng, theme, outer)),
        2..=4 => Do::Sessions(sessions::Do::draw(rng)),
        5 | 6 => Do::Logins(logins::Do::draw(rng)),
        7 | 8 => Do::Leases(leases::Do::draw(rng)),
        _ => Do::Codes(codes::Do::draw(rng)),
    }
}

/// Nanoseconds: mostly few, at times many.
pub(crate) fn span(rng: &mut impl Rng) -> u64 {
    match rng.random_range(0..12) {
        0 => 0,
        1..=7 => rng.random_range(1..12),
        8..=10 => rng.random_range(1..60),
        _ if rng.random_ratio(1, 8) => 1 << rng.random_range(45..63),
        _ => 1 << rng.random_range(5..45),
    }
}
