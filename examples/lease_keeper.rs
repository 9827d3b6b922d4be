//! Two workers, one lease, and a store that checks tokens. One worker stalls, as a process does that is
//! swapped out. Its lease goes to the other. When it comes back it writes before it looks, and the
//! store refuses it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tickwheel::{
    Clock, EndReason, FenceGate, FencingToken, LeaseGuardOptions, Leases, Loss, ManualClock, Stale,
    Timers,
};

/// What the lease protects. The gate is checked under the lock under which it is written to.
#[derive(Default)]
struct Store(Mutex<(FenceGate, Vec<String>)>);

impl Store {
    fn write(&self, token: FencingToken, line: &str) -> Result<(), Stale> {
        let mut store = self.0.lock().unwrap();
        store.0.check(token)?;
        store.1.push(format!("token {token}: {line}"));
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A clock that is moved by hand, so that the story is the same each time. A service has `Timers::new()`,
    // whose thread drives.
    let clock = ManualClock::new();
    let runtime = || {
        let builder = Timers::builder().clock(clock.clone());
        builder.build_hand_driven()
    };
    // The lessor, and each worker, is a process with a runtime of its own.
    let (lessor, worker_1, worker_2) = (runtime()?, runtime()?, runtime()?);
    // Lets seconds pass in some of them.
    let pass = |seconds: u64, running: &[&Timers]| {
        for _ in 0..seconds {
            clock.advance(Duration::from_secs(1));
            for timers in running {
                timers.turn_fully()?;
            }
        }
        Ok::<(), tickwheel::Busy>(())
    };
    let say = {
        let clock = clock.clone();
        move |text: String| println!("{:>3} s  {text}", clock.now().as_nanos() / 1_000_000_000)
    };

    let ends = Arc::new(Mutex::new(Vec::new()));
    let (log, tell) = (Arc::clone(&ends), say.clone());
    let leases: Leases<String> = Leases::builder()
        .on_end(move |ended| {
            let (token, holder, reason) = (ended.generation, ended.value, ended.reason);
            tell(format!(
                "the lease of {holder} (token {token}) ended: {reason}"
            ));
            log.lock().unwrap().push((token, reason));
        })
        .build(&lessor);
    let (store, ttl) = (Store::default(), Duration::from_secs(30));
    let hold = |timers: &Timers, name: &str| {
        let (tell, who) = (say.clone(), name.to_owned());
        LeaseGuardOptions::new(timers)
            .on_lost(move |loss| tell(format!("{who} learns that it has lost the lease: {loss}")))
            .acquire(leases.clone(), ("ledger".into(), name.into()), ttl)
    };

    let one = hold(&worker_1, "worker 1")?;
    say(format!("worker 1 holds the lease, token {}", one.token()));
    store.write(one.token(), "worker 1 writes page 1")?;
    pass(60, &[&lessor, &worker_1])?;
    assert!(!one.is_lost());
    say("worker 1 still holds it: its guard has renewed it".into());
    assert!(hold(&worker_2, "worker 2").is_err());

    // It has looked at its lease, is about to write, and stalls: nothing of it runs.
    say("worker 1 stalls".into());
    pass(30, &[&lessor, &worker_2])?;
    let two = hold(&worker_2, "worker 2")?;
    say(format!("worker 2 holds the lease, token {}", two.token()));
    store.write(two.token(), "worker 2 writes page 2")?;

    // It goes on where it was.
    let late = store.write(one.token(), "worker 1 writes page 2");
    let highest = two.token();
    assert_eq!(late, Err(Stale { highest }));
    say(format!(
        "worker 1 writes with token {}, and is refused: {}",
        one.token(),
        Stale { highest }
    ));
    worker_1.turn_fully()?;
    assert_eq!(one.loss(), Some(Loss::Expired));
    assert!(one.release().is_err()); // too late, and nothing to worker 2

    assert!(!two.is_lost());
    two.release()?;
    let ends = ends.lock().unwrap();
    assert_eq!(*ends, [(1, EndReason::Absolute), (2, EndReason::Released)]);
    let lines = store.0.into_inner()?.1;
    assert_eq!(lines.len(), 2);
    println!("\n{}", lines.join("\n"));
    Ok(())
}
