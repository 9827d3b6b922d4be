//! Real executors, with the real clock: never early, and in the end all are woken.

use std::future::pending;
use std::thread;

use tickwheel::{ArmError, Missed, TimeoutError, Timers};

use crate::rig::{block_on, ms};

/// What one task does: it sleeps, beats, times out, and waits for what expires.
async fn life(timers: Timers, id: u64) -> Result<(), ArmError> {
    let (begin, span) = (timers.now(), ms(1 + 3 * id));
    timers.sleep(span).await?;
    assert!(timers.now() - begin >= span, "task {id} woke early");

    let begin = timers.now();
    let mut beats = timers.interval(ms(2), Missed::Burst)?;
    for beat in 1..=5 {
        let nominal = beats.tick().await?;
        assert!(nominal <= timers.now(), "task {id}, beat {beat}");
        assert!(nominal >= begin + ms(2) * beat, "task {id}, beat {beat}");
    }

    let begin = timers.now();
    let stuck = timers.timeout(span, pending::<()>()).await;
    assert_eq!(stuck, Err(TimeoutError::Elapsed));
    assert!(timers.now() - begin >= span, "task {id} gave up early");
    let in_time = timers.timeout(ms(60_000), timers.sleep(ms(1))).await;
    assert_eq!(in_time, Ok(Ok(())));

    let mut queue = timers.expirations();
    for value in [3, 1, 2] {
        queue.insert(value, ms(value * id));
    }
    let mut values = Vec::new();
    while let Some(expired) = queue.next().await {
        let due = timers.resolution().start_of(expired.deadline);
        assert!(due <= timers.now(), "task {id} got {} early", expired.value);
        values.push(expired.value);
    }
    values.sort_unstable(); // of one tick, in the order of the inserts
    assert_eq!((values.len(), values[2], queue.error()), (3, 3, None));
    Ok(())
}

const TASKS: std::ops::Range<u64> = 0..8;

fn tokio(runtime: &tokio::runtime::Runtime) {
    let timers = Timers::new().unwrap();
    runtime.block_on(async {
        let tasks: Vec<_> = TASKS
            .map(|id| tokio::spawn(life(timers.clone(), id)))
            .collect();
        for task in tasks {
            assert_eq!(task.await.unwrap(), Ok(()));
        }
    });
    assert_eq!(timers.len(), 0);
}

// The clock and the driver are the runtime's: tokio's own timers are not even switched on.

#[test]
fn on_tokio_in_one_thread() {
    tokio(
        &tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap(),
    );
}

#[test]
fn on_tokio_in_several_threads() {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    tokio(&builder.worker_threads(2).build().unwrap());
}

#[test]
fn on_smol() {
    let timers = Timers::new().unwrap();
    let executor = smol::Executor::new();
    smol::block_on(executor.run(async {
        let tasks: Vec<_> = TASKS
            .map(|id| executor.spawn(life(timers.clone(), id)))
            .collect();
        for task in tasks {
            assert_eq!(task.await, Ok(()));
        }
    }));
    assert_eq!(timers.len(), 0);
}

#[test]
fn in_threads_that_park() {
    let timers = Timers::new().unwrap();
    thread::scope(|scope| {
        for id in TASKS {
            let timers = timers.clone();
            scope.spawn(move || assert_eq!(block_on(life(timers, id)), Ok(())));
        }
    });
    assert_eq!(timers.len(), 0);
}
