//! What polls allocate: nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::future::{pending, ready};
use std::pin::pin;
use std::task::Poll;

use tickwheel::Missed;

use crate::rig::{Rig, Task, ms};

/// The allocator of the system, counting what each thread asks of it.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: everything is passed on to the allocator of the system as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promises are those that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as above.
        unsafe { System.realloc(place, layout, size) }
    }
}

/// How often this thread has allocated meanwhile.
fn allocations(run: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    run();
    ALLOCATIONS.get() - before
}

const POLLS: u64 = 10_000;

/// Counts the second time: the first one makes room in the wheel.
fn second_time(mut run: impl FnMut()) -> usize {
    run();
    allocations(run)
}

#[test]
fn sleeps_that_are_made_polled_moved_and_dropped_allocate_nothing() {
    let rig = Rig::new();
    let (one, other) = (Task::new(), Task::new());
    let counted = second_time(|| {
        for round in 0..POLLS {
            let mut sleep = rig.timers.sleep(ms(1 + round % 300));
            for task in [&one, &one, &other] {
                assert_eq!(task.poll(&mut sleep), Poll::Pending);
            }
            sleep.reset(ms(2_000));
            assert_eq!(other.poll(&mut sleep), Poll::Pending);
        }
    });
    assert_eq!(counted, 0);
}

#[test]
fn timeouts_allocate_nothing() {
    let (rig, task) = (Rig::new(), Task::new());
    let counted = second_time(|| {
        for _ in 0..POLLS {
            let done = pin!(rig.timers.timeout(ms(5), ready(())));
            assert_eq!(task.poll_pin(done), Poll::Ready(Ok(())));
            let stuck = pin!(rig.timers.timeout(ms(5), pending::<()>()));
            assert_eq!(task.poll_pin(stuck), Poll::Pending);
        }
    });
    assert_eq!(counted, 0);
}

#[test]
fn intervals_and_expirations_that_are_awaited_allocate_nothing() {
    let (rig, task) = (Rig::new(), Task::new());
    let mut interval = rig.timers.interval(ms(5), Missed::Skip).unwrap();
    let mut queue = rig.timers.expirations();
    let mut counted = 0;
    for round in 0..2 * POLLS {
        queue.insert(round, ms(1 + round % 7));
        let polls = allocations(|| {
            for _ in 0..2 {
                let _ = task.with(|cx| interval.poll_tick(cx));
                let _ = task.with(|cx| queue.poll_expired(cx));
            }
        });
        if round >= POLLS {
            counted += polls;
        }
        rig.go(rig.now() + 1);
    }
    assert_eq!(counted, 0);
}
