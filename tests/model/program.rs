//! Random programs: what may happen to a wheel.

use proptest::prelude::*;

/// One step of a random program. Numbers pick among what there is at the time.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Arm { after: u64, tolerance: u64 },
    ArmLike { which: usize },
    ArmPast { before: u64 },
    ArmNever,
    Cancel { which: usize },
    Rearm { which: usize, after: u64 },
    RearmNever { which: usize },
    RearmPast { which: usize },
    Touch { which: usize },
    Advance { by: u64 },
    AdvanceBounded { by: u64, budget: usize },
    AdvanceToNext,
    AdvanceToWork,
    Poll { by: u64 },
    Shrink,
    Clear,
}

/// Spans of every size: each bit length is as likely as any other.
pub(crate) fn span(bits: u32) -> impl Strategy<Value = u64> {
    (0..=bits, any::<u64>())
        .prop_map(|(bits, random)| if bits == 0 { 0 } else { random >> (64 - bits) })
}

pub(crate) fn op(bits: u32) -> impl Strategy<Value = Op> {
    let which = 0usize..1000;
    prop_oneof![
        8 => span(bits).prop_map(|after| Op::Arm { after, tolerance: 0 }),
        2 => (span(bits), span(bits)).prop_map(|(after, tolerance)| Op::Arm { after, tolerance }),
        4 => which.clone().prop_map(|which| Op::ArmLike { which }),
        1 => span(bits).prop_map(|before| Op::ArmPast { before }),
        1 => Just(Op::ArmNever),
        4 => which.clone().prop_map(|which| Op::Cancel { which }),
        4 => (which.clone(), span(bits)).prop_map(|(which, after)| Op::Rearm { which, after }),
        1 => which.clone().prop_map(|which| Op::RearmNever { which }),
        1 => which.clone().prop_map(|which| Op::RearmPast { which }),
        4 => which.prop_map(|which| Op::Touch { which }),
        4 => span(bits).prop_map(|by| Op::Advance { by }),
        2 => Just(Op::Advance { by: 1 }),
        3 => (span(bits), 0usize..8).prop_map(|(by, budget)| Op::AdvanceBounded { by, budget }),
        2 => Just(Op::AdvanceToNext),
        2 => Just(Op::AdvanceToWork),
        2 => span(bits).prop_map(|by| Op::Poll { by }),
        1 => Just(Op::Shrink),
        1 => Just(Op::Clear),
    ]
}

/// Zero, around every level edge of every geometry, 2^30, 2^36, 2^42, and the end of time.
pub(crate) fn start() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0u64),
        (0u32..64, -70i64..=70).prop_map(|(bit, off)| (1u64 << bit).saturating_add_signed(off)),
        (0u64..700).prop_map(|off| u64::MAX - off),
    ]
}
