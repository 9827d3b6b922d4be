//! The search for an order, by trying all of them.

use std::collections::HashSet;

use crate::timer::{Did, Timer};

/// Something that was done, some time between two stamps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) did: Did,
    /// It comes after the one before it in the history, though their stamps overlap.
    pub(crate) then: bool,
}

impl Call {
    pub(crate) const fn new(from: u64, to: u64, did: Did) -> Self {
        Self {
            from,
            to,
            did,
            then: false,
        }
    }

    pub(crate) fn then(self) -> Self {
        Self { then: true, ..self }
    }
}

/// Whether the calls can be put in an order that agrees with their stamps, in which a timer
/// that was `from` at first answers each as it was answered.
pub(crate) fn has_order(from: &Timer, calls: &[Call]) -> bool {
    assert!(calls.len() <= 64, "{} calls are too many", calls.len());
    let all = (1u128 << calls.len()) - 1;
    let mut search = Search {
        calls,
        dead_ends: HashSet::new(),
    };
    search.goes_on(all as u64, *from)
}

struct Search<'h> {
    calls: &'h [Call],
    /// What is left, and the timer, from where no order was found.
    dead_ends: HashSet<(u64, Timer)>,
}

impl Search<'_> {
    fn goes_on(&mut self, left: u64, timer: Timer) -> bool {
        if left == 0 {
            return true;
        }
        if self.dead_ends.contains(&(left, timer)) {
            return false;
        }
        let is_left = |at: usize| left >> at & 1 == 1;
        let calls = self.calls.iter().enumerate();
        let first_end = calls
            .clone()
            .filter(|(at, _)| is_left(*at))
            .map(|(_, call)| call.to)
            .min();
        for (at, call) in calls {
            // Whatever had returned when this was called comes first.
            let is_next = is_left(at)
                && first_end.is_some_and(|end| call.from < end || call.to == end)
                && !(call.then && is_left(at - 1));
            let Some(then) = timer.after(call.did).filter(|_| is_next) else {
                continue;
            };
            if self.goes_on(left & !(1 << at), then) {
                return true;
            }
        }
        self.dead_ends.insert((left, timer));
        false
    }
}
