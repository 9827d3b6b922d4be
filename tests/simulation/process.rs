//! How the process is stopped and started again.

use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use tickwheel::snapshot::RestoreOptions;
use tickwheel::{ArmError, Shutdown, Timestamp, WallAnchor};

use crate::world::World;

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

impl World {
    /// Starts all parts, with what was stored of them.
    pub(crate) fn start(&self) {
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

    /// Stops all parts: what lives ends, and is told of. By then the clock is right again.
    pub(crate) fn stop(&self) -> Result<(), String> {
        self.settle()?;
        let late = self.peak.lock().unwrap().saturating_sub(self.now());
        self.pass(late);
        self.settle()?;
        self.leases.lock().unwrap().drop_guards(self.now())?;
        if self.config.shutdown.is_none() {
            self.leases.lock().unwrap().leave_all(self.now())?;
        }
        let passage = Passage::at(self.now());
        self.sessions.lock().unwrap().save(&passage);
        self.logins.lock().unwrap().save(&passage);
        self.leases.lock().unwrap().save(&passage, self.now())?;
        self.codes.lock().unwrap().save(&passage);
        if let Some(mode) = self.config.shutdown {
            self.shut_down(mode)?;
        }
        self.sessions.lock().unwrap().stop();
        self.logins.lock().unwrap().stop();
        self.leases.lock().unwrap().stop();
        self.codes.lock().unwrap().stop();
        self.timers.lock().unwrap().stop();
        self.sleeps.lock().unwrap().stop();
        let stopped = "nothing may wait for a process that has stopped";
        self.check(true)
            .map_err(|wrong| format!("{stopped}: {wrong}"))
    }

    /// Shuts the runtime down. Each timer has an outcome, and nothing is armed or granted any more.
    fn shut_down(&self, mode: Shutdown) -> Result<(), String> {
        let runtime = self.process.lock().unwrap().1.clone();
        let cx = self.cx(&runtime, 0);
        self.closing.store(true, Ordering::Relaxed);
        let unfired = runtime.shutdown(mode);
        self.closing.store(false, Ordering::Relaxed);
        let mut keys: Vec<_> = unfired.iter().map(|unfired| unfired.key()).collect();
        self.sleeps.lock().unwrap().ended(mode, &mut keys, &cx)?;
        let timers = self.timers.lock().unwrap();
        timers.ended(mode, &keys, &cx)?;
        cx.same("armed at the end", &runtime.len(), &0)?;
        let armed = runtime.arm(Duration::ZERO, |_| ());
        cx.same(
            "arms after the end",
            &armed.err(),
            &Some(ArmError::ShutDown),
        )?;
        self.leases.lock().unwrap().wait_for_the_end(&cx)
    }

    pub(crate) fn restart(&self, down: u64) -> Result<String, String> {
        self.stop()?;
        self.pass(down);
        let fresh = self.config.boot(self.now());
        let before = std::mem::replace(&mut *self.process.lock().unwrap(), fresh);
        drop(before);
        self.paused.store(false, Ordering::Relaxed);
        *self.driven.lock().unwrap() = self.now();
        self.settle()?;
        self.start();
        Ok(format!("the process is started again after {down}"))
    }
}
