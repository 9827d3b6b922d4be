//! A timing wheel that owns every deadline in a service.
//!
//! ```
//! use tickwheel::{Tick, Wheel};
//!
//! let mut wheel = Wheel::new();
//! let idle = wheel.arm(Tick::new(30), "connection 7 is idle");
//! wheel.arm(Tick::new(50), "retransmit to connection 9");
//! wheel.rearm(idle, Tick::new(45))?; // connection 7 was heard from
//!
//! let mut log = Vec::new();
//! wheel.advance(Tick::new(44), |_, expired| log.push(expired.value));
//! assert!(log.is_empty()); // never early
//! wheel.advance(Tick::new(60), |_, expired| log.push(expired.value));
//! assert_eq!(log, ["connection 7 is idle", "retransmit to connection 9"]);
//! # Ok::<(), tickwheel::StaleKey>(())
//! ```
//!
//! That is the wheel by itself. A service wants [`Timers`]: a clock, a thread and callbacks, or futures,
//! over a [`SharedWheel`].
//!
//! # Why a wheel
//!
//! The obvious timer queue is a heap. It costs O(log n) to arm, more to cancel, and most
//! timers in a service are cancelled or pushed out long before they fire: each packet that
//! arrives moves an idle timeout, each answer cancels a retransmission. A heap either
//! searches, or fills up with dead entries.
//!
//! A hashed hierarchical timing wheel (Varghese & Lauck, SOSP 1987) keeps rings of slots:
//! the finest has one slot per tick, each further ring has slots 256 times as long. Arming
//! files a timer in the slot its deadline falls into; cancelling unlinks it; both take
//! constant time. What lies in a coarse slot moves down a level as its time comes near.
//! In this wheel neighbouring levels overlap, so that those moves are spread over the
//! ticks before they are needed. The [`internals`] page has the drawing.
//!
//! # Which type do I want?
//!
//! | you have | use |
//! |---|---|
//! | one owner (an event loop, a network stack, a simulation) and ticks of its own | [`Wheel`] |
//! | many threads that arm and cancel, and one that drives | [`SharedWheel`], and a [`Local`] for each thread that arms much |
//! | a clock, durations and callbacks: a service | [`Timers`], which has a thread that drives, or lets an event loop or a test do it |
//! | futures that have to end in time | [`Timers`] too: [`timeout`](Timers::timeout), [`sleep`](Timers::sleep), on any runtime |
//! | sessions, leases, one-time codes | `Sessions`, `SessionStore`, `Leases`, `OneTimeCodes`, with the feature `typed` |
//! | values that expire, polled by one task | [`Expirations`] |
//! | a clock, and durations, and one owner | [`Wheel`] with a [`Resolution`] and a [`Clock`]; see the example `network_timers` |
//! | fewer than a dozen timers | an array; you do not need this crate |
//!
//! # Driving the wheel
//!
//! A wheel at rest stays at rest. Time is an argument of [`advance`](Wheel::advance) and
//! [`poll`](Wheel::poll). Calling early is harmless, calling late makes timers late, by just
//! as much. Ticks that go backwards count as the tick the wheel is at. There are three ways
//! to know when to call:
//!
//! * **At every tick**, from a loop that turns anyway. A call with nothing to do is one
//!   comparison.
//! * **At [`next_deadline`](Wheel::next_deadline)**, with the fewest wake-ups. It is a bound
//!   and may be early, so loop: an early call moves a timer closer and fires nothing. A
//!   slot that holds many timers moves down in the one call that enters it.
//! * **At [`next_work`](Wheel::next_work)**, which also wakes for moves ahead of need. Crowded
//!   slots then move down 32 timers at a time, and no call has to pay for a whole slot.
//!
//! [`advance_bounded`](Wheel::advance_bounded) limits what one call may do in any case.
//!
//! ```
//! use core::time::Duration;
//! use tickwheel::{Clock, ManualClock, Resolution, Wheel};
//!
//! let (clock, ms) = (ManualClock::new(), Resolution::MILLISECOND);
//! let mut wheel = Wheel::new();
//! wheel.arm(ms.deadline_after(clock.now(), Duration::from_secs(5)), "five seconds");
//!
//! while let Some(next) = wheel.next_deadline() {
//!     clock.set(ms.start_of(next)); // a service would sleep until then
//!     while let Some(expired) = wheel.poll(ms.now(clock.now())) {
//!         assert_eq!(expired.value, "five seconds");
//!     }
//! }
//! assert_eq!(clock.now().as_nanos(), 5_000_000_000);
//! ```
//!
//! # Guarantees
//!
//! * **Never early.** Deadlines round up to a tick, the present rounds down, by the same
//!   exact division. See [`Resolution`].
//! * **On time.** `advance(now)` fires everything due by `now`, in order of tick, whatever
//!   the gap since the last call. Equal ticks fire in the order of arming; [`Wheel`] says
//!   which timers are exempt.
//! * **Exactly one outcome per arm:** fired, cancelled (the value comes back), or handed
//!   back or dropped when the wheel is drained, cleared or dropped.
//! * **Truthful answers.** A successful `cancel` or `rearm` means that the old deadline
//!   never fires; that includes a timer that is due in the very batch being fired.
//! * **Stale keys are harmless.** A key of a timer that is gone, or of another wheel, is
//!   refused in every build. It never reaches another timer.
//! * **Callbacks are free** to arm, cancel, re-arm, themselves included, and to panic.
//!   A panic loses nothing but the timer that was firing; the rest fires on the next call.
//! * **No lifetime limit.** Any `u64` tick works from any other. [`Tick::NEVER`] is held and
//!   never fires. Nothing overflows.
//! * **Bounded memory.** A cancelled value is returned at once. Entries never outnumber the
//!   most timers armed at one time by more than 25, whether or not anything advances (and
//!   by one for each 2<sup>32</sup> timers that used the same entry); what the allocator holds
//!   beyond that is the usual growth of a `Vec`.
//! * **Bounded work on request:** [`advance_bounded`](Wheel::advance_bounded).
//!
//! A [`SharedWheel`] gives the same guarantees, but for the order of equal ticks, and three more:
//!
//! * **Nobody waits.** A thread that is preempted anywhere in the middle of an operation holds up
//!   no other thread, and no other timer.
//! * **No lost wake-up.** A deadline earlier than the driver's sleep wakes it; a later one does
//!   not.
//! * **Three answers to `cancel`:** the value, or that the callback is running now, or
//!   too late. See [`Cancel`].
//!
//! [`Timers`] gives all of these for durations and callbacks, and says what becomes of a timer whatever
//! happens: a panic is caught, a failure is tried again if that was asked for, and a shutdown drops, hands
//! back or fires what is left, each timer once.
//!
//! # Costs
//!
//! | operation | time | allocates |
//! |---|---|---|
//! | `arm`, `arm_with`, `arm_tolerant` | O(1) | when the wheel grows |
//! | `cancel`, `deadline`, `get`, `contains` | O(1) | no |
//! | `rearm` | O(1) | when a level is first used |
//! | `advance`, `poll`, nothing due | O(1): one comparison | no |
//! | `advance`, `poll` | O(levels + slots that hold something + timers visited), never O(ticks) | when a level is first used |
//! | a timer, over its life | at most a move per level, and one each time the wheel comes by a place it was re-armed from | |
//! | `next_deadline`, `next_work` | O(levels) | no |
//!
//! Memory: the value and 28 bytes per timer, so 36 bytes with an 8-byte value. The slots take
//! 24 KB per level, up to the highest that was used:
//! 49 KB for deadlines within 130,000 ticks, 74 KB within 33 million, 197 KB for any, and up
//! to 369 KB once there are tolerances. A wheel allocates nothing until the first timer is
//! armed.
//!
//! # What it is not
//!
//! No async runtime (its futures work in any), no database (snapshots of the typed layer are taken when you ask for one), and no
//! wall clock: a deadline that has to survive a restart is a wall-clock time, and [`WallAnchor`] converts it.
//!
//! # Safety and correctness
//!
//! [`Wheel`] has one line of `unsafe`, a prefetch instruction, in a file of its own. It is
//! compared with a `BTreeMap` after every step of random programs, on six geometries (the
//! small ones meet every wrap-around within a few ticks), from start times around every level edge and at both
//! ends of the `u64` range, with a checker that walks every list. This shows the wheel to do
//! what the model does on those programs; it is not a proof.
//!
//! [`SharedWheel`] has `unsafe` where a value goes in and out of its cell, where groups of
//! entries are made and found, and where the driver's role lends what it guards. Its protocol is one
//! table of transitions. Loom models of two or three threads try the interleavings with at most
//! two to five preemptions, some models all that loom tells apart; each model is shown to fail on a
//! deliberate fault. Random programs are compared with the oracle of the single-owner
//! wheel, histories of real threads with the sequential specification, and stress runs clean
//! under the thread and address sanitizers. The [`internals`] say what each of these cannot
//! see.
//!
//! # Crate features
//!
//! * **`std`** (default): [`SharedWheel`], [`Timers`], [`MonotonicClock`] and [`WallAnchor`]. Without it the crate is
//!   `no_std`; it needs `alloc`, and atomics of the width of a pointer.
//! * **`typed`**: `Sessions`, `SessionStore`, `Leases`, `OneTimeCodes`, `ReplayGuard`.
//! * **`serde`**: `snapshot`, which stores what `typed` keeps, and restores it in another process.
//! * **`stream`**: [`Interval`] and [`Expirations`] are streams of `futures-core`.
//! * **`boot-clock`**: `BootClock`, a clock that counts the time a machine spends suspended
//!   (Linux and Android; other platforms as documented there).
//! * **`metrics`**: what [`Timers`] count goes to the recorder of the `metrics` crate, see
//!   `Timers::publish_metrics`.
//! * **`tracing`**: events with the target `tickwheel`: panics as errors; failures of fallible timers, overruns
//!   and alarms of the watchdog as warnings; the end of an alarm; shutdowns; every batch as a trace.
//!
//! The minimum supported Rust version is 1.85.
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(unsafe_code)]
#![doc(test(attr(deny(warnings))))]
#![warn(
    clippy::std_instead_of_core,
    clippy::std_instead_of_alloc,
    clippy::alloc_instead_of_core
)]
#![cfg_attr(
    not(feature = "std"),
    expect(
        rustdoc::broken_intra_doc_links,
        reason = "the text links to what needs `std`"
    )
)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod clock;
mod error;
mod geometry;
pub mod internals;
mod key;
mod prefetch;
mod resolution;
#[cfg(all(feature = "std", target_has_atomic = "64"))]
mod shared;
mod sync;
mod tick;
#[cfg(all(feature = "std", target_has_atomic = "64"))]
mod timers;
mod timestamp;
#[cfg(all(feature = "typed", target_has_atomic = "64"))]
mod typed;
#[cfg(all(feature = "std", target_has_atomic = "64"))]
mod unwind;
mod wheel;

#[cfg(feature = "boot-clock")]
pub use clock::BootClock;
pub use clock::Clock;
#[cfg(target_has_atomic = "64")]
pub use clock::ManualClock;
#[cfg(feature = "std")]
pub use clock::{MonotonicClock, WallAnchor};
pub use error::{StaleKey, WheelFull};
pub use key::TimerKey;
pub use resolution::{Resolution, ResolutionError};
#[cfg(loom)]
#[doc(hidden)]
pub use shared::Mutant;
#[cfg(all(feature = "std", target_has_atomic = "64"))]
pub use shared::{
    Busy, Cancel, Local, Park, Revoked, SharedDrain, SharedTurn, SharedWheel, SharedWheelBuilder,
};
#[cfg(loom)]
#[doc(hidden)]
pub use sync::modelled;
pub use tick::{Tick, Ticks};
#[cfg(all(feature = "std", target_has_atomic = "64"))]
pub use timers::{
    Alarm, ArmError, Backoff, BuildError, Executor, Expirations, Failure, Firing, Histogram,
    Interval, Missed, Next, Overrun, Panicked, Pending, Run, Shutdown, Sleep, Stats, Timeout,
    TimeoutError, TimerGuard, TimerOptions, Timers, TimersBuilder, Turned, Unfired, Verdict,
    WaitError,
};
pub use timestamp::Timestamp;
#[cfg(all(loom, feature = "typed"))]
#[doc(hidden)]
pub use typed::modelled as typed_modelled;
#[cfg(all(feature = "serde", target_has_atomic = "64"))]
pub use typed::snapshot;
#[cfg(all(feature = "typed", target_has_atomic = "64"))]
pub use typed::{
    Acquire, AcquireError, Alphabet, BuildCodesError, CodeKey, CodeNonce, CycleError, EndReason,
    Ended, FenceGate, FencingToken, Grant, GuardError, Holding, IssueError, Issued, LeaseGuard,
    LeaseGuardOptions, Leases, LeasesBuilder, Lessor, Loss, Lost, OneTimeCodes,
    OneTimeCodesBuilder, ParseSessionIdError, Refused, RefusedCause, Renewal, ReplayError,
    ReplayGuard, SecretCode, Session, SessionGone, SessionId, SessionLimits, SessionPolicy,
    SessionStore, SessionStoreBuilder, Sessions, Stale, StartError, SubjectId, TimeToLive,
    TouchPolicy, Touched, UpdateError, WhenFull, WhenLost,
};
pub use wheel::{Drain, Expired, Iter, Progress, Turn, Wheel};

/// The examples of the README are tests too.
#[cfg(all(doctest, feature = "typed"))]
#[doc = include_str!("../README.md")]
struct Readme;

/// What must not compile, beside what must.
#[cfg(all(doctest, feature = "std"))]
#[doc = include_str!("../tests/api_abuse.md")]
struct ApiAbuse;

/// The same, of the typed layer.
#[cfg(all(doctest, feature = "typed"))]
#[doc = include_str!("../tests/api_abuse_typed.md")]
struct ApiAbuseTyped;
