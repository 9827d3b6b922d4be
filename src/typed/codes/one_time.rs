//! What can be done with codes.

use alloc::sync::Arc;
use core::fmt;
use core::time::Duration;

use super::account::Answer;
use super::draft::Draft;
use super::error::{IssueError, Refused, RefusedCause};
use super::issued::{CodeNonce, Issued, SubjectId, Symbols};
use super::policy::OneTimeCodesBuilder;
use super::table::{Account, Table};
use super::{MAX_SUBJECT, is_subject};
use crate::Timers;
use crate::sync::Ordering;
use crate::typed::EndReason;

/// The most bytes of an answer, separators included.
const MAX_ANSWER: usize = 256;

/// Codes that are good once, for a while, and for a few attempts.
///
/// ```
/// use tickwheel::{ManualClock, OneTimeCodes, Timers};
///
/// let timers = Timers::builder().clock(ManualClock::new()).build_hand_driven()?;
/// let codes = OneTimeCodes::builder(&timers).build()?;
///
/// let issued = codes.issue("ada@example.org", "login")?;
/// let letter = format!("Your code is {}", issued.code.expose()); // to be sent
/// # let code = issued.code.expose();
/// # assert!(letter.ends_with(code));
/// assert!(codes.verify("ada@example.org", "login", "not a code").is_err());
/// assert!(codes.verify("ada@example.org", "login", code).is_ok());
/// assert!(codes.verify("ada@example.org", "login", code).is_err()); // but once
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A handle is cheap to clone; all clones are the same codes. Everything is in memory: what is issued here cannot be
/// verified in another process, or after a restart; unless a snapshot is restored there (`OneTimeCodes::restore`, with
/// the feature `serde`).
///
/// # Subject and purpose
///
/// A code is for a subject (an address, a number, the id of an account: any bytes) and a purpose (`"login"`, a word of
/// the program). One code lives for each pair. The same subject has to come as the same bytes each
/// time, so bring addresses to one form before. Subjects are kept by keyed digests only.
///
/// # Life
///
/// A code lives from its issue until its deadline: at exactly that time it is refused. By then, or
/// before, it ends in one way, once, of which [`on_end`](OneTimeCodesBuilder::on_end) is told:
///
/// | reason | |
/// |---|---|
/// | [`Consumed`](EndReason::Consumed) | it was answered |
/// | [`TooManyAttempts`](EndReason::TooManyAttempts) | it was, or all codes of the subject were, answered wrongly too often |
/// | [`Replaced`](EndReason::Replaced) | another was issued for the same subject and purpose; its life and its attempts are its own |
/// | [`Absolute`](EndReason::Absolute) | it has expired |
/// | [`Removed`](EndReason::Removed) | it was [cancelled](Self::cancel) |
/// | [`Shutdown`](EndReason::Shutdown) | the [`Timers`] were shut down, or the last handle of these codes was dropped |
///
/// Whether it lives is read off the clock, exactly. The event of a code that nobody asks for comes with the next tick of the
/// runtime, as timers do. If the clock goes back, what was seen to expire stays so.
///
/// # Guessing
///
/// An attempt is one step under a lock: compared with the code that lives, and charged or
/// accepted. Of any number of right answers at the same time one is accepted; and no more wrong ones are
/// compared than the limit says. What counts against a code counts against its subject too, in a
/// window of time that a new code does not clear, and that outlives the code.
///
/// Whoever answers learns that an answer was [`Refused`], and no more. The work is the same whether or not there is such
/// a subject, or such a code: one look-up, the same digests, one comparison in constant time, with a dummy if
/// need be. What a processor's caches give away in nanoseconds is not hidden.
///
/// Whoever knows a subject can use up its attempts, and those of its codes. Not so if answers are
/// verified [with the nonce](Self::verify_nonce), which only the browser that has asked for the code knows:
/// an answer without it costs nothing.
///
/// Codes, answers and keys are wiped where this crate holds them, and are not printed. What a digest leaves in
/// registers and on the stack is not wiped.
///
/// # Bad input
///
/// | input | result |
/// |---|---|
/// | a subject that is empty, or longer than 512 bytes | [`IssueError::EmptySubject`], [`IssueError::LongSubject`]; refused; nothing |
/// | an answer that is not a code, or longer than 256 bytes | refused, before anything is looked up, and no attempt is charged: it could not have been right |
/// | a purpose that is empty | a purpose like any other |
/// | a time to live of zero | each code has expired when it is issued |
/// | a time to live of `Duration::MAX` | codes that do not expire |
/// | a length of zero, or more than 64 | [`Length`](super::BuildCodesError::Length) |
/// | no attempts, no issues, no capacity | [`BuildCodesError`](super::BuildCodesError) |
///
/// # Costs
///
/// All operations on a subject take one short lock of that subject, and a look into a map that is shared. To verify: O(1), no
/// allocation for a wrong answer. To issue: O(1) besides random bytes and two timers. In memory a
/// subject with a code takes some 900 bytes, its two timers included, and less when the code is gone, until all counts and
/// cooldowns are over: at most the longest window after the last code's deadline.
#[derive(Clone)]
pub struct OneTimeCodes {
    pub(super) table: Arc<Table>,
}

// === impl OneTimeCodes ===

impl OneTimeCodes {
    /// What they are like, and how often they may be asked for and guessed at.
    pub fn builder(timers: &Timers) -> OneTimeCodesBuilder {
        OneTimeCodesBuilder::new(timers)
    }

    pub(super) fn of(table: Arc<Table>) -> Self {
        Self { table }
    }

    /// Issues a code. The one before it for this subject and purpose, if it lives, is replaced.
    ///
    /// O(1), unless as many codes live as may and some that have expired were not yet ended: then O(subjects).
    ///
    /// # Errors
    ///
    /// [`IssueError`]; then the code before it is as it was.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tickwheel::{IssueError, ManualClock, OneTimeCodes, Timers};
    ///
    /// let clock = ManualClock::new();
    /// let timers = Timers::builder().clock(clock.clone()).build_hand_driven()?;
    /// let codes = OneTimeCodes::builder(&timers).cooldown(Duration::from_secs(30)).build()?;
    /// let first = codes.issue("ada", "login")?;
    /// assert_eq!(first.expires_in, Duration::from_secs(600));
    ///
    /// clock.advance(Duration::from_secs(10));
    /// let again = codes.issue("ada", "login");
    /// assert_eq!(again.unwrap_err(), IssueError::Cooldown(Duration::from_secs(20)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn issue(
        &self,
        subject: impl AsRef<[u8]>,
        purpose: &'static str,
    ) -> Result<Issued, IssueError> {
        let subject = subject.as_ref();
        if subject.is_empty() {
            return Err(IssueError::EmptySubject);
        }
        if subject.len() > MAX_SUBJECT {
            return Err(IssueError::LongSubject);
        }
        let table = &self.table;
        if table.timers.is_shut_down() {
            return Err(IssueError::ShutDown);
        }
        let id = table.id(subject);
        let now = table.timers.now();
        let draft = match Draft::begin(table, id, purpose, now) {
            Err(IssueError::Full) => {
                table.sweep(now);
                Draft::begin(table, id, purpose, now)
            }
            draft => draft,
        };
        draft?.issue()
    }

    /// Accepts the answer if it is the code that lives for this subject and purpose, and consumes that; charges an
    /// attempt otherwise. O(1).
    ///
    /// An answer that was meant for a code that has been replaced is charged to the one that has taken its place. Where the
    /// [nonce](CodeNonce) is known, [`verify_nonce`](Self::verify_nonce) does not.
    ///
    /// # Errors
    ///
    /// [`Refused`], whatever the [cause](Refused::cause).
    ///
    /// ```
    /// use tickwheel::{ManualClock, OneTimeCodes, RefusedCause, Timers};
    ///
    /// let timers = Timers::builder().clock(ManualClock::new()).build_hand_driven()?;
    /// let codes = OneTimeCodes::builder(&timers).build()?;
    /// let issued = codes.issue("ada", "login")?;
    /// let wrong = if issued.code.expose() == "000000" { "000001" } else { "000000" };
    ///
    /// let refused = codes.verify("ada", "login", wrong).unwrap_err();
    /// assert_eq!(refused.to_string(), "the code was refused"); // to be shown
    /// assert_eq!(refused.cause(), RefusedCause::Mismatch { left: 4 }); // not to be shown
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn verify(
        &self,
        subject: impl AsRef<[u8]>,
        purpose: &'static str,
        answer: &str,
    ) -> Result<(), Refused> {
        self.judge(subject.as_ref(), purpose, None, answer)
    }

    /// As [`verify`](Self::verify), for that code and no other: if another lives the answer is refused,
    /// and no attempt is charged.
    ///
    /// # Errors
    ///
    /// [`Refused`].
    ///
    /// ```
    /// use std::time::Duration;
    /// use tickwheel::{ManualClock, OneTimeCodes, RefusedCause, Timers};
    ///
    /// let timers = Timers::builder().clock(ManualClock::new()).build_hand_driven()?;
    /// let codes = OneTimeCodes::builder(&timers).cooldown(Duration::ZERO).build()?;
    /// let first = codes.issue("ada", "login")?;
    /// let second = codes.issue("ada", "login")?; // the letter took its time
    ///
    /// let late = codes.verify_nonce("ada", "login", first.nonce, first.code.expose());
    /// assert_eq!(late.unwrap_err().cause(), RefusedCause::OtherNonce);
    /// assert!(codes.verify_nonce("ada", "login", second.nonce, second.code.expose()).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn verify_nonce(
        &self,
        subject: impl AsRef<[u8]>,
        purpose: &'static str,
        nonce: CodeNonce,
        answer: &str,
    ) -> Result<(), Refused> {
        self.judge(subject.as_ref(), purpose, Some(nonce), answer)
    }

    fn judge(
        &self,
        subject: &[u8],
        purpose: &'static str,
        nonce: Option<CodeNonce>,
        answer: &str,
    ) -> Result<(), Refused> {
        let table = &self.table;
        if !is_subject(subject) {
            return Err(Refused::new(RefusedCause::BadSubject));
        }
        let (policy, mut symbols) = (&table.policy, Symbols::new());
        let read = (answer.len() <= MAX_ANSWER)
            .then(|| policy.alphabet.read(policy.length, answer, &mut symbols));
        if read.flatten().is_none() {
            return Err(Refused::new(RefusedCause::Malformed));
        }
        let id = table.id(subject);
        let answer = Answer {
            purpose,
            nonce,
            digest: table.digest(&id, purpose, symbols.as_str()),
            dummy: &table.dummy,
        };
        let now = table.timers.now();
        let account = table.find(&id);
        let judged = account.and_then(|account| {
            table.run(&account, now, |state, now, change| {
                state.verify(&table.policy, now, &answer, &mut change.over)
            })
        });
        judged
            .unwrap_or_else(|| Err(answer.dummy_compare(RefusedCause::Unknown)))
            .map_err(Refused::new)
    }

    /// Ends the code that lives for this subject and purpose, and says which it was. Counts and cooldowns stay. O(1).
    ///
    /// ```
    /// use tickwheel::{ManualClock, OneTimeCodes, Timers};
    ///
    /// let timers = Timers::builder().clock(ManualClock::new()).build_hand_driven()?;
    /// let codes = OneTimeCodes::builder(&timers).build()?;
    /// let issued = codes.issue("ada", "login")?;
    /// assert_eq!(codes.cancel("ada", "login"), Some(issued.nonce));
    /// assert_eq!(codes.cancel("ada", "login"), None);
    /// assert!(codes.verify("ada", "login", issued.code.expose()).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cancel(&self, subject: impl AsRef<[u8]>, purpose: &'static str) -> Option<CodeNonce> {
        let table = &self.table;
        let account = self.account(subject.as_ref())?;
        let cancelled = table.run(&account, table.timers.now(), |state, _, change| {
            state.cancel(purpose, &mut change.over)
        });
        cancelled.flatten()
    }

    /// Ends all codes that live for this subject, and says how many those were. O(purposes).
    ///
    /// ```
    /// use tickwheel::{ManualClock, OneTimeCodes, Timers};
    ///
    /// let timers = Timers::builder().clock(ManualClock::new()).build_hand_driven()?;
    /// let codes = OneTimeCodes::builder(&timers).build()?;
    /// let _login = codes.issue("ada", "login")?;
    /// let _reset = codes.issue("ada", "reset")?;
    /// assert_eq!((codes.cancel_all("ada"), codes.len()), (2, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cancel_all(&self, subject: impl AsRef<[u8]>) -> usize {
        let table = &self.table;
        let Some(account) = self.account(subject.as_ref()) else {
            return 0;
        };
        let cancelled = table.run(&account, table.timers.now(), |state, _, change| {
            state.end_all(EndReason::Removed, &mut change.over)
        });
        cancelled.unwrap_or(0)
    }

    /// How long the code for this subject and purpose will live, if one does; `Duration::MAX` if for ever. More
    /// than zero. Not to be shown to whoever may not know whether there is one. O(1).
    ///
    /// ```
    /// use tickwheel::{ManualClock, OneTimeCodes, Timers};
    ///
    /// let clock = ManualClock::new();
    /// let timers = Timers::builder().clock(clock.clone()).build_hand_driven()?;
    /// let codes = OneTimeCodes::builder(&timers).build()?;
    /// let issued = codes.issue("ada", "login")?;
    /// clock.set(issued.deadline);
    /// assert_eq!(codes.time_to_live("ada", "login"), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn time_to_live(
        &self,
        subject: impl AsRef<[u8]>,
        purpose: &'static str,
    ) -> Option<Duration> {
        let table = &self.table;
        let account = self.account(subject.as_ref())?;
        let left = table.run(&account, table.timers.now(), |state, now, _| {
            let deadline = state.code(purpose)?.deadline;
            Some(if deadline.is_never() {
                Duration::MAX
            } else {
                deadline - now
            })
        });
        left.flatten()
    }

    /// As what events know the subject.
    #[must_use]
    pub fn subject_id(&self, subject: impl AsRef<[u8]>) -> SubjectId {
        self.table.id(subject.as_ref())
    }

    /// How many codes live, those that are about to included. O(1), unless some have expired and were not yet ended:
    /// then it ends them, in O(subjects).
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.sweep(self.table.timers.now());
        self.table.count().0
    }

    /// Whether none lives. As [`len`](Self::len).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many subjects are remembered: those with codes, and those whose counts and cooldowns matter. As
    /// [`len`](Self::len).
    #[must_use]
    pub fn remembered(&self) -> usize {
        self.table.sweep(self.table.timers.now());
        self.table.count().1
    }

    /// How often the hook has panicked.
    #[must_use]
    pub fn hook_panics(&self) -> u64 {
        // ORDERING: Relaxed. A count, read by itself.
        self.table.panics.load(Ordering::Relaxed)
    }

    fn account(&self, subject: &[u8]) -> Option<Arc<Account>> {
        if !is_subject(subject) {
            return None;
        }
        self.table.find(&self.table.id(subject))
    }
}

impl fmt::Debug for OneTimeCodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (codes, subjects) = self.table.count();
        f.debug_struct("OneTimeCodes")
            .field("policy", &self.table.policy)
            .field("codes", &codes)
            .field("subjects", &subjects)
            .finish_non_exhaustive()
    }
}
