//! What codes are like, and how often they may be asked for and guessed at.

use alloc::boxed::Box;
use core::fmt;
use core::time::Duration;

use super::alphabet::Alphabet;
use super::error::{BuildCodesError, NoRandomness};
use super::issued::{CodeKey, CodeNonce, MAX_LENGTH};
use super::log::Limit;
use super::one_time::OneTimeCodes;
use super::table::Table;
use crate::Timers;
use crate::typed::Ended;
use crate::typed::secret::DigestKey;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// The rules by which codes live.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policy {
    pub(super) alphabet: Alphabet,
    pub(super) length: usize,
    pub(super) time_to_live: Duration,
    /// Wrong answers that a code bears, the last of which ends it.
    pub(super) attempts: u32,
    /// Wrong answers for a subject.
    pub(super) subject_attempts: Limit,
    pub(super) cooldown: Duration,
    /// Codes for a subject.
    pub(super) subject_issues: Limit,
    pub(super) capacity: usize,
    pub(super) subjects: usize,
}

/// Who is told how codes end.
pub(super) type OnEnd = Box<dyn Fn(Ended<CodeKey, CodeNonce>) + Send + Sync>;

/// What one-time codes are made with: [`OneTimeCodes::builder`].
///
/// | | by default | source of the default |
/// |---|---|---|
/// | [`alphabet`](Self::alphabet) | 6 digits | NIST SP 800-63B: about 20 bits |
/// | [`time_to_live`](Self::time_to_live) | 10 minutes | the same: no longer |
/// | [`attempts`](Self::attempts) | 5 for each code | by custom |
/// | [`attempts_per_subject`](Self::attempts_per_subject) | 10 an hour | |
/// | [`cooldown`](Self::cooldown) | 30 seconds | |
/// | [`issues_per_subject`](Self::issues_per_subject) | 5 an hour | |
/// | [`capacity`](Self::capacity) | 100,000 codes | |
/// | [`subjects`](Self::subjects) | four times the capacity | |
///
/// Somebody who guesses as often as these defaults allow, at six digits, has a chance of one in 100,000 in an
/// hour.
///
/// ```
/// use std::time::Duration;
/// use tickwheel::{Alphabet, EndReason, ManualClock, OneTimeCodes, Timers};
///
/// let timers = Timers::builder().clock(ManualClock::new()).build_hand_driven()?;
/// let (told, log) = std::sync::mpsc::channel();
/// let codes = OneTimeCodes::builder(&timers)
///     .alphabet(Alphabet::Crockford32, 8) // 40 bits
///     .time_to_live(Duration::from_secs(300))
///     .attempts(3)
///     .on_end(move |ended| told.send((ended.key.purpose, ended.reason)).unwrap_or(()))
///     .build()?;
/// let issued = codes.issue("ada", "login")?;
/// codes.verify("ada", "login", &issued.code.expose().to_lowercase())?;
/// assert_eq!(log.try_recv()?, ("login", EndReason::Consumed));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a builder does nothing until it builds"]
pub struct OneTimeCodesBuilder {
    timers: Timers,
    policy: Policy,
    subjects: Option<usize>,
    key: Option<DigestKey>,
    on_end: Option<OnEnd>,
}

// === impl OneTimeCodesBuilder ===

impl OneTimeCodesBuilder {
    pub(super) fn new(timers: &Timers) -> Self {
        Self {
            timers: timers.clone(),
            policy: Policy {
                alphabet: Alphabet::Digits,
                length: 6,
                time_to_live: 10 * MINUTE,
                attempts: 5,
                subject_attempts: Limit {
                    count: 10,
                    span: HOUR,
                },
                cooldown: MINUTE / 2,
                subject_issues: Limit {
                    count: 5,
                    span: HOUR,
                },
                capacity: 100_000,
                subjects: 0,
            },
            subjects: None,
            key: None,
            on_end: None,
        }
    }

    /// What codes are made of, and how many symbols long they are: 1 to 64. A code of fewer than 20 bits is easily
    /// guessed; one of 64 needs no limit of attempts.
    pub fn alphabet(mut self, alphabet: Alphabet, length: usize) -> Self {
        self.policy.alphabet = alphabet;
        self.policy.length = length;
        self
    }

    /// How long a code is good for. With a time of zero no code ever is: each has expired when it is issued.
    /// `Duration::MAX`, or what leads beyond the end of time, means for ever.
    pub fn time_to_live(mut self, time_to_live: Duration) -> Self {
        self.policy.time_to_live = time_to_live;
        self
    }

    /// How many wrong answers a code bears: the last of them ends it.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.policy.attempts = attempts;
        self
    }

    /// How many wrong answers there may be for a subject, whatever the code and the purpose, in any time of that
    /// length. The last of them ends all codes of the subject, and none is issued until the first of them
    /// is that long ago. A window of no time is no limit.
    ///
    /// A right answer does not clear the count. Wrong answers while no code lives do not count: there is nothing
    /// to be guessed.
    pub fn attempts_per_subject(mut self, attempts: u16, window: Duration) -> Self {
        self.policy.subject_attempts = Limit {
            count: attempts,
            span: window,
        };
        self
    }

    /// How long it has to be from one code to the next for the same subject and purpose, whatever
    /// became of the first. Zero is no limit.
    pub fn cooldown(mut self, cooldown: Duration) -> Self {
        self.policy.cooldown = cooldown;
        self
    }

    /// How many codes may be issued to a subject, whatever the purpose, in any time of that length. A window of no time
    /// is no limit.
    pub fn issues_per_subject(mut self, issues: u16, window: Duration) -> Self {
        self.policy.subject_issues = Limit {
            count: issues,
            span: window,
        };
        self
    }

    /// How many codes may live at a time.
    pub fn capacity(mut self, codes: usize) -> Self {
        self.policy.capacity = codes;
        self
    }

    /// How many subjects may be remembered at a time: those that have codes, and those whose counts and cooldowns
    /// still matter. It bounds the memory.
    pub fn subjects(mut self, subjects: usize) -> Self {
        self.subjects = Some(subjects);
        self
    }

    /// The key for digests; random without this. With one that was kept, the [ids of
    /// subjects](OneTimeCodes::subject_id) are the same in every process, and a snapshot can be restored. It has to be 32
    /// random bytes, as secret as the codes, and kept where the service keeps its secrets.
    pub fn digest_key(mut self, key: [u8; 32]) -> Self {
        self.key = Some(DigestKey::from_bytes(key));
        self
    }

    /// Tells `hook` of each code that has ended: once for each, after that, whichever way it ended. What it is told
    /// holds the [nonce](CodeNonce) of the code.
    ///
    /// It runs in the thread that has ended the code, the driver's for most that expire, and
    /// no lock is held: it may use these codes. Its panics are caught, and
    /// [counted](OneTimeCodes::hook_panics). Of events for one key that different threads bring about the later may
    /// be told first; the generation tells them apart.
    pub fn on_end(
        mut self,
        hook: impl Fn(Ended<CodeKey, CodeNonce>) + Send + Sync + 'static,
    ) -> Self {
        self.on_end = Some(Box::new(hook));
        self
    }

    /// Makes them.
    ///
    /// # Errors
    ///
    /// [`BuildCodesError`], if a length, a limit or a capacity is zero or too large, or if there is no randomness
    /// for a key.
    pub fn build(self) -> Result<OneTimeCodes, BuildCodesError> {
        let mut policy = self.policy;
        policy.subjects = self
            .subjects
            .unwrap_or_else(|| policy.capacity.saturating_mul(4));
        if !(1..=MAX_LENGTH).contains(&policy.length) {
            return Err(BuildCodesError::Length);
        }
        if policy.attempts == 0 || policy.subject_attempts.count == 0 {
            return Err(BuildCodesError::ZeroAttempts);
        }
        if policy.subject_issues.count == 0 {
            return Err(BuildCodesError::ZeroIssues);
        }
        if policy.capacity == 0 || policy.subjects == 0 {
            return Err(BuildCodesError::ZeroCapacity);
        }
        let key = match self.key {
            Some(key) => key,
            None => DigestKey::random().map_err(|_| NoRandomness)?,
        };
        let table = Table::new(self.timers, policy, key, self.on_end)?;
        Ok(OneTimeCodes::of(table))
    }
}

impl fmt::Debug for OneTimeCodesBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OneTimeCodesBuilder")
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}
