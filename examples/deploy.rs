//! A service is stopped and started again, and nobody notices: who is logged in stays so, a code that was sent is good, and the
//! worker that has a lease goes on with it.
//!
//! The service takes its snapshots when it has stopped serving, and restores them before it serves. What it must not lose in a crash, the
//! mark of its fencing tokens, it has stored before.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use tickwheel::snapshot::{
    CodesSnapshot, LeasesSnapshot, RestoreOptions, SessionStoreSnapshot, SnapshotFile,
};
use tickwheel::{
    Clock, FencingToken, Leases, ManualClock, OneTimeCodes, SessionPolicy, SessionStore, Timers,
    Timestamp, WallAnchor,
};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// From the secret manager. It is not where the snapshots are.
const KEY: [u8; 32] = *b"32 bytes that nobody else knows.";

/// What the service knows of who is logged in.
#[derive(Serialize, Deserialize)]
struct Visitor {
    basket: Vec<String>,
}

/// All that a restart must not lose.
#[derive(Serialize, Deserialize)]
struct State {
    sessions: SessionStoreSnapshot<Visitor>,
    codes: CodesSnapshot,
    leases: LeasesSnapshot<String>,
}

/// One process of the service.
struct Service {
    clock: ManualClock,
    anchor: WallAnchor,
    /// What runs with the clock: a service has `Timers::new()`, whose thread drives.
    timers: Timers,
    sessions: SessionStore<Visitor>,
    codes: OneTimeCodes,
    leases: Leases<String>,
    state: SnapshotFile,
}

impl Service {
    /// Starts it, at that time of day, with what there was before. Ends of sessions go to `ends`.
    fn start(dir: &Path, wall: SystemTime, ends: &Ends) -> Result<Self, Box<dyn Error>> {
        // A clock that is moved by hand, so that the story is the same each time.
        let clock = ManualClock::new();
        let anchor = WallAnchor::new(Timestamp::ZERO, wall);
        let timers = Timers::builder().clock(clock.clone()).build_hand_driven()?;

        let (policy, log) = (
            SessionPolicy::new()
                .idle(30 * MINUTE)
                .absolute(720 * MINUTE),
            Arc::clone(ends),
        );
        let sessions = SessionStore::builder(&timers, policy)
            .digest_key(KEY)
            .on_end(move |end| {
                let who = end.key.unwrap_or_default();
                log.lock().unwrap().push(format!("{who}: {}", end.reason));
            })
            .build()?;
        let codes = OneTimeCodes::builder(&timers).digest_key(KEY).build()?;

        let mark = SnapshotFile::new(dir.join("tokens"));
        let last: u64 = match mark.read()? {
            Some(bytes) => serde_json::from_slice(&bytes)?,
            None => 0,
        };
        let leases = Leases::builder()
            .tokens_from(FencingToken::new(last))
            .persist_tokens(1000, move |to| mark.write(to.to_string().as_bytes()))
            .build(&timers);

        let state = SnapshotFile::new(dir.join("state.json"));
        match state.read()? {
            None => println!("  there is nothing to restore"),
            Some(bytes) => {
                let state: State = serde_json::from_slice(&bytes)?;
                // Without the anchor, a service has the time of day from its machine.
                let options = RestoreOptions::new().anchor(anchor);
                let report = sessions.restore(state.sessions, options)?;
                println!(
                    "  sessions: {} restored, {} expired in the {:?} since",
                    report.restored, report.expired, report.elapsed
                );
                let report = codes.restore(state.codes, &["login"], options)?;
                println!("  codes: {} restored", report.restored);
                let report = leases.restore(state.leases, options)?;
                println!("  leases: {} restored", report.restored);
            }
        }
        Ok(Self {
            clock,
            anchor,
            timers,
            sessions,
            codes,
            leases,
            state,
        })
    }

    fn pass(&self, span: Duration) -> Result<(), Box<dyn Error>> {
        self.clock.advance(span);
        self.timers.turn_fully()?;
        Ok(())
    }

    /// Stops it, when it has stopped serving. Says what time of day it is.
    fn stop(self) -> Result<SystemTime, Box<dyn Error>> {
        let state = State {
            sessions: self.sessions.snapshot_at(self.anchor),
            codes: self.codes.snapshot_at(self.anchor),
            leases: self.leases.snapshot_at(self.anchor),
        };
        self.state.write(&serde_json::to_vec(&state)?)?;
        let now = self.anchor.to_wall(self.clock.now());
        Ok(now.ok_or("a time that this machine cannot say")?)
    }
}

type Ends = Arc<Mutex<Vec<String>>>;

fn main() -> Result<(), Box<dyn Error>> {
    let dir = Directory::new()?;
    let ends = Ends::default();
    let noon = SystemTime::UNIX_EPOCH + Duration::from_secs(1_900_000_000);

    println!("The service starts.");
    let service = Service::start(&dir.0, noon, &ends)?;
    let visitor = |item: &str| Visitor {
        basket: vec![item.into()],
    };
    let (alice, _) = service.sessions.create("alice", visitor("pears"))?;
    let (bob, _) = service.sessions.create("bob", visitor("plums"))?;
    service.pass(29 * MINUTE)?;
    assert!(service.sessions.get(&alice).is_some()); // a touch
    let letter = service.codes.issue("cyd@example.org", "login")?;
    let token = service
        .leases
        .try_acquire("report", "worker 1", 5 * MINUTE)?
        .token();
    println!("  alice has just clicked, bob has not for 29 minutes; cyd was sent a code;");
    println!("  worker 1 has the lease of the report, with token {token}");

    println!("It stops for a new version, and is down for two minutes.");
    let stopped = service.stop()?;
    // What lived was told of as shut down, by the process that is gone. It is not over.
    assert_eq!(ends.lock().unwrap().drain(..).len(), 2);
    let service = Service::start(&dir.0, stopped + 2 * MINUTE, &ends)?;

    // Alice notices nothing. Bob's half hour was over while nobody was there to see it.
    let session = service.sessions.get(&alice).ok_or("alice was logged out")?;
    assert_eq!(session.basket, ["pears"]);
    assert!(service.sessions.get(&bob).is_none());
    assert_eq!(*ends.lock().unwrap(), ["bob: idle for too long"]);
    println!("  alice still has her pears; {}", ends.lock().unwrap()[0]);

    // Cyd's letter has eight minutes left, and is good once.
    let answer = letter.code.expose();
    service.codes.verify("cyd@example.org", "login", answer)?;
    assert!(
        service
            .codes
            .verify("cyd@example.org", "login", answer)
            .is_err()
    );
    println!("  cyd answers with the code that the old process had sent");

    // Worker 1 has three minutes left, and nobody else gets in before that.
    let other = service.leases.try_acquire("report", "worker 2", 5 * MINUTE);
    assert!(other.is_err_and(|error| error.is_held()));
    let grant = service
        .leases
        .resume("report", token)
        .ok_or("worker 1 has lost its lease")?;
    assert_eq!(grant.status(), Ok(3 * MINUTE));
    service.leases.renew(&grant)?;
    println!("  worker 1 renews its lease, and still has token {token}");
    service.pass(SECOND)?;

    println!(
        "It crashes: there is no new snapshot. Token and code of before are used up, and it does not know."
    );
    let next = service.leases.try_acquire("mail", "worker 3", MINUTE)?;
    println!(
        "  worker 3 was given token {}, after the snapshot",
        next.token()
    );
    let after = next.token();
    drop(service);
    drop(next);
    let service = Service::start(&dir.0, stopped + 3 * MINUTE, &ends)?;
    let next = service.leases.try_acquire("mail", "worker 4", MINUTE)?;
    assert!(next.token() > after);
    println!(
        "  worker 4 is given token {}: none is given twice, since the mark was stored",
        next.token()
    );
    Ok(())
}

/// A directory that goes with this.
struct Directory(PathBuf);

impl Directory {
    fn new() -> std::io::Result<Self> {
        let path = std::env::temp_dir().join(format!("tickwheel-deploy-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
