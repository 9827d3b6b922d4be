//! Timers of the typed layer: they wake somebody, and are none of the user's callbacks.

use alloc::boxed::Box;
use core::time::Duration;

use super::Timers;
use super::job::{Body, Call, Job};
use crate::{ArmError, TimerKey, Timestamp};

impl Timers {
    /// Whether a number of timers was set as the most that there may be.
    pub(crate) fn is_limited(&self) -> bool {
        self.shared.wheel.is_limited()
    }

    /// Wakes `waker` at that time, in the driver's thread: for what has a record of its own, so that its
    /// timer needs no allocation. It is not asked about before, and drops its waker wherever it ends.
    pub(crate) fn arm_waker(
        &self,
        at: Timestamp,
        tolerance: Duration,
        waker: core::task::Waker,
    ) -> Result<TimerKey, ArmError> {
        let shared = &self.shared;
        let tolerance = shared.whole_ticks(tolerance);
        shared.arm_job(shared.resolution.deadline(at), tolerance, || {
            Job::Wake(waker)
        })
    }

    /// As [`arm_waker`](Self::arm_waker), but it stays when it has fired, armed for never, until it is cancelled: it can be
    /// moved at any time, also by who is woken, and keeps its place in a full runtime. To move it is
    /// [refused](crate::StaleKey) only just before it wakes.
    pub(crate) fn arm_kept(
        &self,
        at: Timestamp,
        tolerance: Duration,
        waker: core::task::Waker,
    ) -> Result<TimerKey, ArmError> {
        let shared = &self.shared;
        let tolerance = shared.whole_ticks(tolerance);
        shared.arm_job(shared.resolution.deadline(at), tolerance, || {
            Job::Call(Box::new(Call {
                label: "",
                body: Body::Kept(waker),
            }))
        })
    }
}
