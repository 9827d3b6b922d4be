//! The auto traits of every public type, and `Debug`, which all have.
//!
//! Of types that hold a value, this is for values that have all five. `Send` and `Sync` are promises; so are
//! `UnwindSafe` and `RefUnwindSafe`, where they are there: whoever catches a panic may go on using it.

use core::fmt::Debug;
use core::marker::PhantomData;
use core::panic::{RefUnwindSafe, UnwindSafe};

/// What a type has if the bound does not hold.
trait Otherwise {
    const HAS: bool = false;
}
impl<T: ?Sized> Otherwise for T {}

/// Whether a type has a trait: the constant of its own, if the bound holds, hides the one of [`Otherwise`].
macro_rules! has {
    ($type:ty: $trait:path) => {{
        struct Asked<T: ?Sized>(PhantomData<T>);
        impl<T: ?Sized + $trait> Asked<T> {
            const HAS: bool = true;
        }
        const _: () = assert!(<Asked<()>>::HAS);
        <Asked<$type>>::HAS
    }};
}

const TRAITS: [char; 5] = ['S', 'Y', 'U', 'W', 'R'];

fn marks(has: [bool; 5]) -> String {
    let letters = TRAITS.iter().zip(has);
    letters.map(|(c, has)| if has { *c } else { '-' }).collect()
}

fn shown<T: Debug + ?Sized>() {}

/// The name of each type, its marks, and what they should be.
macro_rules! table {
    ($($marks:literal $type:ty,)+) => {
        vec![$({
            shown::<$type>();
            let has = [
                has!($type: Send),
                has!($type: Sync),
                has!($type: Unpin),
                has!($type: UnwindSafe),
                has!($type: RefUnwindSafe),
            ];
            (stringify!($type), marks(has), $marks)
        },)+]
    };
}

type Table = Vec<(&'static str, String, &'static str)>;

fn core_types() -> Table {
    use tickwheel::*;
    table![
        "SYUWR" Drain<u8>,
        "SYUWR" Expired<u8>,
        "SYUWR" Iter<'static, u8>,
        "SYUWR" ManualClock,
        "SYUWR" Progress,
        "SYUWR" Resolution,
        "SYUWR" ResolutionError,
        "SYUWR" StaleKey,
        "SYUWR" Tick,
        "SYUWR" Ticks,
        "SYUWR" TimerKey,
        "SYUWR" Timestamp,
        "SYU-R" Turn<'static, u8>,
        "SYUWR" Wheel<u8>,
        "SYUWR" WheelFull<u8>,
    ]
}

#[cfg(feature = "std")]
fn shared_types() -> Table {
    use tickwheel::*;
    table![
        "SYUWR" Busy,
        "SYUWR" Cancel<u8>,
        "S-UW-" Local<'static, u8>,
        "SYUWR" MonotonicClock,
        "SYUWR" Park,
        "SYUWR" Revoked<u8>,
        "SYUWR" SharedDrain<'static, u8>,
        "--U--" SharedTurn<'static, u8>,
        "SYUWR" SharedWheel<u8>,
        "SYU--" SharedWheelBuilder<u8>,
        "SYUWR" WallAnchor,
    ]
}

#[cfg(feature = "std")]
fn runtime_types() -> Table {
    use core::future::Ready;
    use tickwheel::*;
    table![
        "SYUWR" Alarm,
        "SYUWR" ArmError,
        "SYUWR" Backoff,
        "SYU--" BuildError,
        "SYUWR" Expirations<u8>,
        "SYU--" Failure<'static>,
        "SYU--" Firing<'static>,
        "SYUWR" Histogram,
        "SYUWR" Interval,
        "SYUWR" Missed,
        "SYUWR" Next,
        "SYUWR" Overrun,
        "--U--" Panicked<'static>,
        "SYUWR" Pending,
        "S-U--" Run,
        "SYUWR" Shutdown,
        "SYUWR" Sleep,
        "SYUWR" Stats,
        "SYUWR" Timeout<'static, Ready<u8>>,
        "SYUWR" TimeoutError,
        "SYUWR" TimerGuard,
        "SYUWR" TimerOptions<'static>,
        "SYUWR" Timers,
        "SYU--" TimersBuilder,
        "SYUWR" Turned,
        "S-U--" Unfired,
        "SYUWR" Verdict,
        "SYUWR" WaitError,
    ]
}

#[cfg(feature = "boot-clock")]
fn boot_types() -> Table {
    use tickwheel::*;
    table!["SYUWR" BootClock,]
}

#[cfg(feature = "typed")]
fn lease_types() -> Table {
    use tickwheel::*;
    table![
        "SYU--" Acquire<String, String>,
        "SYU--" AcquireError,
        "SYUWR" EndReason,
        "SYUWR" Ended<u8, u8>,
        "SYUWR" FenceGate,
        "SYUWR" FencingToken,
        "SYUWR" Grant<String, String>,
        "SYUWR" GuardError<u8>,
        "SYUWR" Holding<String, String>,
        "SYUWR" LeaseGuard<Leases<String>>,
        "SYU--" LeaseGuardOptions,
        "SYUWR" Leases<String>,
        "SYU--" LeasesBuilder<String, String>,
        "SYUWR" Loss,
        "SYUWR" Lost,
        "SYU--" Renewal,
        "SYUWR" Stale,
        "SYU--" WhenLost<Leases<String>>,
    ]
}

#[cfg(feature = "typed")]
fn code_types() -> Table {
    use tickwheel::*;
    table![
        "SYUWR" Alphabet,
        "SYUWR" BuildCodesError,
        "SYUWR" CodeKey,
        "SYUWR" CodeNonce,
        "SYUWR" IssueError,
        "SYUWR" Issued,
        "SYUWR" OneTimeCodes,
        "SYU--" OneTimeCodesBuilder,
        "SYUWR" Refused,
        "SYUWR" RefusedCause,
        "SYUWR" ReplayError,
        "SYUWR" ReplayGuard,
        "SYUWR" SecretCode,
        "SYUWR" SubjectId,
    ]
}

#[cfg(feature = "typed")]
fn session_types() -> Table {
    use tickwheel::*;
    table![
        "SYUWR" CycleError,
        "SYUWR" ParseSessionIdError,
        "SYUWR" Session<u8>,
        "SYUWR" SessionGone,
        "SYUWR" SessionId,
        "SYUWR" SessionLimits,
        "SYUWR" SessionPolicy,
        "SYUWR" SessionStore<u8>,
        "SYU--" SessionStoreBuilder<u8>,
        "SYUWR" Sessions<u8, u8>,
        "SYUWR" StartError,
        "SYUWR" TimeToLive,
        "SYUWR" TouchPolicy,
        "SYUWR" Touched<u8>,
        "SYUWR" UpdateError,
        "SYUWR" WhenFull,
    ]
}

#[cfg(feature = "serde")]
fn snapshot_types() -> Table {
    use tickwheel::snapshot::*;
    table![
        "SYUWR" CodeSnapshot,
        "SYUWR" CodesSnapshot,
        "SYUWR" DelaySnapshot<u8>,
        "SYUWR" FormerId,
        "SYUWR" HashedId,
        "SYUWR" LeaseSnapshot<u8, u8>,
        "SYUWR" LeasesSnapshot<u8>,
        "SYUWR" PurposeSnapshot,
        "SYUWR" ReplaySnapshot,
        "SYUWR" RestoreError,
        "SYUWR" RestoreOptions,
        "SYUWR" RestorePolicy,
        "SYUWR" RestoreReport,
        "SYUWR" SessionSnapshot<u8, u8>,
        "SYUWR" SessionStoreSnapshot<u8>,
        "SYUWR" SessionsSnapshot<u8, u8>,
        "SYUWR" SnapshotFile,
        "SYUWR" StepSnapshot,
        "SYUWR" SubjectSnapshot,
        "SYUWR" WallTime,
    ]
}

fn all() -> Table {
    let tables = [
        core_types(),
        #[cfg(feature = "std")]
        shared_types(),
        #[cfg(feature = "std")]
        runtime_types(),
        #[cfg(feature = "boot-clock")]
        boot_types(),
        #[cfg(feature = "typed")]
        lease_types(),
        #[cfg(feature = "typed")]
        code_types(),
        #[cfg(feature = "typed")]
        session_types(),
        #[cfg(feature = "serde")]
        snapshot_types(),
    ];
    tables.concat()
}

#[test]
fn each_type_has_the_auto_traits_it_should_have() {
    let wrong: Vec<_> = all().into_iter().filter(|(_, has, it)| has != it).collect();
    assert!(wrong.is_empty(), "type, has, should have: {wrong:#?}");
}

/// What a file makes public by `pub use`, but for what is hidden from the documentation.
#[cfg(all(feature = "serde", feature = "boot-clock"))]
fn exported(source: &'static str) -> Vec<&'static str> {
    let visible = source
        .split("pub use ")
        .skip(1)
        .zip(source.split("pub use "));
    let visible = visible.filter(|(_, before)| !before.trim_end().ends_with("#[doc(hidden)]"));
    let lists = visible.filter_map(|(list, _)| list.split_once(';'));
    let names = lists.flat_map(|(list, _)| list.split(|c: char| !c.is_ascii_alphanumeric()));
    let is_type = |name: &&str| name.starts_with(|c: char| c.is_ascii_uppercase());
    names.filter(is_type).collect()
}

#[cfg(all(feature = "serde", feature = "boot-clock"))]
#[test]
fn each_public_type_is_in_the_table() {
    /// Not types.
    const TRAITS: [&str; 3] = ["Clock", "Executor", "Lessor"];
    let mut public = exported(include_str!("../../src/lib.rs"));
    public.extend(exported(include_str!("../../src/typed/snapshot/mod.rs")));
    public.retain(|name| !TRAITS.contains(name));
    let name = |row: &(&'static str, String, _)| row.0.split('<').next().unwrap_or_default();
    let mut listed: Vec<_> = all().iter().map(name).map(str::trim).collect();
    public.sort_unstable();
    listed.sort_unstable();
    assert_eq!(public, listed);
}
