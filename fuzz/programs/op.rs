//! What may happen to a wheel, as the oracles know it, from bytes.

use arbitrary::{Arbitrary, Unstructured};

#[derive(Clone, Debug, Arbitrary)]
pub(crate) enum Op {
    Arm {
        #[arbitrary(with = span)]
        after: u64,
        #[arbitrary(with = span)]
        tolerance: u64,
    },
    ArmLike {
        which: usize,
    },
    ArmPast {
        #[arbitrary(with = span)]
        before: u64,
    },
    ArmNever,
    Cancel {
        which: usize,
    },
    Rearm {
        which: usize,
        #[arbitrary(with = span)]
        after: u64,
    },
    RearmNever {
        which: usize,
    },
    RearmPast {
        which: usize,
    },
    Touch {
        which: usize,
    },
    Advance {
        #[arbitrary(with = span)]
        by: u64,
    },
    AdvanceBounded {
        #[arbitrary(with = span)]
        by: u64,
        #[arbitrary(with = budget)]
        budget: usize,
    },
    AdvanceToNext,
    AdvanceToWork,
    Poll {
        #[arbitrary(with = span)]
        by: u64,
    },
    Shrink,
    Clear,
}

/// Of every size: each bit length is as likely as any other.
pub(crate) fn span(bytes: &mut Unstructured<'_>) -> arbitrary::Result<u64> {
    let bits = bytes.int_in_range(0..=64u32)?;
    let random: u64 = bytes.arbitrary()?;
    Ok(random.checked_shr(64 - bits).unwrap_or(0))
}

/// A large one differs from none only in what it costs.
pub(crate) fn budget(bytes: &mut Unstructured<'_>) -> arbitrary::Result<usize> {
    bytes.int_in_range(0..=7)
}
