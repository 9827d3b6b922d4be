//! The process: its clock, its runtime, its parts.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tickwheel::{ManualClock, Timers, Timestamp};

use crate::config::Config;
use crate::cx::Cx;
use crate::program::{Do, Program};
use crate::{codes, fuse, leases, logins, sessions, sleeps, timers};

pub(crate) struct World {
    pub(crate) config: Config,
    pub(crate) process: Mutex<(ManualClock, Timers)>,
    pub(crate) now: Mutex<u64>,
    /// The latest time there was, and the latest that the driver has seen.
    pub(crate) peak: Mutex<u64>,
    pub(crate) driven: Mutex<u64>,
    pub(crate) paused: AtomicBool,
    /// The process is being stopped: callbacks do nothing.
    pub(crate) closing: AtomicBool,
    values: Arc<AtomicI64>,
    pub(crate) timers: Mutex<timers::Part>,
    pub(crate) sleeps: Mutex<sleeps::Part>,
    pub(crate) sessions: Mutex<sessions::Part>,
    pub(crate) logins: Mutex<logins::Part>,
    pub(crate) leases: Mutex<leases::Part>,
    pub(crate) codes: Mutex<codes::Part>,
    story: Mutex<String>,
    fault: Mutex<Option<String>>,
    pub(crate) nested: AtomicUsize,
    /// How often the clock went back, and there was no room.
    pub(crate) backs: AtomicUsize,
    pub(crate) full: AtomicUsize,
}

impl World {
    fn new(config: &Config) -> Arc<Self> {
        let world = Arc::new(Self {
            config: config.clone(),
            process: Mutex::new(config.boot(0)),
            now: Mutex::default(),
            peak: Mutex::default(),
            driven: Mutex::default(),
            paused: AtomicBool::default(),
            closing: AtomicBool::default(),
            values: Arc::default(),
            timers: Mutex::default(),
            sleeps: Mutex::default(),
            sessions: Mutex::default(),
            logins: Mutex::default(),
            leases: Mutex::default(),
            codes: Mutex::default(),
            story: Mutex::default(),
            fault: Mutex::default(),
            nested: AtomicUsize::new(0),
            backs: AtomicUsize::new(0),
            full: AtomicUsize::new(0),
        });
        world.start();
        world
    }

    pub(crate) fn now(&self) -> u64 {
        *self.now.lock().unwrap()
    }

    /// Writes down what came of something; a fault is kept, and the first is told.
    pub(crate) fn note(&self, thread: &str, came: Result<String, String>) {
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
        let cx = self.cx(&runtime, thread);
        if let Err(wrong) = self.settle() {
            self.note(name, Err(format!("before {what:?}: {wrong}")));
            return;
        }
        let came = match what {
            Do::Pass(span) => {
                self.pass(*span);
                Ok(String::new())
            }
            Do::Back(span) => self.go_back(*span, &cx),
            Do::Pause => {
                let pauses = !self.paused.fetch_xor(true, Ordering::Relaxed);
                let done = if pauses {
                    runtime.pause()
                } else {
                    runtime.resume()
                };
                cx.same(if pauses { "pauses" } else { "goes on" }, &done, &true)
            }
            Do::Drive => self.drive(&cx),
            Do::Timers(what) => self.timers.lock().unwrap().act(what, &cx, self),
            Do::Sleeps(what) => self.sleeps.lock().unwrap().act(what, &cx),
            Do::Sessions(what) => self.sessions.lock().unwrap().act(what, &cx),
            Do::Logins(what) => self.logins.lock().unwrap().act(what, &cx),
            Do::Leases(what) => self.leases.lock().unwrap().act(what, &cx),
            Do::Keepers(what) => self.leases.lock().unwrap().keep(what, &cx),
            Do::Codes(what) => self.codes.lock().unwrap().act(what, &cx),
            Do::Restart(down) => self.restart(*down),
        };
        self.note(name, came.map_err(|wrong| format!("{what:?}: {wrong}")));
    }

    pub(crate) fn cx<'a>(&'a self, timers: &'a Timers, thread: u8) -> Cx<'a> {
        Cx {
            timers,
            config: &self.config,
            thread,
            now: self.now(),
            tick: self.config.tick,
            values: &self.values,
            full: &self.full,
        }
    }

    /// Time goes on.
    pub(crate) fn pass(&self, span: u64) {
        let mut now = self.now.lock().unwrap();
        *now = now.saturating_add(span).min(1 << 62);
        let mut peak = self.peak.lock().unwrap();
        *peak = (*peak).max(*now);
        let process = self.process.lock().unwrap();
        process.0.set(Timestamp::from_nanos(*now));
    }

    /// The clock goes back. What was seen before stays so; until then somebody has looked at everything.
    fn go_back(&self, span: u64, cx: &Cx<'_>) -> Result<String, String> {
        self.sessions.lock().unwrap().look(cx.now)?;
        self.logins.lock().unwrap().look(cx.now)?;
        self.leases.lock().unwrap().look(cx.now)?;
        self.codes.lock().unwrap().look(cx.now)?;
        self.told(|_| false, |_| false)?;
        let to = cx.now.saturating_sub(span);
        self.process
            .lock()
            .unwrap()
            .0
            .jump(Timestamp::from_nanos(to));
        // The driver's time does not go back.
        let now = cx.timers.now().as_nanos();
        let should = to.max(*self.driven.lock().unwrap() / cx.tick * cx.tick);
        *self.now.lock().unwrap() = now;
        self.backs.fetch_add(1, Ordering::Relaxed);
        cx.same("the clock goes back, and it is", &now, &should)
    }

    /// The driver comes by.
    fn drive(&self, cx: &Cx<'_>) -> Result<String, String> {
        let fired = || self.timers.lock().unwrap().fired;
        if self.paused.load(Ordering::Relaxed) {
            let before = fired();
            let turned = cx.timers.turn_fully().map(|turned| turned.fired);
            cx.same("fired while paused", &fired(), &before)?;
            return cx.same("drives, and is paused", &turned, &Ok(0));
        }
        *self.driven.lock().unwrap() = cx.now;
        // What callbacks arm for this very time waits for another turn.
        let turn = || fuse::lit(self.config.fuses, || cx.timers.turn_fully());
        let mut turns = vec![turn()];
        while cx.timers.next_timeout() == Some(Duration::ZERO) && turns.len() < 100 {
            turns.push(turn());
        }
        self.sleeps.lock().unwrap().driven(cx.now, cx.tick)?;
        self.timers.lock().unwrap().driven(cx.now, cx.tick)?;
        let mut leases = self.leases.lock().unwrap();
        leases.woken(cx.now)?;
        leases.driven(cx.now, cx.tick)?;
        leases.kept_up(cx)?;
        Ok(format!("drives, in {} turns", turns.len()))
    }

    /// Has the models end what has expired, and take note of who was woken.
    pub(crate) fn settle(&self) -> Result<(), String> {
        let now = self.now();
        self.sleeps.lock().unwrap().woken(now, self.config.tick)?;
        self.sessions.lock().unwrap().settle(now);
        self.logins.lock().unwrap().settle(now);
        self.codes.lock().unwrap().settle(now);
        let mut leases = self.leases.lock().unwrap();
        leases.settle(now);
        leases.woken(now)?;
        leases.kept(now)
    }

    /// Compares what was told. After the driver has come by, all that was due has been.
    pub(crate) fn check(&self, driven: bool) -> Result<(), String> {
        let (now, tick) = (self.now(), self.config.tick);
        let due = |at: u64| at.div_ceil(tick) <= now / tick;
        let late = |at: u64| !driven || !due(at.saturating_add(self.config.tolerance));
        self.told(late, |at: u64| !driven || !due(at))
    }

    /// What was told is what has ended, but for what may wait: of sessions, and of all else.
    fn told(&self, late: impl Fn(u64) -> bool, prompt: impl Fn(u64) -> bool) -> Result<(), String> {
        let sessions = self.sessions.lock().unwrap().ends.check(&late);
        sessions.map_err(|wrong| format!("sessions: {wrong}"))?;
        let logins = self.logins.lock().unwrap().ends.check(&late);
        logins.map_err(|wrong| format!("logins: {wrong}"))?;
        let leases = self.leases.lock().unwrap().ends.check(&prompt);
        leases.map_err(|wrong| format!("leases: {wrong}"))?;
        let codes = self.codes.lock().unwrap().ends.check(&prompt);
        codes.map_err(|wrong| format!("codes: {wrong}"))
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
        if self.closing.load(Ordering::Relaxed) {
            return;
        }
        self.nested.fetch_add(1, Ordering::Relaxed);
        fuse::lit(0, || self.act(0, "driver", what));
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
        let driven = matches!(step.what, Do::Drive) && !world.paused.load(Ordering::Relaxed);
        let checked = world.check(driven);
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
