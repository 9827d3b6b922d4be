//! What may happen to a runtime.

use arbitrary::{Arbitrary, Unstructured};

#[derive(Debug, Arbitrary)]
pub(crate) struct Input {
    /// Which of a few resolutions.
    pub(crate) tick: u8,
    /// What the clock shows at first.
    #[arbitrary(with = span)]
    pub(crate) start: u64,
    /// How many callbacks a batch holds.
    #[arbitrary(with = few)]
    pub(crate) batch: usize,
    pub(crate) shards: bool,
    pub(crate) end: End,
    pub(crate) steps: Vec<Step>,
}

#[derive(Clone, Copy, Debug, Arbitrary)]
pub(crate) enum End {
    Drop,
    HandBack,
    FireDue,
    /// The last handle is dropped.
    None,
}

#[derive(Debug, Arbitrary)]
pub(crate) enum Step {
    Arm(Shape),
    Cancel(u8),
    CancelWait(u8),
    Rearm(u8, #[arbitrary(with = span)] u64),
    Disarm(u8),
    Clock(#[arbitrary(with = span)] u64),
    /// The clock goes back.
    Back(#[arbitrary(with = span)] u64),
    /// One batch.
    Turn,
    TurnFully,
    AdvanceBy(#[arbitrary(with = span)] u64),
    AdvanceToNext,
    Pause,
    Resume,
}

/// A timer to be armed.
#[derive(Clone, Copy, Debug, Arbitrary)]
pub(crate) struct Shape {
    #[arbitrary(with = span)]
    pub(crate) after: u64,
    pub(crate) kind: Kind,
    pub(crate) deed: Deed,
}

#[derive(Clone, Copy, Debug, Arbitrary)]
pub(crate) enum Kind {
    Once,
    Every(Policy, #[arbitrary(with = span)] u64),
    /// Again so long after each call.
    After(#[arbitrary(with = span)] u64),
    /// Again so long after the deadline of each call, which may be past.
    At(#[arbitrary(with = span)] u64),
    Fallible,
}

#[derive(Clone, Copy, Debug, Arbitrary)]
pub(crate) enum Policy {
    Skip,
    Burst,
    Delay,
}

/// What a callback does at its first call.
#[derive(Clone, Copy, Debug, Arbitrary)]
pub(crate) enum Deed {
    Nothing,
    Arm(#[arbitrary(with = span)] u64),
    Cancel(u8),
    Rearm(u8, #[arbitrary(with = span)] u64),
    Disarm(u8),
    CancelItself,
    RearmItself(#[arbitrary(with = span)] u64),
    Panic,
    Stop,
    /// It drives from within, which is refused.
    Turn,
    Pause,
}

/// Of every size: each bit length is as likely as any other.
fn span(bytes: &mut Unstructured<'_>) -> arbitrary::Result<u64> {
    let bits = bytes.int_in_range(0..=64u32)?;
    let random: u64 = bytes.arbitrary()?;
    Ok(random.checked_shr(64 - bits).unwrap_or(0))
}

fn few(bytes: &mut Unstructured<'_>) -> arbitrary::Result<usize> {
    bytes.int_in_range(1..=8)
}
