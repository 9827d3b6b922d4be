//! The first minute with `Timers`: a one-shot, a periodic timer, a re-arm, a guard, and the numbers.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use tickwheel::{Missed, Shutdown, Timers};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ms = Duration::from_millis;
    let timers = Timers::new()?; // a thread that sleeps until there is something to do
    let (events, log) = mpsc::channel();
    let start = Instant::now();

    // Once, in a quarter of a second.
    let once = events.clone();
    timers.arm(ms(250), move |_| once.send("once").unwrap())?;

    // Every 100 ms, three times. No drift: it is due at multiples of the period.
    let (beat, mut beats) = (events.clone(), 0);
    timers.every(ms(100), Missed::Skip, move |firing| {
        beats += 1;
        beat.send("beat").unwrap();
        if beats == 3 {
            firing.stop();
        }
    })?;

    // An idle timeout, pushed out by traffic: the key stays the same.
    let idle = timers.arm(ms(300), move |_| events.send("idle").unwrap())?;
    for _ in 0..3 {
        std::thread::sleep(ms(10));
        timers.rearm(idle, ms(500))?;
    }

    // A timeout that goes when its owner goes.
    let request = timers.guard(timers.arm(Duration::from_secs(30), |_| unreachable!())?);
    drop(request); // answered: cancelled

    // Ends when all callbacks have run, and dropped their ends of the channel.
    let seen: Vec<_> = log.iter().collect();
    assert!(start.elapsed() >= ms(10 + 500)); // never early
    assert_eq!(seen.iter().filter(|event| **event == "beat").count(), 3);
    assert_eq!(seen.last(), Some(&"idle"));

    timers.shutdown(Shutdown::Drop); // so does dropping the last handle
    timers.wait(Duration::from_secs(10))?;
    let stats = timers.stats();
    assert_eq!((stats.fired, stats.cancelled, stats.rearmed), (5, 1, 3));
    println!("{seen:?}\n{stats:#?}");
    println!(
        "late by {:?} at the median",
        timers.lateness().quantile(0.5)
    );
    Ok(())
}
