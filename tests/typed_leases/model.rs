//! Random programs, compared step by step with a sequential oracle: a list of grants and a queue.

use std::task::Poll;

use proptest::prelude::*;
use tickwheel::{Acquire, AcquireError, EndReason, Grant, Lost};

use crate::oracle::{Oracle, Place, Waiter};
use crate::{Bed, Task, at, secs};

const NAMES: [&str; 2] = ["a", "b"];
const FAR: u64 = 1_000_000;

#[derive(Clone, Debug)]
enum Step {
    Try(usize, u64),
    Wait(usize, u64, Option<u64>),
    Poll(usize),
    Leave(usize),
    Renew(usize),
    Release(usize),
    Revoke(usize),
    Pass(u64),
    Turn,
}

/// What is, beside what should be.
struct Pair {
    bed: Bed,
    oracle: Oracle,
    /// For each lease of the oracle the grant, once somebody has it.
    grants: Vec<Option<Grant<String, String>>>,
    futures: Vec<Option<Acquire<String, String>>>,
    task: Task,
}

impl Pair {
    fn new(delay: u64, max_hold: u64) -> Self {
        let bed = Bed::with(|builder| builder.lock_delay(secs(delay)).max_hold(secs(max_hold)));
        let oracle = Oracle {
            delay,
            max_hold,
            ..Oracle::default()
        };
        Self {
            bed,
            oracle,
            grants: Vec::new(),
            futures: Vec::new(),
            task: Task::new(),
        }
    }

    fn keep(&mut self, id: usize, grant: Grant<String, String>) {
        self.grants.resize_with(self.oracle.leases.len(), || None);
        self.grants[id] = Some(grant);
    }

    /// One of the grants that somebody has.
    fn pick(&self, n: usize) -> Option<(usize, Grant<String, String>)> {
        let held: Vec<_> = self.grants.iter().enumerate().collect();
        let held: Vec<_> = held
            .into_iter()
            .filter_map(|(id, grant)| Some((id, grant.clone()?)))
            .collect();
        (!held.is_empty()).then(|| held[n % held.len()].clone())
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Try(r, ttl) => {
                let answer = self.bed.leases.try_acquire(NAMES[r], "t", secs(ttl));
                if ttl == 0 {
                    assert!(matches!(answer, Err(AcquireError::ZeroTtl)));
                    return;
                }
                // Who is refused at once does not look into what else is due.
                if !self.oracle.refuses(r) {
                    self.oracle.settle(r);
                }
                if self.oracle.is_free(r) {
                    let id = self.oracle.grant(r, ttl);
                    self.keep(id, answer.unwrap());
                } else {
                    assert!(answer.unwrap_err().is_held());
                }
            }
            Step::Wait(r, ttl, timeout) => {
                let leases = &self.bed.leases;
                let mut acquire = leases.acquire(NAMES[r], "w", secs(ttl));
                if let Some(timeout) = timeout {
                    acquire = acquire.timeout(secs(timeout));
                }
                self.futures.push(Some(acquire));
                let give_up = timeout.map_or(u64::MAX, |timeout| self.oracle.now + timeout);
                let waiter = self.oracle.waiters.len();
                self.oracle.expire(r);
                let place = if self.oracle.is_free(r) {
                    Place::Granted(self.oracle.grant(r, ttl))
                } else {
                    self.oracle.resources[r].queue.push_back(waiter);
                    Place::Waiting
                };
                self.oracle.waiters.push(Waiter {
                    resource: r,
                    ttl,
                    give_up,
                    place,
                });
                self.oracle.hand_over(r);
                self.poll(waiter);
            }
            Step::Poll(n) => {
                if !self.futures.is_empty() {
                    self.poll(n % self.futures.len());
                }
            }
            Step::Leave(n) => {
                if !self.futures.is_empty() {
                    self.leave(n % self.futures.len());
                }
            }
            Step::Renew(n) => {
                if let Some((id, grant)) = self.pick(n) {
                    let now = self.oracle.now;
                    let lease = &mut self.oracle.leases[id];
                    let renewed = self.bed.leases.renew(&grant);
                    if lease.end.is_none() && now < lease.deadline {
                        let to = (now + lease.ttl).min(lease.cap);
                        lease.deadline = lease.deadline.max(to);
                        assert_eq!(renewed, Ok(at(lease.deadline)));
                    } else {
                        let (resource, ended) = (lease.resource, lease.end.is_some());
                        if !ended {
                            self.oracle.settle(resource);
                        }
                        assert!(renewed.is_err());
                    }
                }
            }
            Step::Release(n) => {
                if let Some((id, grant)) = self.pick(n) {
                    let resource = self.oracle.leases[id].resource;
                    // One that has ended is not looked into.
                    if self.oracle.leases[id].end.is_none() {
                        self.oracle.expire(resource);
                        if self.oracle.leases[id].end.is_none() {
                            self.oracle.end(id, EndReason::Released);
                        }
                        self.oracle.hand_over(resource);
                    }
                    let released = self.oracle.leases[id].end == Some(EndReason::Released);
                    assert_eq!(self.bed.leases.release(&grant).is_ok(), released);
                }
            }
            Step::Revoke(r) => {
                self.oracle.expire(r);
                let current = self.oracle.resources[r].current;
                if let Some(id) = current {
                    self.oracle.end(id, EndReason::Revoked);
                }
                self.oracle.hand_over(r);
                assert_eq!(
                    self.bed.leases.revoke(NAMES[r]).is_some(),
                    current.is_some()
                );
            }
            Step::Pass(span) => {
                self.oracle.now += span;
                self.bed.set(self.oracle.now);
            }
            Step::Turn => {
                self.bed.drive();
                self.oracle.turn();
            }
        }
    }

    fn poll(&mut self, waiter: usize) {
        let Some(mut future) = self.futures[waiter].take() else {
            return;
        };
        let Waiter {
            resource,
            give_up,
            place,
            ..
        } = self.oracle.waiters[waiter];
        match place {
            Place::Waiting => {
                self.oracle.settle(resource);
                if self.oracle.waiters[waiter].place == Place::Waiting && give_up <= self.oracle.now
                {
                    self.oracle.unqueue(waiter, Place::TimedOut);
                }
            }
            Place::Granted(id) if self.oracle.leases[id].end.is_none() => {
                self.oracle.settle(resource);
            }
            // What is over is not looked into.
            Place::Granted(_) | Place::TimedOut | Place::Gone => {}
        }
        let place = self.oracle.waiters[waiter].place;
        match (self.task.poll(&mut future), place) {
            (Poll::Pending, Place::Waiting) => {
                self.futures[waiter] = Some(future);
                return;
            }
            (Poll::Ready(Ok(grant)), Place::Granted(id)) => {
                assert_eq!(self.oracle.leases[id].end, None);
                self.keep(id, grant);
            }
            (Poll::Ready(Err(AcquireError::Lapsed)), Place::Granted(id)) => {
                assert!(self.oracle.leases[id].end.is_some());
            }
            (Poll::Ready(Err(AcquireError::TimedOut)), Place::TimedOut) => {}
            (got, place) => panic!("{got:?} for {place:?}"),
        }
        self.oracle.waiters[waiter].place = Place::Gone;
    }

    fn leave(&mut self, waiter: usize) {
        let Some(future) = self.futures[waiter].take() else {
            return;
        };
        drop(future);
        let Waiter {
            resource, place, ..
        } = self.oracle.waiters[waiter];
        self.oracle.waiters[waiter].place = Place::Gone;
        match place {
            Place::Granted(id) if self.oracle.leases[id].end.is_none() => {
                self.oracle.expire(resource);
                if self.oracle.leases[id].end.is_none() {
                    self.oracle.end(id, EndReason::Released);
                }
                self.oracle.hand_over(resource);
            }
            Place::Waiting => {
                self.oracle.expire(resource);
                self.oracle.unqueue(waiter, Place::Gone);
                self.oracle.hand_over(resource);
            }
            Place::Granted(_) | Place::TimedOut | Place::Gone => {}
        }
    }

    /// Compares everything that can be read.
    fn check(&mut self) {
        for (r, name) in NAMES.iter().enumerate() {
            self.oracle.settle(r);
            let holding = self.bed.leases.holder(*name);
            let current = self.oracle.resources[r].current;
            assert_eq!(holding.is_some(), current.is_some(), "{name}");
            if let (Some(holding), Some(id)) = (holding, current) {
                assert_eq!(holding.deadline(), at(self.oracle.leases[id].deadline));
                let left = self.oracle.leases[id].deadline - self.oracle.now;
                assert_eq!(self.bed.leases.time_to_live(*name), Some(secs(left)));
            }
        }
        let mut last = [0; 2];
        for (lease, grant) in self.oracle.leases.iter().zip(&self.grants) {
            let Some(grant) = grant else { continue };
            let token = grant.token().get();
            assert!(token > last[lease.resource], "tokens increase");
            last[lease.resource] = token;
            let expected = match lease.end {
                None => Ok(secs(lease.deadline - self.oracle.now)),
                Some(EndReason::Released) => Err(Lost::Released),
                Some(EndReason::Revoked) => Err(Lost::Revoked),
                Some(_) => Err(Lost::Expired),
            };
            assert_eq!(grant.status(), expected);
        }
        let live = self
            .oracle
            .leases
            .iter()
            .filter(|lease| lease.end.is_none());
        assert_eq!(self.bed.leases.len(), live.count());
        self.check_told();
    }

    /// Each end was told once, with why and when; and those of a resource in order.
    fn check_told(&self) {
        let told = self.bed.told.lock().unwrap();
        for (r, name) in NAMES.iter().enumerate() {
            let told: Vec<_> = told.iter().filter(|end| end.0 == *name).collect();
            assert!(
                told.is_sorted_by(|a, b| a.4 < b.4),
                "in the order of tokens"
            );
            let told: Vec<_> = told.iter().map(|end| (end.2, end.3)).collect();
            let ended = self
                .oracle
                .leases
                .iter()
                .filter(|lease| lease.resource == r);
            let ended: Vec<_> = ended
                .filter_map(|lease| Some((lease.end?, lease.deadline)))
                .collect();
            assert_eq!(told, ended);
        }
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let r = || 0..NAMES.len();
    let step = prop_oneof![
        3 => (r(), 0u64..12).prop_map(|(r, ttl)| Step::Try(r, ttl)),
        3 => (r(), 1u64..12, prop::option::of(0u64..12)).prop_map(|(r, ttl, t)| Step::Wait(r, ttl, t)),
        3 => (0usize..50).prop_map(Step::Poll),
        1 => (0usize..50).prop_map(Step::Leave),
        2 => (0usize..50).prop_map(Step::Renew),
        2 => (0usize..50).prop_map(Step::Release),
        1 => r().prop_map(Step::Revoke),
        3 => (0u64..8).prop_map(Step::Pass),
        3 => Just(Step::Turn),
    ];
    prop::collection::vec(step, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn leases_do_what_a_list_and_a_queue_do(
        delay in prop_oneof![Just(0u64), 1u64..6],
        max_hold in prop_oneof![Just(FAR), 8u64..20],
        steps in steps(),
        looks in any::<bool>(),
    ) {
        let mut pair = Pair::new(delay, max_hold);
        for step in &steps {
            pair.step(step);
            // Looking settles what is due: half of the programs look at the end only.
            if looks {
                pair.check();
            }
        }
        pair.check();
        // Nobody wants anything any more: nothing is left.
        for waiter in 0..pair.futures.len() {
            pair.leave(waiter);
        }
        pair.step(&Step::Pass(FAR + 100));
        pair.step(&Step::Turn);
        pair.check();
        prop_assert_eq!(pair.bed.leases.len(), 0);
        prop_assert_eq!(pair.bed.timers.len(), 0);
        prop_assert!(pair.task.wakers() <= 1);
    }
}
