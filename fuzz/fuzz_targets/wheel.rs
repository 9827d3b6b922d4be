//! The wheel does what the oracle of `tests/model` does, on programs and geometries that come as bytes.

#![no_main]

#[path = "../../tests/model/oracle.rs"]
mod oracle;

/// What may happen to a wheel, as the oracle knows it.
mod program {
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
    fn span(bytes: &mut Unstructured<'_>) -> arbitrary::Result<u64> {
        let bits = bytes.int_in_range(0..=64u32)?;
        let random: u64 = bytes.arbitrary()?;
        Ok(random.checked_shr(64 - bits).unwrap_or(0))
    }

    /// A large one differs from none only in what it costs.
    fn budget(bytes: &mut Unstructured<'_>) -> arbitrary::Result<usize> {
        bytes.int_in_range(0..=7)
    }
}

use libfuzzer_sys::fuzz_target;
use oracle::Model;
use program::Op;

fn run<const BITS: u32>(start: u64, program: &[Op]) {
    let mut model = Model::<BITS>::new(start);
    for op in program {
        model.step(op);
        model.compare();
    }
    model.finish();
}

fuzz_target!(|input: (u8, u64, Vec<Op>)| {
    let (geometry, start, mut program) = input;
    program.truncate(120);
    // Small wheels meet every wrap-around within a few ticks.
    match geometry % 4 {
        0 => run::<2>(start, &program),
        1 => run::<3>(start, &program),
        2 => run::<6>(start, &program),
        _ => run::<8>(start, &program),
    }
});
