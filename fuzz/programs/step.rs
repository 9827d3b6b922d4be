//! What may happen to a shared wheel, as its oracle knows it, from bytes.

use arbitrary::{Arbitrary, Unstructured};

use crate::plain::{Op, budget, span};

#[derive(Clone, Debug, Arbitrary)]
pub(crate) struct Step {
    #[arbitrary(with = |bytes: &mut Unstructured<'_>| bytes.int_in_range(0..=2))]
    pub(crate) door: usize,
    pub(crate) what: What,
}

#[derive(Clone, Debug, Arbitrary)]
pub(crate) enum What {
    Plain(Op),
    ArmFar {
        #[arbitrary(with = far)]
        after: u64,
        #[arbitrary(with = span)]
        tolerance: u64,
    },
    RearmFar {
        which: usize,
        #[arbitrary(with = far)]
        after: u64,
    },
    Burst {
        #[arbitrary(with = few)]
        count: u64,
        #[arbitrary(with = span)]
        after: u64,
        #[arbitrary(with = few)]
        apart: u64,
    },
    Disarm {
        which: usize,
    },
    Revive {
        which: usize,
        #[arbitrary(with = span)]
        after: u64,
    },
    Advance {
        #[arbitrary(with = span)]
        by: u64,
        acts: Vec<Act>,
    },
    Bounded {
        #[arbitrary(with = span)]
        by: u64,
        #[arbitrary(with = budget)]
        budget: usize,
        acts: Vec<Act>,
    },
    CloseLocal {
        which: usize,
    },
    Drain,
}

#[derive(Clone, Debug, Arbitrary)]
pub(crate) struct Act {
    #[arbitrary(with = |bytes: &mut Unstructured<'_>| bytes.int_in_range(0..=3))]
    pub(crate) door: usize,
    pub(crate) deed: Deed,
}

#[derive(Clone, Debug, Arbitrary)]
pub(crate) enum Deed {
    Nothing,
    Arm {
        #[arbitrary(with = span)]
        after: u64,
        #[arbitrary(with = span)]
        tolerance: u64,
    },
    ArmPast {
        #[arbitrary(with = span)]
        before: u64,
    },
    Cancel {
        which: usize,
    },
    Rearm {
        which: usize,
        #[arbitrary(with = span)]
        after: u64,
    },
    RearmPast {
        which: usize,
    },
    Disarm {
        which: usize,
    },
    Again {
        #[arbitrary(with = span)]
        after: u64,
    },
    AgainPast {
        #[arbitrary(with = span)]
        before: u64,
    },
    AgainAndCancel {
        #[arbitrary(with = span)]
        after: u64,
    },
    CancelItself {
        #[arbitrary(with = span)]
        after: u64,
    },
    Advance {
        #[arbitrary(with = span)]
        by: u64,
    },
    Clear,
}

/// 2^37 ticks and more, each bit length as likely as any other.
fn far(bytes: &mut Unstructured<'_>) -> arbitrary::Result<u64> {
    let bits = bytes.int_in_range(37..=64u32)?;
    let random: u64 = bytes.arbitrary()?;
    Ok((random | 1 << 63) >> (64 - bits))
}

fn few(bytes: &mut Unstructured<'_>) -> arbitrary::Result<u64> {
    bytes.int_in_range(0..=30)
}
