//! Sessions under keys: how they are stopped and started again, and their model.

use tickwheel::{EndReason, Ended, Session, Sessions, Timers, WhenFull};

use crate::config::{Config, MOST, MOST_OF_ONE};
use crate::cx::{Cx, Value};
use crate::process::Passage;
use crate::sessions::{Alive, KEYS, Part};

// --- the process ---

impl Part {
    pub(crate) fn start(
        &mut self,
        timers: &Timers,
        config: &Config,
        passage: &Passage,
    ) -> Result<(), String> {
        let log = self.ends.open();
        let hook = move |end: Ended<u8, std::sync::Arc<Value>>| {
            let told = (end.reason, end.deadline.as_nanos(), end.value.0);
            log.tell(end.generation, told);
        };
        let real = Sessions::with_events(timers, config.policy(), hook);
        if let Some(saved) = self.saved.take() {
            let report = real
                .restore(saved, passage.options())
                .map_err(|error| error.to_string())?;
            if report.restored != self.alive.len() {
                return Err(format!("{report:?}, and should be {:?}", self.alive));
            }
        }
        self.real = Some(real);
        self.floor = 0;
        Ok(())
    }

    pub(crate) fn save(&mut self, passage: &Passage) {
        let real = self.real.as_ref().expect("it runs");
        self.saved = Some(real.snapshot_at(passage.anchor));
    }

    pub(crate) fn stop(&mut self) {
        self.real = None;
        for alive in self.alive.values() {
            let end = (EndReason::Shutdown, alive.deadline, alive.value);
            self.ends.add(alive.generation, end);
        }
    }

    /// Lets go of all that threads hold.
    pub(crate) fn forget(&mut self) {
        self.hands.clear();
        self.saved = None;
    }
}

// --- the model ---

impl Part {
    /// Looks at all, after which the clock goes back.
    pub(crate) fn look(&mut self, now: u64) -> Result<(), String> {
        self.settle(now);
        self.floor = self.floor.max(now);
        let (is, should) = (self.real.as_ref().expect("it runs").len(), self.alive.len());
        if is != should {
            return Err(format!("{is} live, and should {should}"));
        }
        Ok(())
    }

    pub(crate) fn settle(&mut self, now: u64) {
        let now = now.max(self.floor);
        for key in 0..KEYS {
            if let Some(alive) = self.alive.get(&key).filter(|alive| alive.deadline <= now) {
                let absolute = alive.deadline == alive.absolute;
                self.end(
                    key,
                    [EndReason::Idle, EndReason::Absolute][usize::from(absolute)],
                );
            }
        }
    }

    pub(crate) fn end(&mut self, key: u8, reason: EndReason) -> Option<u64> {
        let gone = self.alive.remove(&key)?;
        self.ends
            .add(gone.generation, (reason, gone.deadline, gone.value));
        Some(gone.value)
    }

    pub(crate) fn touch(&mut self, key: u8, cx: &Cx<'_>) -> Option<u64> {
        let alive = self.alive.get_mut(&key)?;
        let idle = cx.config.idle.saturating_add(cx.config.flaw);
        let to = cx.now.saturating_add(idle).min(alive.absolute);
        alive.deadline = alive.deadline.max(to);
        Some(alive.deadline)
    }

    pub(crate) fn seen(&self, key: u8) -> Option<(u64, u64, u64)> {
        let alive = self.alive.get(&key)?;
        Some((alive.generation, alive.version, alive.value))
    }

    pub(crate) fn of(&self, name: usize) -> Vec<u8> {
        let mine = self
            .alive
            .iter()
            .filter(|(_, alive)| alive.of == Some(name));
        let mut mine: Vec<u8> = mine.map(|(key, _)| *key).collect();
        mine.sort_by_key(|key| self.alive[key].generation);
        mine
    }

    /// Makes room for one more under that key.
    pub(crate) fn admit(&mut self, key: u8, of: Option<usize>, config: &Config) -> bool {
        loop {
            let others = self.alive.iter().filter(|(other, _)| **other != key);
            let mine = others
                .clone()
                .filter(|(_, alive)| of.is_some() && alive.of == of);
            let oldest = if mine.clone().count() >= MOST_OF_ONE {
                mine.min_by_key(|(_, alive)| alive.generation)
            } else if others.clone().count() >= MOST {
                others.min_by_key(|(_, alive)| alive.generation)
            } else {
                return true;
            };
            match oldest.map(|(key, _)| *key) {
                Some(oldest) if config.when_full == WhenFull::EndOldest => {
                    self.end(oldest, EndReason::Capacity);
                }
                _ => return false,
            }
        }
    }

    pub(crate) fn begin(
        &mut self,
        key: u8,
        of: Option<usize>,
        real: &Session<Value>,
        cx: &Cx<'_>,
    ) -> Result<(), String> {
        self.end(key, EndReason::Replaced);
        if real.generation <= self.last {
            return Err(format!(
                "generation {} after {}",
                real.generation, self.last
            ));
        }
        self.last = real.generation;
        let absolute = cx.now.saturating_add(cx.config.absolute);
        let alive = Alive {
            generation: real.generation,
            version: 0,
            value: self.values,
            deadline: cx.now,
            absolute,
            of,
        };
        self.alive.insert(key, alive);
        self.touch(key, cx);
        Ok(())
    }
}
