//! Sessions under secret ids. The model: a map from generations to deadlines and the numbers of ids.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand::RngExt;
use rand::rngs::SmallRng;
use tickwheel::snapshot::SessionStoreSnapshot;
use tickwheel::{
    CycleError, EndReason, Ended, SessionId, SessionStore, StartError, Timers, TouchPolicy,
    WhenFull,
};

use crate::config::{Config, MOST, MOST_OF_ONE};
use crate::cx::{Cx, Value};
use crate::ends::Ends;
use crate::process::Passage;

const NAMES: [&str; 2] = ["ada", "bob"];

#[derive(Clone, Debug)]
pub(crate) enum Do {
    Create(usize),
    Get(usize),
    Touch(usize),
    Cycle(usize),
    Revoke(usize),
    RevokeAll(usize),
    RevokeOthers(usize),
    /// With an id that a client has made up.
    Forge(u8),
    Count,
}

impl Do {
    pub(crate) fn draw(rng: &mut SmallRng) -> Self {
        let which = rng.random_range(0..6);
        match rng.random_range(0..16) {
            0..=3 => Self::Create(which % NAMES.len()),
            4..=6 => Self::Get(which),
            7 => Self::Touch(which),
            8..=10 => Self::Cycle(which),
            11 | 12 => Self::Revoke(which),
            13 if which < NAMES.len() => Self::RevokeAll(which),
            13 => Self::RevokeOthers(which),
            14 => Self::Forge(rng.random()),
            _ => Self::Count,
        }
    }
}

#[derive(Clone, Debug)]
struct Alive {
    value: u64,
    deadline: u64,
    absolute: u64,
    of: usize,
    /// The number of its id.
    id: usize,
    /// That of the id before it, and until when that will do.
    before: Option<(usize, u64)>,
}

#[derive(Default)]
pub(crate) struct Part {
    real: Option<SessionStore<Value>>,
    saved: Option<SessionStoreSnapshot<Value>>,
    /// All that there ever were, with the generations that they led to.
    ids: Vec<(SessionId, u64)>,
    alive: BTreeMap<u64, Alive>,
    last: u64,
    values: u64,
    /// Its time does not go back behind what was acted on.
    floor: u64,
    pub(crate) ends: Ends,
}

// --- the process ---

impl Part {
    pub(crate) fn start(
        &mut self,
        timers: &Timers,
        config: &Config,
        passage: &Passage,
    ) -> Result<(), String> {
        let log = self.ends.open();
        let hook = move |end: Ended<Option<Arc<str>>, Arc<Value>>| {
            let told = (end.reason, end.deadline.as_nanos(), end.value.0);
            log.tell(end.generation, told);
        };
        let builder = SessionStore::builder(timers, config.policy()).digest_key([7; 32]);
        let real = builder
            .on_end(hook)
            .build()
            .map_err(|error| error.to_string())?;
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
        for (generation, alive) in &self.alive {
            let end = (EndReason::Shutdown, alive.deadline, alive.value);
            self.ends.add(*generation, end);
        }
    }

    pub(crate) fn forget(&mut self) {
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
        for (generation, alive) in self.alive.clone() {
            if alive.deadline <= now {
                let absolute = alive.deadline == alive.absolute;
                let reason = [EndReason::Idle, EndReason::Absolute][usize::from(absolute)];
                self.end(generation, reason);
            }
        }
    }

    fn end(&mut self, generation: u64, reason: EndReason) -> bool {
        let Some(gone) = self.alive.remove(&generation) else {
            return false;
        };
        self.ends
            .add(generation, (reason, gone.deadline, gone.value));
        true
    }

    fn touch(&mut self, generation: u64, cx: &Cx<'_>) {
        if let Some(alive) = self.alive.get_mut(&generation) {
            let to = cx.now.saturating_add(cx.config.idle).min(alive.absolute);
            alive.deadline = alive.deadline.max(to);
        }
    }

    /// One of the last few ids: its number, where it leads now, and whether it is the present one.
    fn pick(&self, which: usize, now: u64) -> Option<(usize, Option<(u64, bool)>)> {
        let number = self.ids.len().checked_sub(which % 6 + 1)?;
        let generation = self.ids[number].1;
        let leads = self.alive.get(&generation).and_then(|alive| {
            let before = alive
                .before
                .is_some_and(|(id, until)| id == number && now < until);
            (alive.id == number || before).then_some((generation, alive.id == number))
        });
        Some((number, leads))
    }

    fn of(&self, name: usize) -> Vec<u64> {
        let mine = self.alive.iter().filter(|(_, alive)| alive.of == name);
        mine.map(|(generation, _)| *generation).collect()
    }

    fn admit(&mut self, of: usize, config: &Config) -> bool {
        loop {
            let mine = self.of(of);
            let oldest = if mine.len() >= MOST_OF_ONE {
                mine.first().copied()
            } else if self.alive.len() >= MOST {
                self.alive.keys().next().copied()
            } else {
                return true;
            };
            match oldest {
                Some(oldest) if config.when_full == WhenFull::EndOldest => {
                    self.end(oldest, EndReason::Capacity);
                }
                _ => return false,
            }
        }
    }
}

// --- both ---

impl Part {
    pub(crate) fn act(&mut self, what: &Do, cx: &Cx<'_>) -> Result<String, String> {
        let real = self.real.clone().expect("it runs");
        let cx = &cx.not_before(self.floor);
        let on_access = cx.config.touch == TouchPolicy::OnAccess;
        let on_write = cx.config.touch != TouchPolicy::Manual;
        let pick = |part: &Self, which| {
            let (number, leads) = part.pick(which, cx.now)?;
            Some((number, part.ids[number].0.clone(), leads))
        };
        Ok(match *what {
            Do::Create(of) => {
                self.values += 1;
                let created = real.create(NAMES[of], Value::new(self.values, cx));
                if matches!(created, Err(StartError::Full)) && self.alive.is_empty() {
                    return cx.full();
                }
                let full = (!self.admit(of, cx.config)).then_some(StartError::Full);
                let line = cx.same("logs in", &created.as_ref().err(), &full.as_ref())?;
                if let Ok((id, session)) = created {
                    if session.generation <= self.last {
                        return Err(format!("generation {}", session.generation));
                    }
                    self.last = session.generation;
                    let alive = Alive {
                        value: self.values,
                        deadline: cx.now,
                        absolute: cx.now.saturating_add(cx.config.absolute),
                        of,
                        id: self.ids.len(),
                        before: None,
                    };
                    self.ids.push((id, session.generation));
                    self.alive.insert(session.generation, alive);
                    self.touch(session.generation, cx);
                }
                line
            }
            Do::Get(which) => {
                let Some((number, id, leads)) = pick(self, which) else {
                    return Ok(String::new());
                };
                let got = real
                    .get(&id)
                    .map(|session| (session.generation, session.value.0));
                let leads = leads.map(|(generation, _)| generation);
                if let Some(generation) = leads.filter(|_| on_access) {
                    self.touch(generation, cx);
                }
                let value = leads.map(|generation| (generation, self.alive[&generation].value));
                cx.same(&format!("id {number} leads to"), &got, &value)?
            }
            Do::Touch(which) => {
                let Some((number, id, leads)) = pick(self, which) else {
                    return Ok(String::new());
                };
                let touched = real.touch(&id).ok().map(|left| left.deadline.as_nanos());
                let expected = leads.map(|(generation, _)| {
                    self.touch(generation, cx);
                    self.alive[&generation].deadline
                });
                cx.same(&format!("id {number} touches"), &touched, &expected)?
            }
            Do::Cycle(which) => {
                let Some((number, id, leads)) = pick(self, which) else {
                    return Ok(String::new());
                };
                let cycled = real.cycle_id(&id);
                let present = leads.filter(|(_, present)| *present);
                let gone = present.is_none().then_some(CycleError::Gone);
                let line = cx.same(
                    &format!("id {number} is cycled"),
                    &cycled.as_ref().err(),
                    &gone.as_ref(),
                )?;
                if let (Ok(fresh), Some((generation, _))) = (cycled, present) {
                    if on_write {
                        self.touch(generation, cx);
                    }
                    let next = self.ids.len();
                    let alive = self.alive.get_mut(&generation).expect("it is there");
                    let until = cx.now.saturating_add(cx.config.grace);
                    alive.before = Some((alive.id, until));
                    alive.id = next;
                    self.ids.push((fresh, generation));
                }
                line
            }
            Do::Revoke(which) => {
                let Some((number, id, leads)) = pick(self, which) else {
                    return Ok(String::new());
                };
                let revoked = real.revoke(&id).is_ok();
                let expected =
                    leads.is_some_and(|(generation, _)| self.end(generation, EndReason::Revoked));
                cx.same(&format!("id {number} is revoked"), &revoked, &expected)?
            }
            Do::RevokeAll(name) => {
                let mine = self.of(name);
                for generation in &mine {
                    self.end(*generation, EndReason::Revoked);
                }
                cx.same(NAMES[name], &real.revoke_all(NAMES[name]), &mine.len())?
            }
            Do::RevokeOthers(which) => {
                let Some((number, id, leads)) = pick(self, which) else {
                    return Ok(String::new());
                };
                let revoked = real.revoke_others(&id).ok();
                let present = leads.filter(|(_, present)| *present);
                let expected = present.map(|(generation, _)| {
                    let mut others = self.of(self.alive[&generation].of);
                    others.retain(|other| *other != generation);
                    for other in &others {
                        self.end(*other, EndReason::Revoked);
                    }
                    others.len()
                });
                cx.same(&format!("id {number} revokes others"), &revoked, &expected)?
            }
            Do::Forge(byte) => {
                let text = ['A', 'b', '-', '7'][usize::from(byte) % 4]
                    .to_string()
                    .repeat(SessionId::LEN);
                let id = SessionId::parse(&text).map_err(|error| error.to_string())?;
                cx.same(
                    "a made-up id leads to something",
                    &real.contains(&id),
                    &false,
                )?
            }
            Do::Count => {
                let names = (0..NAMES.len()).filter(|name| !self.of(*name).is_empty());
                let counts = (real.len(), real.principals());
                cx.same("counts", &counts, &(self.alive.len(), names.count()))?
            }
        })
    }
}
