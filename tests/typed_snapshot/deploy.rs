//! A service that is stopped and started again and again.
//!
//! Properties: a deploy logs nobody out and hands out no token twice; what was removed before a snapshot leaves nothing in it, and no
//! timer behind.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tickwheel::snapshot::{CodesSnapshot, LeasesSnapshot, SessionStoreSnapshot};
use tickwheel::{FencingToken, Leases, OneTimeCodes, SessionPolicy, SessionStore};

use crate::{KEY, Machine, secs, stored};

const HOUR: u64 = 3600;
const DEPLOYS: u64 = 6;
/// Up for so long, and then down for so long.
const UP: u64 = HOUR / 2;
const DOWN: u64 = 60;

#[derive(Serialize, Deserialize)]
struct State {
    sessions: SessionStoreSnapshot<u64>,
    codes: CodesSnapshot,
    leases: LeasesSnapshot<String>,
}

struct Service {
    machine: Machine,
    sessions: SessionStore<u64>,
    codes: OneTimeCodes,
    leases: Leases<String>,
}

impl Service {
    fn start(at: u64) -> Self {
        let machine = Machine::after(secs(at));
        let policy = SessionPolicy::new()
            .idle(secs(HOUR))
            .absolute(secs(24 * HOUR));
        let sessions = SessionStore::builder(&machine.timers, policy).digest_key(KEY);
        let codes = OneTimeCodes::builder(&machine.timers).digest_key(KEY);
        Self {
            sessions: sessions.build().unwrap(),
            codes: codes.build().unwrap(),
            leases: Leases::new(&machine.timers),
            machine,
        }
    }

    fn restore(&self, state: State) {
        let options = self.machine.options();
        let sessions = self.sessions.restore(state.sessions, options).unwrap();
        let codes = self
            .codes
            .restore(state.codes, &["login"], options)
            .unwrap();
        let leases = self.leases.restore(state.leases, options).unwrap();
        for report in [sessions, codes, leases] {
            assert_eq!((report.expired, report.refused, report.occupied), (0, 0, 0));
        }
    }

    fn stop(self) -> State {
        let anchor = self.machine.anchor;
        stored(&State {
            sessions: self.sessions.snapshot_at(anchor),
            codes: self.codes.snapshot_at(anchor),
            leases: self.leases.snapshot_at(anchor),
        })
    }
}

#[test]
fn a_deploy_logs_nobody_out_and_hands_out_no_token_twice() {
    let mut state = None;
    let (mut visitors, mut held) = (Vec::new(), BTreeMap::new());
    let mut letter: Option<(String, String)> = None;
    let mut largest = FencingToken::new(0);
    for deploy in 0..DEPLOYS {
        let service = Service::start(deploy * (UP + DOWN));
        if let Some(state) = state.take() {
            service.restore(state);
        }
        // Everybody of all processes before is there, and whoever had a lease has it.
        for (number, (id, generation)) in (0..).zip(&visitors) {
            let session = service.sessions.get(id).unwrap();
            assert_eq!((*session.value, session.generation), (number, *generation));
        }
        for (resource, token) in &held {
            let other = service.leases.try_acquire(resource, "another", secs(HOUR));
            assert!(other.unwrap_err().is_held());
            let grant = service.leases.resume::<String>(resource, *token).unwrap();
            assert_eq!(grant.token(), *token);
            service.leases.renew(&grant).unwrap();
        }
        if let Some((subject, code)) = &letter {
            service.codes.verify(subject, "login", code).unwrap();
        }
        // More come in the half hour before the next deploy, and some leases go from hand to hand.
        for _ in 0..20 {
            service.machine.pass(secs(UP / 20));
            let number = u64::try_from(visitors.len()).unwrap();
            let (id, session) = service.sessions.create("visitor", number).unwrap();
            visitors.push((id, session.generation));
            let name = format!("resource {}", number % 7);
            if let Some(token) = held.remove(&name) {
                let grant = service.leases.resume::<String>(&name, token).unwrap();
                service.leases.release(&grant).unwrap();
            }
            let grant = service
                .leases
                .try_acquire(&name, "worker", secs(HOUR))
                .unwrap();
            assert!(grant.token() > largest, "a token was used twice");
            largest = grant.token();
            held.insert(name, largest);
        }
        let subject = format!("visitor {deploy}");
        let issued = service.codes.issue(&subject, "login").unwrap();
        letter = Some((subject, issued.code.expose().to_owned()));
        state = Some(service.stop());
    }
    assert_eq!(visitors.len(), 120);
    assert_eq!(largest.get(), 120);
}

#[test]
fn what_was_removed_leaves_nothing_behind() {
    let service = Service::start(0);
    let limits = tickwheel::SessionLimits {
        idle: Some(secs(50)),
        absolute: None,
    };
    let ids: Vec<_> = (0..1000)
        .map(|number| {
            service
                .sessions
                .create_with(None, number, limits)
                .unwrap()
                .0
        })
        .collect();
    let grants: Vec<_> = (0..1000)
        .map(|number| {
            service
                .leases
                .try_acquire(number.to_string(), "worker", secs(50))
        })
        .collect();
    service.machine.pass(secs(10));
    for id in &ids {
        service.sessions.revoke(id).unwrap();
    }
    for grant in grants {
        service.leases.release(&grant.unwrap()).unwrap();
    }
    service.machine.pass(secs(50));
    assert_eq!(service.machine.timers.stats().armed, 0);
    let state = service.stop();
    assert_eq!(
        (state.sessions.sessions.len(), state.leases.grants.len()),
        (0, 0)
    );

    let next = Service::start(60);
    next.restore(state);
    assert_eq!((next.sessions.len(), next.leases.len()), (0, 0));
    assert_eq!(next.machine.timers.stats().armed, 0);
    assert_eq!(next.leases.high_water().get(), 1000);
}
