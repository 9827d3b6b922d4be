//! What is refused, and why.

use core::fmt;
use core::time::Duration;

use crate::ArmError;
use crate::typed::EndReason;

/// One-time codes were not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BuildCodesError {
    /// Codes of no symbols, or of more than 64.
    Length,
    /// No attempts at all, for a code or for a subject.
    ZeroAttempts,
    /// No codes at all for a subject.
    ZeroIssues,
    /// No room at all.
    ZeroCapacity,
    /// Steps that are forgotten at once.
    ZeroWindow,
    /// The operating system gave no random bytes.
    NoRandomness,
}

/// The operating system gave no random bytes.
pub(super) struct NoRandomness;

/// A code was not issued. The one before it is as it was.
///
/// This is for whoever issues. What the subject is told should be the same whether or not there is such a
/// subject: "if we know this address, a code is on its way".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IssueError {
    /// It is too soon after the last one for this subject and purpose. In so long, more than zero, it is not.
    Cooldown(Duration),
    /// The subject has had as many codes as it may in that time. In so long it may have another.
    TooManyIssues(Duration),
    /// There were as many wrong answers for this subject as there may be in that time. In so
    /// long there may be another.
    TooManyAttempts(Duration),
    /// The subject is empty.
    EmptySubject,
    /// The subject has more than 512 bytes.
    LongSubject,
    /// As many codes live, or as many subjects are remembered, as may be.
    Full,
    /// The [`Timers`](crate::Timers) hold as many timers as they may.
    TimersFull,
    /// The [`Timers`](crate::Timers) have been shut down.
    ShutDown,
    /// The operating system gave no random bytes.
    NoRandomness,
}

/// An answer was refused. That is all there is to say to whoever gave it, so it does not say more: not by `Display`,
/// not by `Debug`.
#[derive(Clone, Copy)]
pub struct Refused(RefusedCause);

/// Why an answer was refused: for logs. **Not to be shown** to whoever gave it, who would learn from it whether there
/// is such a subject, and whether it is about to log in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RefusedCause {
    /// It was not the code. An attempt was charged; so many are left before the code, or all codes of
    /// the subject, are over. At zero they are.
    Mismatch {
        /// How many.
        left: u32,
    },
    /// The last code for the subject and purpose has ended, and that is remembered.
    Ended(EndReason),
    /// There is no code for the subject and purpose, or none that is remembered.
    Unknown,
    /// Another code was meant than the one that lives. No attempt was charged.
    OtherNonce,
    /// The answer is not a code of this alphabet and length. No attempt was charged.
    Malformed,
    /// The subject is empty, or has more than 512 bytes.
    BadSubject,
}

/// A step was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReplayError {
    /// This step, or a later one, was accepted before.
    Replayed,
    /// The subject is empty, or has more than 512 bytes.
    BadSubject,
    /// The [`Timers`](crate::Timers) hold as many timers as they may. The step was not accepted, since
    /// it could not be remembered.
    TimersFull,
    /// The [`Timers`](crate::Timers) have been shut down.
    ShutDown,
}

// === impl BuildCodesError ===

impl fmt::Display for BuildCodesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Length => "a code has 1 to 64 symbols",
            Self::ZeroAttempts => "a limit of zero attempts",
            Self::ZeroIssues => "a limit of zero codes for a subject",
            Self::ZeroCapacity => "a capacity of zero",
            Self::ZeroWindow => "a window of no time",
            Self::NoRandomness => "no random bytes from the operating system",
        })
    }
}

impl core::error::Error for BuildCodesError {}

impl From<NoRandomness> for BuildCodesError {
    fn from(_: NoRandomness) -> Self {
        Self::NoRandomness
    }
}

// === impl IssueError ===

impl IssueError {
    /// In how long the same call may succeed, if only time has to pass; more than zero.
    #[must_use]
    pub const fn retry_after(self) -> Option<Duration> {
        match self {
            Self::Cooldown(wait) | Self::TooManyIssues(wait) | Self::TooManyAttempts(wait) => {
                Some(wait)
            }
            Self::EmptySubject
            | Self::LongSubject
            | Self::Full
            | Self::TimersFull
            | Self::ShutDown
            | Self::NoRandomness => None,
        }
    }
}

impl fmt::Display for IssueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cooldown(wait) => write!(f, "too soon after the last code: wait for {wait:?}"),
            Self::TooManyIssues(wait) => write!(f, "too many codes: wait for {wait:?}"),
            Self::TooManyAttempts(wait) => write!(f, "too many attempts: wait for {wait:?}"),
            Self::EmptySubject => f.write_str("the subject is empty"),
            Self::LongSubject => f.write_str("the subject is too long"),
            Self::Full => f.write_str("as many codes are kept as may be"),
            Self::TimersFull => f.write_str("as many timers are armed as may be"),
            Self::ShutDown => f.write_str("the timers have been shut down"),
            Self::NoRandomness => f.write_str("no random bytes from the operating system"),
        }
    }
}

impl core::error::Error for IssueError {}

impl From<NoRandomness> for IssueError {
    fn from(_: NoRandomness) -> Self {
        Self::NoRandomness
    }
}

impl From<ArmError> for IssueError {
    fn from(error: ArmError) -> Self {
        match error {
            ArmError::ShutDown => Self::ShutDown,
            ArmError::Full | ArmError::ZeroPeriod => Self::TimersFull,
        }
    }
}

// === impl Refused ===

impl Refused {
    pub(super) fn new(cause: RefusedCause) -> Self {
        Self(cause)
    }

    /// Why: for logs, **not to be shown** to whoever gave the answer.
    #[must_use]
    pub fn cause(&self) -> RefusedCause {
        self.0
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the code was refused")
    }
}

impl fmt::Debug for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Refused")
    }
}

impl core::error::Error for Refused {}

// === impl ReplayError ===

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Replayed => "the step was accepted before",
            Self::BadSubject => "the subject is empty or too long",
            Self::TimersFull => "as many timers are armed as may be",
            Self::ShutDown => "the timers have been shut down",
        })
    }
}

impl core::error::Error for ReplayError {}

impl From<ArmError> for ReplayError {
    fn from(error: ArmError) -> Self {
        match error {
            ArmError::ShutDown => Self::ShutDown,
            ArmError::Full | ArmError::ZeroPeriod => Self::TimersFull,
        }
    }
}
