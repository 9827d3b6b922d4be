//! The doors through which a wheel can be reached, behind one face.

use tickwheel::{Cancel, Local, SharedTurn, SharedWheel, StaleKey, Tick, Ticks, TimerKey};

pub(crate) enum Door<'a, 'w, 't, const BITS: u32> {
    Wheel(&'w SharedWheel<u64, BITS>),
    Local(&'a mut Local<'w, u64, BITS>),
    Turn(&'a mut SharedTurn<'t, u64, BITS>),
}

macro_rules! through {
    ($door:expr, $verb:ident($($arg:expr),*)) => {
        match $door {
            Door::Wheel(wheel) => wheel.$verb($($arg),*),
            Door::Local(local) => local.$verb($($arg),*),
            Door::Turn(turn) => turn.$verb($($arg),*),
        }
    };
}

impl<const BITS: u32> Door<'_, '_, '_, BITS> {
    pub(crate) fn arm(&mut self, deadline: Tick, tolerance: Ticks, value: u64) -> TimerKey {
        if tolerance != Ticks::ZERO {
            return through!(self, arm_tolerant(deadline, tolerance, value));
        }
        match value % 2 {
            0 => through!(self, arm(deadline, value)),
            _ => through!(self, try_arm(deadline, value)).expect("there is no limit"),
        }
    }

    pub(crate) fn cancel(&mut self, key: TimerKey) -> Cancel<u64> {
        through!(self, cancel(key))
    }

    pub(crate) fn rearm(&mut self, key: TimerKey, deadline: Tick) -> Result<(), StaleKey> {
        through!(self, rearm(key, deadline))
    }

    pub(crate) fn disarm(&mut self, key: TimerKey) -> Result<(), StaleKey> {
        through!(self, disarm(key))
    }
}
