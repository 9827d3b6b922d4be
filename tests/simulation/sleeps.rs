//! Futures of the runtime, and guards. The model of a future: a deadline, and whether somebody waits; of a guard: a deadline.
//!
//! A future is ready from its deadline on, by the clock, whether the driver has come by or not. Whoever waits is woken by
//! the driver, once, and by no step else.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use rand::RngExt;
use rand::rngs::SmallRng;
use tickwheel::{ArmError, Shutdown, Sleep, TimerGuard, TimerKey, Timers, Timestamp};

use crate::cx::Cx;
use crate::fuse;
use crate::program::span;

#[derive(Clone, Debug)]
pub(crate) enum Do {
    /// That long from when it is first polled, or from now.
    Sleep(u64, bool),
    Poll(usize),
    Reset(usize, u64),
    Leave(usize),
    Guard(u64),
    Move(usize, u64),
    /// Dropped, or let go.
    Unguard(usize, bool),
}

impl Do {
    pub(crate) fn draw(rng: &mut SmallRng) -> Self {
        let which = rng.random_range(0..3);
        match rng.random_range(0..16) {
            0..=3 => Self::Sleep(span(rng), rng.random_ratio(1, 2)),
            4..=8 => Self::Poll(which),
            9 | 10 => Self::Reset(which, span(rng)),
            11 => Self::Leave(which),
            12 | 13 => Self::Guard(span(rng)),
            14 => Self::Move(which, span(rng)),
            _ => Self::Unguard(which, rng.random_ratio(1, 4)),
        }
    }
}

/// When a future is to be ready.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Time {
    /// Counted from its first poll.
    After(u64),
    At(u64),
    /// It was, and stays so.
    Over,
}

struct Sleeper {
    future: Option<Sleep>,
    time: Time,
    waits: bool,
}

/// A timer in a guard's care.
struct Guarded {
    guard: Option<TimerGuard>,
    key: TimerKey,
    /// `None` once it has fired or was cancelled.
    deadline: Option<u64>,
}

#[derive(Default)]
pub(crate) struct Part {
    sleepers: Vec<Sleeper>,
    guarded: Vec<Guarded>,
    woken: Arc<Mutex<Vec<usize>>>,
    fired: Arc<Mutex<Vec<usize>>>,
    /// How many were woken, and how many guards have cancelled.
    pub(crate) counts: [usize; 2],
}

struct Bell(usize, Arc<Mutex<Vec<usize>>>);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.1.lock().unwrap().push(self.0);
        fuse::burn(self.0 as u64);
    }
}

/// One of the last few.
fn pick(len: usize, which: usize) -> Option<usize> {
    len.checked_sub(which + 1)
}

impl Part {
    pub(crate) fn act(&mut self, what: &Do, cx: &Cx<'_>) -> Result<String, String> {
        let later = |after: &u64| cx.now.saturating_add(*after);
        match what {
            Do::Sleep(after, from_now) => {
                let (future, time) = if *from_now {
                    let at = later(after);
                    let future = cx.timers.sleep_until(Timestamp::from_nanos(at));
                    (future, Time::At(at))
                } else {
                    let future = cx.timers.sleep(Duration::from_nanos(*after));
                    (future, Time::After(*after))
                };
                self.sleepers.push(Sleeper {
                    future: Some(future),
                    time,
                    waits: false,
                });
                Ok(format!("sleeper {}: {time:?}", self.sleepers.len() - 1))
            }
            Do::Poll(which) => match pick(self.sleepers.len(), *which) {
                Some(number) => self.poll(number, cx),
                None => Ok(String::new()),
            },
            Do::Reset(which, after) => {
                let number = pick(self.sleepers.len(), *which);
                let sleeper = number.map(|number| &mut self.sleepers[number]);
                let Some(Sleeper {
                    future: Some(future),
                    time,
                    ..
                }) = sleeper
                else {
                    return Ok(String::new());
                };
                future.reset(Duration::from_nanos(*after));
                *time = Time::At(later(after));
                let is = future.deadline().map(Timestamp::as_nanos);
                cx.same("a sleeper is moved to", &is, &Some(later(after)))
            }
            Do::Leave(which) => {
                if let Some(number) = pick(self.sleepers.len(), *which) {
                    self.leave(number);
                }
                Ok(String::from("a sleeper leaves"))
            }
            Do::Guard(after) => self.guard(later(after), cx),
            Do::Move(which, after) => {
                let number = pick(self.guarded.len(), *which);
                let guarded = number.map(|number| &mut self.guarded[number]);
                let Some(Guarded {
                    guard: Some(guard),
                    deadline,
                    ..
                }) = guarded
                else {
                    return Ok(String::new());
                };
                let moved = guard.rearm(Duration::from_nanos(*after)).is_ok();
                let was = deadline.is_some();
                *deadline = was.then_some(later(after));
                cx.same("what is guarded is moved", &moved, &was)
            }
            Do::Unguard(which, let_go) => {
                let number = pick(self.guarded.len(), *which);
                let Some(number) = number else {
                    return Ok(String::new());
                };
                self.unguard(number, *let_go, cx.timers)
            }
        }
    }

    fn poll(&mut self, number: usize, cx: &Cx<'_>) -> Result<String, String> {
        let bell = Waker::from(Arc::new(Bell(number, Arc::clone(&self.woken))));
        let sleeper = &mut self.sleepers[number];
        let Some(future) = &mut sleeper.future else {
            return Ok(String::new());
        };
        let polled = Pin::new(future).poll(&mut Context::from_waker(&bell));
        if let Time::After(after) = sleeper.time {
            sleeper.time = Time::At(cx.now.saturating_add(after));
        }
        if sleeper.time != Time::Over && polled == Poll::Ready(Err(ArmError::Full)) {
            sleeper.waits = false;
            return cx.full();
        }
        let should = match sleeper.time {
            Time::At(at) if cx.now < at && cx.timers.is_shut_down() => {
                Poll::Ready(Err(ArmError::ShutDown))
            }
            Time::At(at) if cx.now < at => Poll::Pending,
            Time::At(_) | Time::After(_) | Time::Over => Poll::Ready(Ok(())),
        };
        sleeper.waits = should == Poll::Pending;
        if should == Poll::Ready(Ok(())) {
            sleeper.time = Time::Over;
        }
        cx.same(&format!("sleeper {number}"), &polled, &should)
    }

    fn leave(&mut self, number: usize) {
        let sleeper = &mut self.sleepers[number];
        (sleeper.future, sleeper.waits) = (None, false);
    }

    fn guard(&mut self, at: u64, cx: &Cx<'_>) -> Result<String, String> {
        let (number, fired) = (self.guarded.len(), Arc::clone(&self.fired));
        let armed = cx.timers.arm_at(Timestamp::from_nanos(at), move |_| {
            fired.lock().unwrap().push(number);
        });
        match armed {
            Ok(key) => {
                self.guarded.push(Guarded {
                    guard: Some(cx.timers.guard(key)),
                    key,
                    deadline: Some(at),
                });
                Ok(format!("guarded {number}"))
            }
            Err(ArmError::Full) => cx.full(),
            Err(other) => Err(other.to_string()),
        }
    }

    fn unguard(&mut self, number: usize, let_go: bool, timers: &Timers) -> Result<String, String> {
        let guarded = &mut self.guarded[number];
        let Some(guard) = guarded.guard.take() else {
            return Ok(String::new());
        };
        if let_go {
            guard.detach();
            return Ok(format!("{number} is guarded no more"));
        }
        drop(guard);
        self.counts[1] += usize::from(guarded.deadline.take().is_some());
        match timers.is_armed(guarded.key) {
            true => Err(format!("{number} is armed, and its guard is gone")),
            false => Ok(format!("the guard of {number} is dropped")),
        }
    }

    /// Takes note of who was woken and what has fired: nobody and nothing does before its time.
    pub(crate) fn woken(&mut self, now: u64, tick: u64) -> Result<(), String> {
        let due = |at: u64| at.div_ceil(tick) <= now / tick;
        for number in self.woken.lock().unwrap().drain(..) {
            let Sleeper { time, waits, .. } = &mut self.sleepers[number];
            if !matches!(*time, Time::At(at) if *waits && due(at)) {
                return Err(format!("sleeper {number} is woken: {waits}, {time:?}"));
            }
            *waits = false;
            self.counts[0] += 1;
        }
        for number in self.fired.lock().unwrap().drain(..) {
            match self.guarded[number].deadline.take() {
                Some(at) if due(at) => {}
                at => return Err(format!("guarded {number} fires, and is due {at:?}")),
            }
        }
        Ok(())
    }

    /// The driver has done all that was to do.
    pub(crate) fn driven(&mut self, now: u64, tick: u64) -> Result<(), String> {
        self.woken(now, tick)?;
        let due = |at: u64| at.div_ceil(tick) <= now / tick;
        for (number, Sleeper { time, waits, .. }) in self.sleepers.iter().enumerate() {
            if matches!(time, Time::At(at) if *waits && due(*at)) {
                return Err(format!("sleeper {number} is not woken, {time:?}"));
            }
        }
        for (number, guarded) in self.guarded.iter().enumerate() {
            if guarded.deadline.is_some_and(due) {
                return Err(format!("guarded {number} has not fired"));
            }
        }
        Ok(())
    }

    /// The runtime was shut down: who waits was woken, and is told. What is guarded has fired if it was to, and is taken out of what was handed
    /// back.
    pub(crate) fn ended(
        &mut self,
        mode: Shutdown,
        unfired: &mut Vec<TimerKey>,
        cx: &Cx<'_>,
    ) -> Result<(), String> {
        let woken = std::mem::take(&mut *self.woken.lock().unwrap());
        for number in 0..self.sleepers.len() {
            let waits = self.sleepers[number].waits;
            let times = woken.iter().filter(|other| **other == number).count();
            if times != usize::from(waits) {
                return Err(format!("sleeper {number} waits: {waits}, woken {times}"));
            }
            self.sleepers[number].waits = false;
            self.poll(number, cx)?;
        }
        match mode {
            Shutdown::FireDue => self.driven(cx.now, cx.tick)?,
            Shutdown::Drop | Shutdown::HandBack => self.woken(0, cx.tick)?,
        }
        for (number, guarded) in self.guarded.iter().enumerate() {
            let before = unfired.len();
            unfired.retain(|key| *key != guarded.key);
            let back = before - unfired.len();
            let armed = guarded.deadline.is_some() && mode == Shutdown::HandBack;
            cx.same(
                &format!("guarded {number} is handed back"),
                &back,
                &usize::from(armed),
            )?;
        }
        Ok(())
    }

    /// The process stops, and all leave.
    pub(crate) fn stop(&mut self) {
        let counts = self.counts;
        *self = Self {
            counts,
            ..Self::default()
        };
    }
}
