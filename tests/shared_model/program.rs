//! Random programs: what may happen to a shared wheel, beside what may happen to any.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::plain::{Op, op, span};

#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// Which door it comes through: the wheel, or one of two locals.
    pub(crate) door: usize,
    pub(crate) what: What,
}

#[derive(Clone, Debug)]
pub(crate) enum What {
    Plain(Op),
    ArmFar {
        after: u64,
        tolerance: u64,
    },
    RearmFar {
        which: usize,
        after: u64,
    },
    /// Arms many, so that a budget matters.
    Burst {
        count: u64,
        after: u64,
        apart: u64,
    },
    Disarm {
        which: usize,
    },
    /// Re-arms one that was disarmed.
    Revive {
        which: usize,
        after: u64,
    },
    /// An advance whose callbacks do as they are told, first to last, and then nothing.
    Advance {
        by: u64,
        acts: Vec<Act>,
    },
    /// One bounded call, its turn left unfinished if the budget runs out.
    Bounded {
        by: u64,
        budget: usize,
        acts: Vec<Act>,
    },
    CloseLocal {
        which: usize,
    },
    Drain,
}

/// What one callback does.
#[derive(Clone, Debug)]
pub(crate) struct Act {
    /// Which door: the turn, the wheel, or one of two locals.
    pub(crate) door: usize,
    pub(crate) deed: Deed,
}

#[derive(Clone, Debug)]
pub(crate) enum Deed {
    Nothing,
    Arm {
        after: u64,
        tolerance: u64,
    },
    ArmPast {
        before: u64,
    },
    Cancel {
        which: usize,
    },
    Rearm {
        which: usize,
        after: u64,
    },
    RearmPast {
        which: usize,
    },
    Disarm {
        which: usize,
    },
    /// Arms the timer that fires again.
    Again {
        after: u64,
    },
    AgainPast {
        before: u64,
    },
    /// Arms it again, and then cancels it.
    AgainAndCancel {
        after: u64,
    },
    /// Cancels it while it runs, after which it cannot be armed again.
    CancelItself {
        after: u64,
    },
    /// Calls `advance` from within.
    Advance {
        by: u64,
    },
    Clear,
}

/// Spans of 2^37 ticks and more, each bit length as likely as any other.
fn far() -> impl Strategy<Value = u64> {
    (37u32..=64, any::<u64>()).prop_map(|(bits, random)| (random | 1 << 63) >> (64 - bits))
}

fn deed(bits: u32) -> impl Strategy<Value = Deed> {
    let which = 0usize..1000;
    prop_oneof![
        3 => Just(Deed::Nothing),
        3 => (span(bits), prop_oneof![Just(0), span(bits)])
            .prop_map(|(after, tolerance)| Deed::Arm { after, tolerance }),
        1 => far().prop_map(|after| Deed::Arm { after, tolerance: 0 }),
        1 => span(bits).prop_map(|before| Deed::ArmPast { before }),
        3 => which.clone().prop_map(|which| Deed::Cancel { which }),
        3 => (which.clone(), span(bits)).prop_map(|(which, after)| Deed::Rearm { which, after }),
        1 => (which.clone(), far()).prop_map(|(which, after)| Deed::Rearm { which, after }),
        1 => which.clone().prop_map(|which| Deed::RearmPast { which }),
        1 => which.prop_map(|which| Deed::Disarm { which }),
        4 => span(bits).prop_map(|after| Deed::Again { after }),
        1 => far().prop_map(|after| Deed::Again { after }),
        1 => span(bits).prop_map(|before| Deed::AgainPast { before }),
        1 => span(bits).prop_map(|after| Deed::AgainAndCancel { after }),
        1 => span(bits).prop_map(|after| Deed::CancelItself { after }),
        1 => span(bits).prop_map(|by| Deed::Advance { by }),
        1 => Just(Deed::Clear),
    ]
}

fn acts(bits: u32) -> impl Strategy<Value = Vec<Act>> {
    vec((0usize..4, deed(bits)), 0..12).prop_map(|acts| {
        let act = |(door, deed)| Act { door, deed };
        acts.into_iter().map(act).collect()
    })
}

pub(crate) fn step(bits: u32) -> impl Strategy<Value = Step> {
    let which = 0usize..1000;
    let what = prop_oneof![
        20 => op(bits).prop_map(What::Plain),
        1 => (far(), prop_oneof![Just(0), span(bits)])
            .prop_map(|(after, tolerance)| What::ArmFar { after, tolerance }),
        2 => (which.clone(), far()).prop_map(|(which, after)| What::RearmFar { which, after }),
        1 => (10u64..30, span(bits), 0u64..20)
            .prop_map(|(count, after, apart)| What::Burst { count, after, apart }),
        2 => which.clone().prop_map(|which| What::Disarm { which }),
        2 => (which.clone(), span(bits)).prop_map(|(which, after)| What::Revive { which, after }),
        4 => (span(bits), acts(bits)).prop_map(|(by, acts)| What::Advance { by, acts }),
        4 => (span(bits), 0usize..6, acts(bits))
            .prop_map(|(by, budget, acts)| What::Bounded { by, budget, acts }),
        1 => which.prop_map(|which| What::CloseLocal { which }),
        1 => Just(What::Drain),
    ];
    (0usize..3, what).prop_map(|(door, what)| Step { door, what })
}
