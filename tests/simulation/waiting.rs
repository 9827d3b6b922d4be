//! Who waits for a lease. The model: for each resource a queue.
//!
//! When a lease is handed over is seen by whom it wakes: at that moment it had to be free, and whoever was woken
//! the first in the queue. What the model demands besides is that nobody is forgotten: a lease that is given back or taken away
//! goes on in the same step, one that expires when the driver comes by, and none waits for longer than it was to.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use tickwheel::{Acquire, AcquireError, EndReason, Leases};

use crate::cx::Cx;
use crate::fuse;
use crate::leases::{Alive, Hand, MAX_HOLD, Part, TTL};

/// Holders who have waited, by name. Others are threads.
const WAITERS: u64 = 1_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Queued,
    /// The token.
    Granted(u64),
    TimedOut,
    /// It has its answer, or is gone.
    Over,
}

struct Waiter {
    of: u8,
    give_up: u64,
    place: Place,
    future: Option<Acquire<u8, u64>>,
}

#[derive(Default)]
pub(crate) struct Waiting {
    all: Vec<Waiter>,
    queues: [VecDeque<usize>; 2],
    /// Who was woken, in that order.
    woken: Arc<Mutex<Vec<usize>>>,
    /// How many had it from the queue, gave up in time, left the queue, and came too late.
    served: usize,
    timed_out: usize,
    left: usize,
    lapsed: usize,
}

/// Notes who is woken.
struct Bell(usize, Arc<Mutex<Vec<usize>>>);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.1.lock().unwrap().push(self.0);
        fuse::burn(self.0 as u64);
    }
}

type Answer = Poll<Result<tickwheel::Grant<u8, u64>, AcquireError>>;

impl Waiting {
    fn poll(&mut self, number: usize) -> Answer {
        let bell = Waker::from(Arc::new(Bell(number, Arc::clone(&self.woken))));
        let future = self.all[number].future.as_mut().expect("it waits");
        Pin::new(future).poll(&mut Context::from_waker(&bell))
    }

    pub(crate) fn counts(&self) -> [usize; 4] {
        [self.served, self.timed_out, self.left, self.lapsed]
    }

    /// One of the last few that are still there.
    fn pick(&self, which: usize) -> Option<usize> {
        let there = |number: &usize| self.all[*number].future.is_some();
        (0..self.all.len()).rev().filter(there).nth(which)
    }

    fn leave_queue(&mut self, number: usize, place: Place) {
        let Waiter { of, .. } = self.all[number];
        self.queues[usize::from(of)].retain(|other| *other != number);
        self.all[number].place = place;
    }
}

impl Part {
    /// Takes note of who was woken. Nobody is but for a reason.
    pub(crate) fn woken(&mut self, now: u64) -> Result<(), String> {
        let woken = std::mem::take(&mut *self.waiting.woken.lock().unwrap());
        for number in woken {
            let Waiter {
                of, give_up, place, ..
            } = self.waiting.all[number];
            if place != Place::Queued {
                return Err(format!("waiter {number} is woken, and is {place:?}"));
            }
            if give_up <= now {
                self.waiting.leave_queue(number, Place::TimedOut);
                continue;
            }
            let queue = self.waiting.queues[usize::from(of)].iter();
            let mut in_time = queue.filter(|other| self.waiting.all[**other].give_up > now);
            let first = in_time.next().copied();
            let cell = &self.cells[usize::from(of)];
            if first != Some(number) || cell.holder.is_some() || now < cell.quiet {
                let holder = &cell.holder;
                return Err(format!(
                    "waiter {number} has {of}, and should {first:?}, after {holder:?} and {}",
                    cell.quiet
                ));
            }
            let real = self.real.as_ref().expect("it runs");
            let held = real.holder(&of).map(|held| {
                let (token, deadline) = (held.token().get(), held.deadline().as_nanos());
                (*held.holder(), deadline, token)
            });
            let cap = now.saturating_add(MAX_HOLD);
            let (holder, deadline) = (WAITERS + number as u64, now.saturating_add(TTL).min(cap));
            let token = match held {
                Some((h, d, token)) if (h, d) == (holder, deadline) && token > self.last => token,
                held => {
                    return Err(format!(
                        "waiter {number} is woken, and {held:?} holds {of} after {}",
                        self.last
                    ));
                }
            };
            self.last = token;
            self.cells[usize::from(of)].holder = Some(Alive {
                token,
                holder,
                deadline,
                cap,
            });
            self.waiting.leave_queue(number, Place::Granted(token));
            self.waiting.served += 1;
        }
        Ok(())
    }

    /// The driver has come by: nobody is left who should have it, or should wait no longer.
    pub(crate) fn driven(&self, now: u64, tick: u64) -> Result<(), String> {
        let due = |at: u64| at.div_ceil(tick) <= now / tick;
        for (cell, queue) in self.cells.iter().zip(&self.waiting.queues) {
            for number in queue {
                if due(self.waiting.all[*number].give_up) {
                    return Err(format!("waiter {number} waits too long"));
                }
            }
            if cell.holder.is_none() && due(cell.free_at.max(cell.quiet)) && !queue.is_empty() {
                return Err(format!("{queue:?} wait, and nobody holds it"));
            }
        }
        Ok(())
    }

    /// A lease was given back or taken away: it goes on in the same step.
    pub(crate) fn handed_on(&mut self, of: u8, now: u64) -> Result<(), String> {
        self.woken(now)?;
        let (cell, queue) = (
            &self.cells[usize::from(of)],
            &self.waiting.queues[usize::from(of)],
        );
        if cell.holder.is_none() && now >= cell.quiet && !queue.is_empty() {
            return Err(format!("{queue:?} wait for {of}, and nobody has it"));
        }
        Ok(())
    }

    pub(crate) fn wait(
        &mut self,
        real: &Leases<u8, u64>,
        of: u8,
        timeout: Option<u64>,
        cx: &Cx<'_>,
    ) -> Result<String, String> {
        let number = self.waiting.all.len();
        let holder = WAITERS + number as u64;
        let mut future = real.acquire(of, holder, Duration::from_nanos(TTL));
        if let Some(timeout) = timeout {
            future = future.timeout(Duration::from_nanos(timeout));
        }
        let (cell, queue) = (
            &mut self.cells[usize::from(of)],
            &mut self.waiting.queues[usize::from(of)],
        );
        let free = cell.holder.is_none() && queue.is_empty() && cx.now >= cell.quiet;
        queue.push_back(number);
        self.waiting.all.push(Waiter {
            of,
            give_up: timeout.map_or(u64::MAX, |timeout| cx.now.saturating_add(timeout)),
            place: Place::Queued,
            future: Some(future),
        });
        let answer = self.waiting.poll(number);
        if let Poll::Ready(Err(AcquireError::Full)) = answer {
            self.waiting.leave_queue(number, Place::Over);
            self.waiting.all[number].future = None;
            self.woken(cx.now)?;
            return cx.full();
        }
        if free {
            // It is had without anybody being woken.
            let Poll::Ready(Ok(grant)) = answer else {
                return Err(format!("{of} is free, and is not had: {answer:?}"));
            };
            let (token, cap) = (grant.token().get(), cx.now.saturating_add(MAX_HOLD));
            let deadline = cx.now.saturating_add(TTL).min(cap);
            cx.same("deadline", &grant.deadline().as_nanos(), &deadline)?;
            if token <= self.last {
                return Err(format!("{token} after {}", self.last));
            }
            self.last = token;
            self.waiting.leave_queue(number, Place::Granted(token));
            self.cells[usize::from(of)].holder = Some(Alive {
                token,
                holder,
                deadline,
                cap,
            });
            return self.answered(number, Poll::Ready(Ok(grant)), cx);
        }
        self.woken(cx.now)?;
        self.answered(number, answer, cx)
    }

    pub(crate) fn ask_again(&mut self, which: usize, cx: &Cx<'_>) -> Result<String, String> {
        let Some(number) = self.waiting.pick(which) else {
            return Ok(String::new());
        };
        let answer = self.waiting.poll(number);
        self.woken(cx.now)?;
        self.answered(number, answer, cx)
    }

    /// What was answered has to be what the model says.
    fn answered(&mut self, number: usize, answer: Answer, cx: &Cx<'_>) -> Result<String, String> {
        let Waiter { of, place, .. } = self.waiting.all[number];
        let holder = self.cells[usize::from(of)].holder.as_ref();
        let lives = |token| holder.is_some_and(|alive| alive.token == token);
        let (is, grant) = match answer {
            Poll::Pending => (Some("waits"), None),
            Poll::Ready(Ok(grant)) => (Some("has it"), Some(grant)),
            Poll::Ready(Err(AcquireError::TimedOut)) => (Some("has waited too long"), None),
            Poll::Ready(Err(AcquireError::Lapsed)) => (Some("has had it"), None),
            Poll::Ready(Err(AcquireError::ShutDown)) if cx.timers.is_shut_down() => {
                (Some("has waited for the end"), None)
            }
            Poll::Ready(Err(_)) => (None, None),
        };
        let should = match place {
            Place::Queued if cx.timers.is_shut_down() => "has waited for the end",
            Place::Granted(token) if lives(token) && cx.timers.is_shut_down() => {
                "has waited for the end"
            }
            Place::Queued => "waits",
            Place::Granted(token) if lives(token) => "has it",
            Place::Granted(_) => "has had it",
            Place::TimedOut => "has waited too long",
            Place::Over => "is over",
        };
        let line = cx.same(&format!("waiter {number} for {of}"), &is, &Some(should))?;
        if should == "waits" {
            return Ok(line);
        }
        self.waiting.timed_out += usize::from(place == Place::TimedOut);
        self.waiting.lapsed += usize::from(should == "has had it");
        self.waiting.leave_queue(number, Place::Over);
        self.waiting.all[number].future = None;
        if let (Some(grant), Place::Granted(token)) = (grant, place) {
            cx.same("token", &grant.token().get(), &token)?;
            let (stale, ended) = (false, None);
            self.hands.push(Hand {
                of,
                token,
                grant,
                stale,
                ended,
            });
        }
        Ok(line)
    }

    /// Who waits does not want it any more.
    pub(crate) fn leave(&mut self, which: usize, now: u64) -> Result<String, String> {
        let Some(number) = self.waiting.pick(which) else {
            return Ok(String::new());
        };
        let Waiter { of, place, .. } = self.waiting.all[number];
        let future = self.waiting.all[number].future.take();
        self.waiting.leave_queue(number, Place::Over);
        drop(future);
        self.waiting.left += usize::from(place == Place::Queued);
        let held = self.cells[usize::from(of)].holder.as_ref();
        let mut lived = false;
        if let (Place::Granted(token), Some(alive)) = (place, held) {
            lived = token == alive.token;
        }
        if lived {
            self.end(of, EndReason::Released, 0, now);
            self.handed_on(of, now)?;
        } else {
            self.woken(now)?;
        }
        Ok(format!("waiter {number} leaves"))
    }

    /// How many wait for a lease, and none of them for too long.
    pub(crate) fn count_waiting(
        &mut self,
        real: &Leases<u8, u64>,
        of: u8,
        cx: &Cx<'_>,
    ) -> Result<String, String> {
        let is = real.waiters(&of);
        let should = self.waiters(of, cx.now)?;
        cx.same(&format!("wait for {of}"), &is, &should)
    }

    pub(crate) fn waiters(&mut self, of: u8, now: u64) -> Result<usize, String> {
        self.woken(now)?;
        let queue = &self.waiting.queues[usize::from(of)];
        let late = |number: &&usize| self.waiting.all[**number].give_up <= now;
        match queue.iter().find(late) {
            Some(number) => Err(format!("waiter {number} waits too long")),
            None => Ok(queue.len()),
        }
    }

    /// The process stops: all leave.
    pub(crate) fn leave_all(&mut self, now: u64) -> Result<(), String> {
        while self.waiting.pick(0).is_some() {
            self.leave(0, now)?;
        }
        Ok(())
    }

    /// The runtime was shut down: all are told, and have been woken before.
    pub(crate) fn wait_for_the_end(&mut self, cx: &Cx<'_>) -> Result<(), String> {
        let woken = std::mem::take(&mut *self.waiting.woken.lock().unwrap());
        for number in self.waiting.queues.iter().flatten() {
            if !woken.contains(number) {
                return Err(format!("waiter {number} is not woken at the end"));
            }
        }
        while let Some(number) = self.waiting.pick(0) {
            let answer = self.waiting.poll(number);
            self.answered(number, answer, cx)?;
        }
        Ok(())
    }
}
