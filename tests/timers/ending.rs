//! Properties: nothing that happens beside the end of a runtime keeps it from ending, or loses a
//! timer.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tickwheel::{Shutdown, Timers, WaitError};

use crate::{Bed, ms};

const LONG: Duration = Duration::from_secs(60);

/// Who asks how long to sleep has the driver's role for a moment.
#[test]
fn a_shutdown_beside_who_asks_for_how_long_to_sleep_fires_what_is_due() {
    for round in 0..300 {
        let bed = Bed::new();
        for _ in 0..20 {
            bed.timers.arm(ms(1), bed.logs("fired")).unwrap();
        }
        bed.clock.advance(ms(1));
        let asks = bed.timers.clone();
        let asker = thread::spawn(move || {
            while !asks.is_shut_down() {
                let _ = asks.next_timeout();
            }
            for _ in 0..20 {
                let _ = asks.next_timeout();
            }
        });
        for _ in 0..round * 20 {
            std::hint::spin_loop();
        }
        bed.timers.shutdown(Shutdown::FireDue);
        asker.join().unwrap();
        assert_eq!(bed.timers.wait(LONG), Ok(()));
        assert_eq!(bed.log.len(), 20);
    }
}

#[test]
fn a_destructor_does_not_wait_for_the_shutdown_or_the_run_that_it_is_part_of() {
    struct Waits(Timers, std::sync::mpsc::Sender<Result<(), WaitError>>);

    impl Drop for Waits {
        fn drop(&mut self) {
            let _ = self.1.send(self.0.wait(LONG));
        }
    }

    let bed = Bed::with(|builder| builder.executor(|run: tickwheel::Run| run.run()));
    let (told, heard) = std::sync::mpsc::channel();
    for after in [1, 10] {
        let waits = Waits(bed.timers.clone(), told.clone());
        let shuts_down = bed.timers.clone();
        bed.timers
            .arm(ms(after), move |_| {
                let _waits = waits;
                shuts_down.shutdown(Shutdown::Drop); // drops the other
            })
            .unwrap();
    }
    bed.drive_to(1);
    for _ in 0..2 {
        assert_eq!(heard.try_recv(), Ok(Err(WaitError::FromCallback)));
    }
    assert_eq!(bed.timers.wait(Duration::ZERO), Ok(()));
}

#[test]
fn a_callback_of_one_runtime_may_wait_for_another() {
    let bed = Bed::with(|builder| builder.executor(|run: tickwheel::Run| run.run()));
    let other = Bed::new();
    other.timers.shutdown(Shutdown::Drop);
    let (waits, mut logs) = (other.timers.clone(), bed.logs("waited"));
    bed.timers
        .arm(ms(1), move |firing| {
            assert_eq!(waits.wait(Duration::ZERO), Ok(()));
            logs(firing);
        })
        .unwrap();
    bed.drive_to(1);
    assert_eq!(bed.log.len(), 1);
}

#[test]
fn a_wake_hook_that_panics_keeps_nothing_from_its_end() {
    let bed = Bed::with(|builder| builder.wake(|| panic!("as planned")));
    let _ = bed.timers.next_timeout();
    let key = bed.timers.arm(ms(10), |_| {}).unwrap();
    assert!(bed.timers.is_armed(key));
    assert_eq!(bed.timers.shutdown(Shutdown::HandBack).len(), 1);
    assert_eq!(bed.timers.wait(Duration::ZERO), Ok(()));
    assert_eq!(bed.timers.stats().panics, 2);
}

/// Hooks, the clock and the executor are gone when a runtime that was waited for is dropped.
#[test]
fn who_has_waited_is_the_last_to_keep_the_runtime() {
    for _ in 0..200 {
        let kept = Arc::new(());
        let hook = kept.clone();
        let timers = Timers::builder()
            .on_panic(move |_| drop(hook.clone()))
            .build()
            .unwrap();
        timers.shutdown(Shutdown::Drop);
        assert_eq!(timers.wait(LONG), Ok(()));
        drop(timers);
        assert_eq!(Arc::strong_count(&kept), 1);
    }
}

#[test]
fn what_is_postponed_when_the_end_has_come_is_counted_as_dropped() {
    let last = Arc::new(std::sync::Mutex::new(None::<Timers>));
    let inner = last.clone();
    let bed = Bed::with(|builder| {
        builder.before_fire(move |_| {
            // Stands for a shutdown by another thread, just now.
            let timers = inner.lock().unwrap().take().unwrap();
            drop(timers.shutdown(Shutdown::HandBack));
            tickwheel::Verdict::Postpone(ms(5))
        })
    });
    *last.lock().unwrap() = Some(bed.timers.clone());
    bed.timers.arm(ms(1), |_| unreachable!()).unwrap();
    bed.drive_to(1);
    let stats = bed.timers.stats();
    assert_eq!((stats.postponed, stats.returned, stats.fired), (1, 1, 0));
}
