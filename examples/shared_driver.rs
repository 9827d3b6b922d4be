//! One wheel for the request timeouts of a service: workers arm, push out and cancel them, and
//! one thread drives.
//!
//! The driver sleeps until the next deadline and not a moment less: nobody wakes it
//! periodically, and a worker does so only if it arms something earlier than what the driver
//! sleeps for. At the end every timer has to be accounted for.

use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use tickwheel::{Cancel, Clock, MonotonicClock, Park, Resolution, SharedWheel, TimerKey};

/// A tick is a millisecond.
const MS: Resolution = Resolution::MILLISECOND;
const RUN: Duration = Duration::from_secs(2);
const WORKERS: u64 = 3;
/// Requests a worker has under way.
const UNDER_WAY: usize = 200;

type Wheel = SharedWheel<Request>;

/// What times out.
#[derive(Debug)]
struct Request {
    worker: u64,
}

#[derive(Debug, Default)]
struct Work {
    armed: usize,
    pushed_out: usize,
    cancelled: usize,
}

/// Sends requests, hears of some that they take longer, and gets the answers of most.
fn work(worker: u64, wheel: &Wheel, clock: MonotonicClock) -> Work {
    let mut timers = wheel.local(); // arms and cancels without meeting other threads
    let mut under_way: Vec<TimerKey> = Vec::new();
    let mut done = Work::default();
    for step in 0.. {
        let now = clock.now();
        if now.as_nanos() >= RUN.as_nanos() as u64 {
            break;
        }
        // Any sequence does that is not the same for all.
        let mixed = (step * WORKERS + worker).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let timeout = Duration::from_millis(5 + mixed % 200);

        under_way.push(timers.arm(MS.deadline_after(now, timeout), Request { worker }));
        done.armed += 1;

        let some = (mixed >> 32) as usize % under_way.len();
        if step % 4 == 0 {
            let later = MS.deadline_after(now, timeout * 2);
            // Refused if it has timed out: then the answer comes too late.
            done.pushed_out += usize::from(timers.rearm(under_way[some], later).is_ok());
        } else if under_way.len() > UNDER_WAY {
            match timers.cancel(under_way.swap_remove(some)) {
                Cancel::Cancelled(request) => {
                    assert_eq!(request.worker, worker);
                    done.cancelled += 1;
                }
                Cancel::Running | Cancel::Stale => {} // it has timed out
            }
        }
        if step % 64 == 0 {
            thread::sleep(Duration::from_millis(1)); // waiting for the network
        }
    }
    done
}

#[derive(Debug, Default)]
struct Drive {
    fired: usize,
    worst: Duration,
    wake_ups: usize,
}

/// Fires what is due and sleeps, until no worker is left.
fn drive(wheel: &Wheel, clock: MonotonicClock, working: &AtomicUsize) -> Drive {
    let mut drive = Drive::default();
    while working.load(Ordering::Acquire) > 0 {
        drive.wake_ups += 1;
        let fired = wheel.advance(MS.now(clock.now()), |_, expired| {
            let late = clock.now() - MS.start_of(expired.deadline);
            drive.worst = drive.worst.max(late);
        });
        drive.fired += fired.expect("nobody else drives");

        // From here on, whoever arms something earlier than this calls `unpark`.
        match wheel.prepare_park().expect("nobody else drives") {
            Park::Now => {}
            Park::Until(tick) => thread::park_timeout(MS.start_of(tick) - clock.now()),
            Park::Idle => thread::park(),
        }
    }
    drive
}

fn main() -> ExitCode {
    let driver = thread::current();
    let wheel: Wheel = SharedWheel::builder().wake(move || driver.unpark()).build();
    let clock = MonotonicClock::new();
    let working = AtomicUsize::new(WORKERS as usize);

    let (drive, work) = thread::scope(|scope| {
        let driver = thread::current();
        let workers: Vec<_> = (0..WORKERS)
            .map(|worker| {
                let (wheel, working, driver) = (&wheel, &working, driver.clone());
                scope.spawn(move || {
                    let done = work(worker, wheel, clock);
                    working.fetch_sub(1, Ordering::Release);
                    driver.unpark();
                    done
                })
            })
            .collect();
        let drive = drive(&wheel, clock, &working);
        let mut sum = Work::default();
        for worker in workers {
            let done = worker.join().expect("a worker");
            sum.armed += done.armed;
            sum.pushed_out += done.pushed_out;
            sum.cancelled += done.cancelled;
        }
        (drive, sum)
    });

    let left = wheel.drain().count();
    let Drive {
        fired,
        worst,
        wake_ups,
    } = drive;
    let Work {
        armed,
        pushed_out,
        cancelled,
    } = work;
    println!("{armed} armed = {fired} fired + {cancelled} cancelled + {left} left");
    println!("{pushed_out} pushed out; at worst {worst:?} late; {wake_ups} wake-ups");
    ExitCode::from(u8::from(armed != fired + cancelled + left)) // not 0 if it does not add up
}
