//! What parts of a program are given.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use tickwheel::Timers;

use crate::config::Config;

/// What a part needs to do something.
#[derive(Clone, Copy)]
pub(crate) struct Cx<'a> {
    pub(crate) timers: &'a Timers,
    pub(crate) config: &'a Config,
    pub(crate) thread: u8,
    pub(crate) now: u64,
    pub(crate) tick: u64,
    pub(crate) values: &'a Arc<AtomicI64>,
    pub(crate) full: &'a AtomicUsize,
}

impl Cx<'_> {
    /// What was answered has to be what the model says.
    pub(crate) fn same<T: PartialEq + std::fmt::Debug>(
        &self,
        what: &str,
        is: &T,
        should: &T,
    ) -> Result<String, String> {
        if is == should {
            return Ok(format!("{what}: {is:?}"));
        }
        Err(format!("{what}: {is:?}, and should be {should:?}"))
    }

    /// It was refused because the runtime has no room for a timer: that has to be so. One whose callback runs has a
    /// place, and one that was moved far has two.
    pub(crate) fn full(&self) -> Result<String, String> {
        let len = self.timers.len();
        match self.config.limit {
            Some(limit) if 2 * (len + 1) >= limit => {
                self.full.fetch_add(1, Ordering::Relaxed);
                Ok(String::from("there is no room"))
            }
            limit => Err(format!("no room beside {len} timers, of {limit:?}")),
        }
    }

    /// The same at a later time.
    pub(crate) fn not_before(&self, floor: u64) -> Self {
        let now = self.now.max(floor);
        Self { now, ..*self }
    }
}

/// A value that is counted as long as it is there.
#[derive(Debug)]
pub(crate) struct Value(pub(crate) u64, Arc<AtomicI64>);

impl Value {
    pub(crate) fn new(number: u64, cx: &Cx<'_>) -> Self {
        cx.values.fetch_add(1, Ordering::Relaxed);
        Self(number, Arc::clone(cx.values))
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Ordering::Relaxed);
    }
}
