//! The search for an order of what threads did at once, by trying all of them (Wing & Gong, "Testing and
//! verifying concurrent objects", 1993), without trying anything twice.

use std::collections::HashSet;
use std::hash::Hash;

/// What is done one thing after the other, and answers each time as it must.
pub(crate) trait Sequential: Clone + Eq + Hash {
    /// Something that is done to it, with the answer.
    type Did;

    /// What may become of it, if that is what it would have answered. Nothing, if it would not.
    fn after(&self, did: &Self::Did) -> impl IntoIterator<Item = Self>;
}

/// Something that was done, some time between two stamps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<D> {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) did: D,
    /// It comes after the one before it in the history, though their stamps overlap.
    pub(crate) then: bool,
}

impl<D> Call<D> {
    pub(crate) const fn new(from: u64, to: u64, did: D) -> Self {
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

/// Whether the calls can be put in an order that agrees with their stamps, in which what was
/// `from` at first answers each as it was answered.
pub(crate) fn has_order<S: Sequential>(from: &S, calls: &[Call<S::Did>]) -> bool {
    assert!(calls.len() <= 64, "{} calls are too many", calls.len());
    let all = (1u128 << calls.len()) - 1;
    let mut search = Search {
        calls,
        dead_ends: HashSet::new(),
    };
    search.goes_on(all as u64, from.clone())
}

struct Search<'h, S: Sequential> {
    calls: &'h [Call<S::Did>],
    /// What is left, and what it was done to, from where no order was found.
    dead_ends: HashSet<(u64, S)>,
}

impl<S: Sequential> Search<'_, S> {
    fn goes_on(&mut self, left: u64, state: S) -> bool {
        if left == 0 {
            return true;
        }
        let place = (left, state);
        if self.dead_ends.contains(&place) {
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
            if !is_next {
                continue;
            }
            for then in place.1.after(&call.did) {
                if self.goes_on(left & !(1 << at), then) {
                    return true;
                }
            }
        }
        self.dead_ends.insert(place);
        false
    }
}
