//! The process: its clock, its runtime, its parts; and how it is stopped and started again.

use std::any::Any;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use rand::RngExt;
use rand::rngs::SmallRng;
use tickwheel::snapshot::RestoreOptions;
use tickwheel::{
    ManualClock, Resolution, SessionPolicy, Timers, Timestamp, TouchPolicy, WallAnchor, WhenFull,
};

use crate::program::{Do, Program};
use crate::{codes, leases, logins, sessions, timers};

/// What a program runs on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Config {
    /// Nanoseconds.
    pub(crate) tick: u64,
    pub(crate) idle: u64,
    pub(crate) absolute: u64,
    pub(crate) tolerance: u64,
    pub(crate) grace: u64,
    pub(crate) touch: TouchPolicy,
    pub(crate) when_full: WhenFull,
    /// How much longer than they should sessions live, by their model: to see that it is found.
    pub(crate) flaw: u64,
}

/// The most sessions, in all and of one principal.
pub(crate) const MOST: usize = 3;
pub(crate) const MOST_OF_ONE: usize = 2;

impl Config {
    pub(crate) fn draw(rng: &mut SmallRng) -> Self {
        let among = |rng: &mut SmallRng, from: &[u64]| from[rng.random_range(0..from.len())];
        Self {
            tick: among(rng, &[1, 1, 3, 8]),
            idle: among(rng, &[5, 20, 60, u64::MAX]),
            absolute: among(rng, &[40, 100, u64::MAX]),
            tolerance: among(rng, &[0, 0, 10]),
            grace: among(rng, &[0, 7]),
            touch: [
                TouchPolicy::OnAccess,
                TouchPolicy::OnWrite,
                TouchPolicy::Manual,
            ][rng.random_range(0..3)],
            when_full: [WhenFull::Refuse, WhenFull::EndOldest][rng.random_range(0..2)],
            flaw: 0,
        }
    }

    pub(crate) fn policy(&self) -> SessionPolicy {
        let span = |nanos| match nanos {
            u64::MAX => Duration::MAX,
            nanos => Duration::from_nanos(nanos),
        };
        SessionPolicy::new()
            .idle(span(self.idle))
            .absolute(span(self.absolute))
            .reclaim_tolerance(span(self.tolerance))
            .cycle_grace(span(self.grace))
            .touch(self.touch)
            .when_full(self.when_full)
            .max_sessions(MOST)
            .max_per_principal(MOST_OF_ONE)
    }
}

/// What a part needs to do something.
pub(crate) struct Cx<'a> {
    pub(crate) timers: &'a Timers,
    pub(crate) config: &'a Config,
    pub(crate) thread: u8,
    pub(crate) now: u64,
    pub(crate) tick: u64,
    pub(crate) values: &'a Arc<AtomicI64>,
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

/// How a stopped process is started again.
pub(crate) struct Passage {
    pub(crate) anchor: WallAnchor,
}

impl Passage {
    /// Times of day begin when all clocks begin.
    fn at(now: u64) -> Self {
        let wall = SystemTime::UNIX_EPOCH + Duration::from_nanos(now);
        let anchor = WallAnchor::new(Timestamp::from_nanos(now), wall);
        Self { anchor }
    }

    pub(crate) fn options(&self) -> RestoreOptions {
        RestoreOptions::new().anchor(self.anchor)
    }
}

pub(crate) struct World {
    config: Config,
    process: Mutex<(ManualClock, Timers)>,
    now: Mutex<u64>,
    values: Arc<AtomicI64>,
    pub(crate) timers: Mutex<timers::Part>,
    pub(crate) sessions: Mutex<sessions::Part>,
    pub(crate) logins: Mutex<logins::Part>,
    pub(crate) leases: Mutex<leases::Part>,
    pub(crate) codes: Mutex<codes::Part>,
    story: Mutex<String>,
    fault: Mutex<Option<String>>,
    pub(crate) nested: AtomicUsize,
    pub(crate) panics: AtomicUsize,
}

fn boot(config: &Config, now: u64) -> (ManualClock, Timers) {
    let clock = ManualClock::starting_at(Timestamp::from_nanos(now));
    let tick = Resolution::new(Duration::from_nanos(config.tick)).unwrap();
    let builder = Timers::builder().clock(clock.clone()).resolution(tick);
    (clock, builder.build_hand_driven().unwrap())
}

impl World {
    fn new(config: &Config) -> Arc<Self> {
        let world = Arc::new(Self {
            config: config.clone(),
            process: Mutex::new(boot(config, 0)),
            now: Mutex::new(0),
            values: Arc::default(),
            timers: Mutex::default(),
            sessions: Mutex::default(),
            logins: Mutex::default(),
            leases: Mutex::default(),
            codes: Mutex::default(),
            story: Mutex::default(),
            fault: Mutex::default(),
            nested: AtomicUsize::new(0),
            panics: AtomicUsize::new(0),
        });
        world.start();
        world
    }

    fn now(&self) -> u64 {
        *self.now.lock().unwrap()
    }

    /// Writes down what came of something; a fault is kept, and the first is told.
    fn note(&self, thread: &str, came: Result<String, String>) {
        let (line, fault) = match came {
            Ok(line) => (line, None),
            Err(line) => (format!("WRONG: {line}"), Some(())),
        };
        if !line.is_empty() {
            let line = format!("{:>6}  {thread}  {line}\n", self.now());
            self.story.lock().unwrap().push_str(&line);
        }
        if fault.is_some() {
            self.fault.lock().unwrap().get_or_insert(line);
        }
    }

    fn act(self: &Arc<Self>, thread: u8, name: &str, what: &Do) {
        let runtime = self.process.lock().unwrap().1.clone();
        self.settle();
        let cx = Cx {
            timers: &runtime,
            config: &self.config,
            thread,
            now: self.now(),
            tick: self.config.tick,
            values: &self.values,
        };
        let came = match what {
            Do::Pass(span) => {
                let mut now = self.now.lock().unwrap();
                *now = now.saturating_add(*span).min(1 << 62);
                self.process
                    .lock()
                    .unwrap()
                    .0
                    .set(Timestamp::from_nanos(*now));
                Ok(String::new())
            }
            Do::Drive => {
                // What callbacks arm for this very time waits for another turn.
                let mut turns = vec![runtime.turn_fully()];
                while runtime.next_timeout() == Some(Duration::ZERO) && turns.len() < 100 {
                    turns.push(runtime.turn_fully());
                }
                let driven = self.timers.lock().unwrap().driven(cx.now, cx.tick);
                driven.map(|()| format!("drives, in {} turns", turns.len()))
            }
            Do::Timers(what) => self.timers.lock().unwrap().act(what, &cx, self),
            Do::Sessions(what) => self.sessions.lock().unwrap().act(what, &cx),
            Do::Logins(what) => self.logins.lock().unwrap().act(what, &cx),
            Do::Leases(what) => self.leases.lock().unwrap().act(what, &cx),
            Do::Codes(what) => self.codes.lock().unwrap().act(what, &cx),
            Do::Restart(down) => self.restart(*down),
        };
        self.note(name, came.map_err(|wrong| format!("{what:?}: {wrong}")));
    }

    /// Has the models end what has expired.
    fn settle(&self) {
        let now = self.now();
        self.sessions.lock().unwrap().settle(now);
        self.logins.lock().unwrap().settle(now);
        self.leases.lock().unwrap().settle(now);
        self.codes.lock().unwrap().settle(now);
    }

    /// Compares what was told. After the driver has come by, all that was due has been.
    fn check(&self, driven: bool) -> Result<(), String> {
        let (now, tick) = (self.now(), self.config.tick);
        let due = |at: u64| at.div_ceil(tick) <= now / tick;
        let late = |at: u64| !driven || !due(at.saturating_add(self.config.tolerance));
        let prompt = |at: u64| !driven || !due(at);
        let sessions = self.sessions.lock().unwrap().ends.check(late);
        sessions.map_err(|wrong| format!("sessions: {wrong}"))?;
        let logins = self.logins.lock().unwrap().ends.check(late);
        logins.map_err(|wrong| format!("logins: {wrong}"))?;
        let leases = self.leases.lock().unwrap().ends.check(prompt);
        leases.map_err(|wrong| format!("leases: {wrong}"))?;
        let codes = self.codes.lock().unwrap().ends.check(prompt);
        codes.map_err(|wrong| format!("codes: {wrong}"))
    }

    /// Starts all parts, with what was stored of them.
    fn start(&self) {
        let runtime = self.process.lock().unwrap().1.clone();
        let (now, config) = (self.now(), &self.config);
        let passage = Passage::at(now);
        let came = (|| {
            self.sessions
                .lock()
                .unwrap()
                .start(&runtime, config, &passage)?;
            self.logins
                .lock()
                .unwrap()
                .start(&runtime, config, &passage)?;
            self.leases.lock().unwrap().start(&runtime, &passage)?;
            self.codes.lock().unwrap().start(&runtime, &passage)
        })();
        if came.is_err() {
            self.note("process", came.map(|()| String::new()));
        }
    }

    /// Stops all parts: what lives ends, and is told of.
    fn stop(&self) -> Result<(), String> {
        self.settle();
        let passage = Passage::at(self.now());
        self.sessions.lock().unwrap().stop(&passage);
        self.logins.lock().unwrap().stop(&passage);
        self.leases.lock().unwrap().stop(&passage);
        self.codes.lock().unwrap().stop(&passage);
        self.timers.lock().unwrap().stop();
        let stopped = "nothing may wait for a process that has stopped";
        self.check(true)
            .map_err(|wrong| format!("{stopped}: {wrong}"))
    }

    fn restart(&self, down: u64) -> Result<String, String> {
        self.stop()?;
        let now = {
            let mut now = self.now.lock().unwrap();
            *now = now.saturating_add(down).min(1 << 62);
            *now
        };
        let before = std::mem::replace(&mut *self.process.lock().unwrap(), boot(&self.config, now));
        drop(before);
        self.settle();
        self.start();
        Ok(format!("the process is started again after {down}"))
    }

    // --- in callbacks ---

    pub(crate) fn fire(&self, number: usize, now: u64, deadline: u64) {
        let mut came = self
            .timers
            .lock()
            .unwrap()
            .fire(number, now, self.config.tick);
        if now < deadline || now > self.now() {
            came = Err(format!("{number}, due at {deadline}, fires at {now}"));
        }
        self.note("driver", came);
    }

    pub(crate) fn nested(self: &Arc<Self>, what: &Do) {
        self.nested.fetch_add(1, Ordering::Relaxed);
        self.act(0, "driver", what);
    }

    /// Panics, and says nothing on the terminal.
    pub(crate) fn fuse(&self) {
        self.panics.fetch_add(1, Ordering::Relaxed);
        let fuse: Box<dyn Any + Send> = Box::new("a fuse");
        resume_unwind(fuse);
    }
}

/// Runs a program. The story of what came of it; an error, if that is not what the models say.
pub(crate) fn run(program: &Program) -> Result<String, String> {
    finish(&play(program))
}

pub(crate) fn play(program: &Program) -> Arc<World> {
    let world = World::new(&program.config);
    for step in &program.steps {
        let name = format!("thread {}", step.thread);
        world.act(step.thread, &name, &step.what);
        let checked = world.check(matches!(step.what, Do::Drive));
        if let Err(wrong) = checked {
            world.note(&name, Err(format!("after {:?}: {wrong}", step.what)));
        }
        if world.fault.lock().unwrap().is_some() {
            break;
        }
    }
    world
}

pub(crate) fn finish(world: &Arc<World>) -> Result<String, String> {
    let failed = world.fault.lock().unwrap().is_some();
    if !failed {
        let stopped = world.stop();
        if stopped.is_err() {
            world.note("process", stopped.map(|()| String::new()));
        }
        world.sessions.lock().unwrap().forget();
        world.logins.lock().unwrap().forget();
        let left = world.values.load(Ordering::Relaxed);
        if left != 0 {
            world.note("process", Err(format!("{left} values were not dropped")));
        }
    }
    let story = world.story.lock().unwrap().clone();
    match *world.fault.lock().unwrap() {
        Some(_) => Err(story),
        None => Ok(story),
    }
}
