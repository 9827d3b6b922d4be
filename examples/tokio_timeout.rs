//! A small service on tokio whose times are all those of one `Timers`: requests have timeouts, a heartbeat
//! beats, and sessions expire that nobody has used for a while.
//!
//! Tokio's own timers are not used. Every task is asserted to have seen what it should.

use std::error::Error;
use std::time::Duration;

use tickwheel::{ArmError, Missed, Shutdown, TimeoutError, Timers};
use tokio::sync::mpsc;

const TIMEOUT: Duration = Duration::from_millis(100);
const IDLE: Duration = Duration::from_millis(600);
const BEAT: Duration = Duration::from_millis(150);

/// A backend that takes its time.
async fn backend(timers: &Timers, takes: Duration) -> Result<&'static str, ArmError> {
    timers.sleep(takes).await?;
    Ok("the answer")
}

/// A request that is given up if the backend takes too long.
async fn request(timers: Timers, user: &'static str, takes: Duration) -> Result<(), TimeoutError> {
    let begin = timers.now();
    let outcome = timers.timeout(TIMEOUT, backend(&timers, takes)).await;
    let took = timers.now() - begin;
    match outcome {
        Ok(answer) => {
            println!("{user}: {} after {took:?}", answer?);
            assert!(took >= takes);
            Ok(())
        }
        Err(error) => {
            println!("{user}: {error} after {took:?}");
            assert!(took >= TIMEOUT); // never early
            Err(error)
        }
    }
}

/// Beats until the runtime of the timers is shut down. Says how often it has.
async fn heartbeat(timers: Timers) -> Result<u32, ArmError> {
    let mut interval = timers.interval(BEAT, Missed::Skip)?;
    for beats in 0.. {
        match interval.tick().await {
            Ok(nominal) => println!("beat {beats}, due at {nominal:?}"),
            Err(ArmError::ShutDown) => return Ok(beats),
            Err(error) => return Err(error),
        }
    }
    unreachable!("it beats until the end")
}

/// Keeps the sessions of those who are heard of. Returns who has left, when all have.
async fn sessions(timers: Timers, mut heard: mpsc::Receiver<&'static str>) -> Vec<&'static str> {
    let mut sessions = timers.expirations();
    let (mut known, mut left) = (Vec::new(), Vec::new());
    let mut open = true;
    while open || !sessions.is_empty() {
        tokio::select! {
            user = heard.recv(), if open => match user {
                None => open = false,
                Some(user) => match known.iter().find(|(name, _)| *name == user) {
                    Some((_, key)) if sessions.reset(*key, IDLE).is_ok() => {}
                    _ => known.push((user, sessions.insert(user, IDLE))),
                },
            },
            Some(expired) = sessions.next(), if !sessions.is_empty() => {
                println!("{} has left", expired.value);
                known.retain(|(_, key)| *key != expired.key);
                left.push(expired.value);
            }
        }
    }
    left
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let timers = Timers::new()?;
    let begin = timers.now();
    let (heard, ears) = mpsc::channel(8);
    let heart = tokio::spawn(heartbeat(timers.clone()));
    let keeper = tokio::spawn(sessions(timers.clone(), ears));

    let quick = tokio::spawn(request(timers.clone(), "Ann", Duration::from_millis(20)));
    let slow = tokio::spawn(request(timers.clone(), "Bob", Duration::from_secs(60)));
    assert_eq!(quick.await?, Ok(()));
    assert_eq!(slow.await?, Err(TimeoutError::Elapsed));

    heard.send("Ann").await?;
    heard.send("Bob").await?;
    timers.sleep(IDLE / 2).await?;
    heard.send("Ann").await?; // Bob is not heard of again
    drop(heard);
    assert_eq!(keeper.await?, ["Bob", "Ann"]);

    let spent = timers.now() - begin;
    assert!(spent >= TIMEOUT + IDLE + IDLE / 2);
    timers.shutdown(Shutdown::Drop);
    let beats = heart.await??;
    println!("{beats} beats in {spent:?}");
    assert!(beats >= 1 && BEAT * beats <= spent);
    assert!(timers.is_empty());
    Ok(())
}
