//! What should be: a list of leases and, for each resource, a queue.

use std::collections::VecDeque;

use tickwheel::EndReason;

#[derive(Debug)]
pub(crate) struct Lease {
    pub(crate) resource: usize,
    pub(crate) ttl: u64,
    pub(crate) cap: u64,
    pub(crate) deadline: u64,
    pub(crate) end: Option<EndReason>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Place {
    Waiting,
    Granted(usize),
    TimedOut,
    Gone,
}

#[derive(Debug)]
pub(crate) struct Waiter {
    pub(crate) resource: usize,
    pub(crate) ttl: u64,
    pub(crate) give_up: u64,
    pub(crate) place: Place,
}

#[derive(Debug, Default)]
pub(crate) struct Resource {
    pub(crate) current: Option<usize>,
    pub(crate) quiet: u64,
    pub(crate) queue: VecDeque<usize>,
}

/// What should be.
#[derive(Default)]
pub(crate) struct Oracle {
    pub(crate) now: u64,
    pub(crate) delay: u64,
    pub(crate) max_hold: u64,
    pub(crate) leases: Vec<Lease>,
    pub(crate) waiters: Vec<Waiter>,
    pub(crate) resources: [Resource; 2],
}

impl Oracle {
    pub(crate) fn grant(&mut self, resource: usize, ttl: u64) -> usize {
        let cap = self.now + self.max_hold;
        let deadline = (self.now + ttl).min(cap);
        let id = self.leases.len();
        self.leases.push(Lease {
            resource,
            ttl,
            cap,
            deadline,
            end: None,
        });
        self.resources[resource].current = Some(id);
        id
    }

    pub(crate) fn end(&mut self, id: usize, reason: EndReason) {
        let lease = &mut self.leases[id];
        lease.end = Some(reason);
        let resource = &mut self.resources[lease.resource];
        resource.current = None;
        if self.delay > 0 && reason == EndReason::Absolute {
            resource.quiet = lease.deadline + self.delay;
        } else if self.delay > 0 && reason == EndReason::Revoked {
            resource.quiet = self.now + self.delay;
        }
    }

    pub(crate) fn expire(&mut self, resource: usize) {
        if let Some(id) = self.resources[resource].current {
            if self.leases[id].deadline <= self.now {
                self.end(id, EndReason::Absolute);
            }
        }
    }

    pub(crate) fn hand_over(&mut self, resource: usize) {
        while self.resources[resource].current.is_none() {
            let Some(&first) = self.resources[resource].queue.front() else {
                return;
            };
            let late = self.waiters[first].give_up <= self.now;
            if !late && self.resources[resource].quiet > self.now {
                return;
            }
            self.resources[resource].queue.pop_front();
            self.waiters[first].place = if late {
                Place::TimedOut
            } else {
                Place::Granted(self.grant(resource, self.waiters[first].ttl))
            };
        }
    }

    pub(crate) fn settle(&mut self, resource: usize) {
        self.expire(resource);
        self.hand_over(resource);
    }

    pub(crate) fn unqueue(&mut self, waiter: usize, place: Place) {
        let queue = &mut self.resources[self.waiters[waiter].resource].queue;
        queue.retain(|other| *other != waiter);
        self.waiters[waiter].place = place;
    }

    pub(crate) fn turn(&mut self) {
        for resource in 0..self.resources.len() {
            self.settle(resource);
        }
        for waiter in 0..self.waiters.len() {
            let Waiter { give_up, place, .. } = self.waiters[waiter];
            if place == Place::Waiting && give_up <= self.now {
                self.unqueue(waiter, Place::TimedOut);
            }
        }
    }

    /// Whether it is held by a lease that lives, or in its lock delay.
    pub(crate) fn refuses(&self, resource: usize) -> bool {
        let resource = &self.resources[resource];
        match resource.current {
            Some(id) => self.leases[id].deadline > self.now,
            None => resource.quiet > self.now,
        }
    }

    pub(crate) fn is_free(&self, resource: usize) -> bool {
        let resource = &self.resources[resource];
        resource.current.is_none() && resource.queue.is_empty() && resource.quiet <= self.now
    }
}
