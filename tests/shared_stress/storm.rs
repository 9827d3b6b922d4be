//! A storm: threads arm, cancel and re-arm at random, pass timers on to each other, and one
//! or two drivers advance.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use parking_lot::Mutex;
use tickwheel::{Cancel, Expired, Local, SharedTurn, SharedWheel, StaleKey, Tick, Ticks, TimerKey};

use crate::crew;
use crate::record::{Account, Advance, Event, History, Stamps, What};
use crate::token::{Ledger, Random, Token};

/// What a storm is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Storm {
    pub(crate) seed: u64,
    pub(crate) workers: usize,
    pub(crate) drivers: usize,
    pub(crate) shards: usize,
    /// Operations of each worker.
    pub(crate) ops: usize,
    /// How far ahead most deadlines lie.
    pub(crate) ahead: u64,
    /// In one call of the drivers, if there is a limit.
    pub(crate) budget: Option<usize>,
}

/// A timer, in the hands of whoever owns it just now.
struct Ticket {
    key: TimerKey,
    timer: usize,
    periodic: bool,
}

/// What is armed: a token, and whether its callback arms it again.
struct Armed<'l> {
    token: Token<'l>,
    periods: u32,
}

type Wheel<'l, const BITS: u32> = SharedWheel<Armed<'l>, BITS>;

struct Scene<'s, 'l, const BITS: u32> {
    storm: Storm,
    wheel: &'s Wheel<'l, BITS>,
    ledger: &'l Ledger,
    stamps: Stamps,
    /// The tick that drivers have asked for last.
    clock: AtomicU64,
    working: AtomicUsize,
    /// Timers on their way from one owner to another.
    market: Mutex<Vec<Ticket>>,
}

/// Runs it, and checks what happened to every timer.
pub(crate) fn run<const BITS: u32>(storm: Storm) -> Account {
    let ledger = Ledger::new(storm.workers * storm.ops);
    let wheel = Wheel::<'_, BITS>::builder().shards(storm.shards).build();
    let scene = Scene {
        storm,
        wheel: &wheel,
        ledger: &ledger,
        stamps: Stamps::default(),
        clock: AtomicU64::new(0),
        working: AtomicUsize::new(storm.workers),
        market: Mutex::default(),
    };
    let (mut events, mut advances) = (Vec::new(), Vec::new());
    crew::scope(|scope| {
        let scene = &scene;
        let drivers: Vec<_> = (0..storm.drivers)
            .map(|id| scope.spawn(move || scene.drive(id)))
            .collect();
        let workers: Vec<_> = (0..storm.workers)
            .map(|id| scope.spawn(move || scene.work(id)))
            .collect();
        for worker in workers {
            events.extend(worker.join().expect("a worker"));
        }
        for driver in drivers {
            let (more, calls) = driver.join().expect("a driver");
            events.extend(more);
            advances.extend(calls);
        }
    });
    scene.settle(&mut events, &mut advances);
    let account = History::new(advances, events.into_iter()).check();
    drop(wheel);
    ledger.assert_each_dropped_once();
    let Account {
        armed,
        fired,
        cancelled,
        left,
    } = account;
    assert_eq!(armed, fired + cancelled + left, "{account:?} of {storm:?}");
    assert_eq!(armed, ledger.made(), "{account:?} of {storm:?}");
    account
}

impl<'l, const BITS: u32> Scene<'_, 'l, BITS> {
    /// What one worker does until it is done.
    fn work(&self, id: usize) -> Vec<Event> {
        let mut random = Random::new(self.storm.seed, id);
        let mut worker = Worker {
            scene: self,
            local: (id % 2 == 0).then(|| self.wheel.local()),
            mine: Vec::new(),
            events: Vec::new(),
        };
        for op in 0..self.storm.ops {
            worker.step(&mut random);
            if op % 64 == 0 {
                thread::yield_now();
            }
        }
        self.working.fetch_sub(1, Ordering::Relaxed);
        worker.events
    }

    /// What one driver does until all workers are done.
    fn drive(&self, id: usize) -> (Vec<Event>, Vec<Advance>) {
        let mut random = Random::new(self.storm.seed, 1_000 + id);
        let (mut events, mut advances) = (Vec::new(), Vec::new());
        while self.working.load(Ordering::Relaxed) > 0 {
            let step = match random.below(20) {
                0 => self.storm.ahead,
                1..5 => 0,
                _ => 1 + random.below(3),
            };
            let tick = self.clock.fetch_add(step, Ordering::Relaxed) + step;
            let budget = self.storm.budget.filter(|_| random.below(4) > 0);
            advances.extend(self.advance(tick, budget, &mut events));
            thread::yield_now();
        }
        (events, advances)
    }

    /// One turn, if it was this driver's.
    fn advance(
        &self,
        tick: u64,
        budget: Option<usize>,
        events: &mut Vec<Event>,
    ) -> Option<Advance> {
        let from = self.stamps.next();
        let mut fire =
            |turn: &mut SharedTurn<'_, _, BITS>, expired| self.fire(turn, expired, events);
        let done = match budget {
            None => self.wheel.advance(Tick::new(tick), fire).is_ok(),
            Some(budget) => loop {
                let call = self
                    .wheel
                    .advance_bounded(Tick::new(tick), budget, &mut fire);
                match call {
                    Ok(progress) if progress.is_done() => break self.storm.drivers == 1,
                    Ok(_) => {}
                    // Somebody asks for the next deadline, or the other driver goes on with
                    // the turn.
                    Err(_) if self.storm.drivers == 1 => thread::yield_now(),
                    Err(_) => break false,
                }
            },
        };
        let to = self.stamps.next();
        done.then_some(Advance { tick, from, to })
    }

    /// The callback.
    fn fire(
        &self,
        turn: &mut SharedTurn<'_, Armed<'l>, BITS>,
        mut expired: Expired<Armed<'l>>,
        events: &mut Vec<Event>,
    ) {
        let from = self.stamps.next();
        let (at, deadline, key) = (turn.now(), expired.deadline, expired.key);
        expired.value.token.assert_whole();
        let timer = expired.value.token.id;
        let what = What::Fired { at, deadline };
        events.push(Event {
            timer,
            what,
            from,
            to: from,
        });
        if expired.value.periods == 0 {
            return;
        }
        expired.value.periods -= 1;
        let next = at + Ticks::new(u64::from(expired.value.periods) % 3);
        let from = self.stamps.next();
        match turn.rearm_expired(expired, next) {
            Ok(same) => {
                assert_eq!(same, key, "armed again under another key");
                let (what, to) = (What::Due(next), self.stamps.next());
                events.push(Event {
                    timer,
                    what,
                    from,
                    to,
                });
            }
            Err(revoked) => assert_eq!(revoked.expired.value.token.id, timer, "came back"),
        }
    }

    /// When everybody has gone: fires what is due, and takes out what is left.
    fn settle(&self, events: &mut Vec<Event>, advances: &mut Vec<Advance>) {
        let last = self.clock.load(Ordering::Relaxed) + self.storm.ahead;
        self.wheel.check();
        for tick in [last, last + self.storm.ahead] {
            let advance = self.advance(tick, None, events);
            advances.push(advance.expect("nobody else drives"));
            self.wheel.check();
        }
        let from = self.stamps.next();
        let len = self.wheel.len();
        let left: Vec<_> = self.wheel.drain().collect();
        assert_eq!(left.len(), len, "drained the first, counted the second");
        for (_, deadline, armed) in left {
            armed.token.assert_whole();
            events.push(Event {
                timer: armed.token.id,
                what: What::Left { deadline },
                from,
                to: from,
            });
        }
    }
}

struct Worker<'s, 'l, const BITS: u32> {
    scene: &'s Scene<'s, 'l, BITS>,
    local: Option<Local<'s, Armed<'l>, BITS>>,
    mine: Vec<Ticket>,
    events: Vec<Event>,
}

impl<'l, const BITS: u32> Worker<'_, 'l, BITS> {
    fn step(&mut self, random: &mut Random) {
        match random.below(20) {
            0..8 => self.arm(random),
            8..12 => self.cancel(random),
            12..16 => self.rearm(random),
            16 if !self.mine.is_empty() => {
                let ticket = self.mine.swap_remove(random.index(self.mine.len()));
                self.scene.market.lock().push(ticket);
            }
            17 => self.mine.extend(self.scene.market.lock().pop()),
            _ => self.look(random),
        }
    }

    /// A deadline: mostly soon, at times past, never, or so far that it takes another path.
    fn deadline(&self, random: &mut Random) -> Tick {
        let now = self.scene.clock.load(Ordering::Relaxed);
        match random.below(16) {
            0 => Tick::NEVER,
            1 => Tick::new(now) + Ticks::new(u64::MAX >> (1 + random.below(27))),
            2 => Tick::new(now.saturating_sub(random.below(10))),
            _ => Tick::new(now) + Ticks::new(random.below(self.scene.storm.ahead)),
        }
    }

    fn arm(&mut self, random: &mut Random) {
        let token = self.scene.ledger.token();
        let (timer, deadline) = (token.id, self.deadline(random));
        let periodic = random.below(8) == 0;
        let periods = if periodic { random.below(6) as u32 } else { 0 };
        let armed = Armed { token, periods };
        let from = self.scene.stamps.next();
        let key = match &mut self.local {
            Some(local) if random.below(4) > 0 => local.arm(deadline, armed),
            Some(_) | None => self.scene.wheel.arm(deadline, armed),
        };
        self.note(timer, What::Due(deadline), from);
        self.mine.push(Ticket {
            key,
            timer,
            periodic,
        });
    }

    fn cancel(&mut self, random: &mut Random) {
        if self.mine.is_empty() {
            return;
        }
        let Ticket { key, timer, .. } = self.mine.swap_remove(random.index(self.mine.len()));
        let from = self.scene.stamps.next();
        let answer = match &mut self.local {
            Some(local) if random.below(4) > 0 => local.cancel(key),
            Some(_) | None => match random.below(4) {
                0 => self.scene.wheel.cancel_wait(key),
                _ => self.scene.wheel.cancel(key),
            },
        };
        let what = match &answer {
            Cancel::Cancelled(armed) => {
                armed.token.assert_whole();
                assert_eq!(armed.token.id, timer, "another timer was cancelled");
                What::Cancelled
            }
            Cancel::Running => What::Running,
            Cancel::Stale => What::Refused,
        };
        self.note(timer, what, from);
    }

    fn rearm(&mut self, random: &mut Random) {
        if self.mine.is_empty() {
            return;
        }
        let at = random.index(self.mine.len());
        let Ticket {
            key,
            timer,
            periodic,
        } = self.mine[at];
        if periodic {
            return; // its deadlines are its callback's
        }
        let mut deadline = self.deadline(random);
        let from = self.scene.stamps.next();
        let answer = match (&mut self.local, random.below(8)) {
            (Some(local), 0) => {
                deadline = Tick::NEVER;
                local.disarm(key)
            }
            (None, 0) => {
                deadline = Tick::NEVER;
                self.scene.wheel.disarm(key)
            }
            (Some(local), 1..6) => local.rearm(key, deadline),
            _ => self.scene.wheel.rearm(key, deadline),
        };
        match answer {
            Ok(()) => self.note(timer, What::Due(deadline), from),
            Err(StaleKey { .. }) => {
                self.note(timer, What::Refused, from);
                self.mine.swap_remove(at);
            }
        }
    }

    /// Questions, whose answers must fit each other as far as that can be said.
    fn look(&self, random: &mut Random) {
        let (wheel, now) = (self.scene.wheel, self.scene.wheel.now());
        if let Some(ticket) = self.mine.get(random.index(self.mine.len() + 1)) {
            let armed = wheel.deadline(ticket.key).is_some();
            let still = wheel.contains(ticket.key);
            let fits = armed || !still || ticket.periodic;
            assert!(fits, "timer {} came back", ticket.timer);
        }
        let next = wheel.next_deadline();
        assert!(next.is_none_or(|next| next >= now), "{next:?} before {now}");
        let (len, made) = (wheel.len(), self.scene.ledger.made());
        assert!(len <= made, "{len} armed of {made}");
    }

    fn note(&mut self, timer: usize, what: What, from: u64) {
        let to = self.scene.stamps.next();
        self.events.push(Event {
            timer,
            what,
            from,
            to,
        });
    }
}
