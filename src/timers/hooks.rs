//! What a runtime asks or tells its owner: hooks, and what they are given.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::any::Any;
use core::error::Error;
use core::fmt;
use core::time::Duration;

use super::job::{caught, discard};
use super::stats::Counter;
use crate::{TimerKey, Timestamp};

/// A callback that is about to fire, as [`before_fire`](super::TimersBuilder::before_fire) sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pending {
    /// The key of the timer.
    pub key: TimerKey,
    /// The label it was armed with, or an empty one.
    pub label: &'static str,
    /// The time it was armed for, rounded up to a tick.
    pub deadline: Timestamp,
    /// The time now.
    pub now: Timestamp,
}

/// What is to become of a callback that is about to fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It fires.
    Fire,
    /// It does not fire: the timer is over, and its callback is dropped. A periodic timer is over too.
    Veto,
    /// It is asked about again after that time. It keeps its key.
    Postpone(Duration),
}

/// A callback, a waker or a hook that panicked, as [`on_panic`](super::TimersBuilder::on_panic) sees it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Panicked<'a> {
    /// The key of the timer.
    pub key: TimerKey,
    /// The label of the timer, or an empty one.
    pub label: &'static str,
    /// What it panicked with.
    pub payload: &'a (dyn Any + Send),
}

/// An attempt that failed, as [`on_failure`](super::TimersBuilder::on_failure) sees it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Failure<'a> {
    /// The key of the timer.
    pub key: TimerKey,
    /// The label of the timer, or an empty one.
    pub label: &'static str,
    /// Which attempt it was, from 1.
    pub attempt: u32,
    /// When it will be tried again; `None` if it will not.
    pub again: Option<Timestamp>,
    /// What the callback said; `None` if it panicked.
    pub error: Option<&'a (dyn Error + Send + Sync)>,
}

/// A callback that took longer than it may, as [`on_overrun`](super::TimersBuilder::on_overrun) sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Overrun {
    /// The key of the timer.
    pub key: TimerKey,
    /// The label of the timer, or an empty one.
    pub label: &'static str,
    /// How long it took.
    pub took: Duration,
}

type Decides = Box<dyn Fn(Pending) -> Verdict + Send + Sync>;
type HearsPanic = Box<dyn Fn(Panicked<'_>) + Send + Sync>;
type HearsFailure = Box<dyn Fn(Failure<'_>) + Send + Sync>;
type HearsOverrun = Box<dyn Fn(Overrun) + Send + Sync>;

/// The hooks of a runtime. They run where callbacks run.
#[derive(Default)]
pub(super) struct Hooks {
    pub(super) before_fire: Option<Decides>,
    pub(super) panicked: Option<HearsPanic>,
    pub(super) failed: Option<HearsFailure>,
    pub(super) overran: Option<(Duration, HearsOverrun)>,
}

/// A wake hook whose panics are counted and go no further: whoever arms has armed.
pub(super) fn caught_wake(
    wake: Arc<dyn Fn() + Send + Sync>,
    panics: Arc<Counter>,
) -> Arc<dyn Fn() + Send + Sync> {
    Arc::new(move || {
        if let Err(payload) = caught(|| wake()) {
            panics.add(1);
            discard(payload);
        }
    })
}

// === impl Panicked ===

impl Panicked<'_> {
    /// The message, if it panicked with one.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        let text = self.payload.downcast_ref::<&str>().copied();
        text.or_else(|| {
            let text = self.payload.downcast_ref::<alloc::string::String>();
            text.map(|text| &**text)
        })
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks").finish_non_exhaustive()
    }
}
