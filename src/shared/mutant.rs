//! Deliberate faults, to show that the models can fail. Nothing of this is in a normal build.

/// Whether a fault is switched on: never, outside the models.
#[cfg(not(loom))]
macro_rules! mutant {
    ($name:ident) => {
        false
    };
}

#[cfg(loom)]
macro_rules! mutant {
    ($name:ident) => {
        $crate::shared::mutant::is_on($crate::shared::mutant::Mutant::$name)
    };
}

/// An ordering, or the one that is too weak for the job.
macro_rules! ordering {
    ($right:ident unless $name:ident) => {
        if $crate::shared::mutant::mutant!($name) {
            $crate::sync::Ordering::Relaxed
        } else {
            $crate::sync::Ordering::$right
        }
    };
}

pub(crate) use {mutant, ordering};

#[cfg(loom)]
pub use switch::Mutant;
#[cfg(loom)]
pub(crate) use switch::is_on;

#[cfg(loom)]
mod switch {
    use std::sync::OnceLock;

    macro_rules! mutants {
        ($($(#[$doc:meta])* $name:ident $(if $feature:literal)?,)*) => {
            /// A fault, named after what is wrong with it.
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub enum Mutant { $($(#[$doc])* $(#[cfg(feature = $feature)])? $name,)* }

            impl Mutant {
                /// All of them.
                pub const ALL: &'static [(&'static str, Self)] =
                    &[$($(#[cfg(feature = $feature)])? (stringify!($name), Self::$name),)*];
            }
        };
    }

    mutants! {
        /// An armer publishes the word with `Relaxed`.
        ArmRelaxed,
        /// An arm keeps the version of the timer before.
        ArmUnversioned,
        /// A canceller takes the value having looked with `Relaxed`.
        CancelRelaxed,
        /// The driver takes the value having looked with `Relaxed`.
        FireRelaxed,
        /// The driver fires whatever the word has become since it judged it.
        FireBlind,
        /// A canceller clears the word whatever it has become.
        CancelBlind,
        /// A canceller takes the value though its exchange failed.
        CancelUnchecked,
        /// The driver withdraws its promise with a store.
        UnfileBlind,
        /// The driver forgets an entry it met without withdrawing its promise.
        UnfileSilently,
        /// An arm relies on a filing that is later than its deadline.
        LazyIgnoresDeadline,
        /// An earlier re-arm keeps the promise.
        RearmKeepsFiled,
        /// A re-arm sets the word whatever it has become.
        RearmBlind,
        /// An earlier re-arm tells nobody.
        RearmUnmarked,
        /// The driver gives its promise on a word it did not judge.
        FileBlind,
        /// The driver promises anew when it meets an entry early, whatever the word is then.
        MeetBlind,
        /// The mark is set before the word is.
        MarkFirst,
        /// Marks are set with `Relaxed`.
        MarkRelaxed,
        /// Marks are swept with `Relaxed`.
        SweepRelaxed,
        /// The group's mark is thought set because the block's was not empty.
        GroupUnchecked,
        /// The root's mark is thought set because the group's was not empty.
        RootUnchecked,
        /// The driver looks at a group by a load.
        SweepByLoad,
        /// The driver learns how many groups there are by a load.
        GroupsByLoad,
        /// The driver checks for marks by a load before it sleeps.
        AnnounceByLoad,
        /// The driver checks for marks before it announces its sleep.
        AnnounceLate,
        /// Whoever finds the root marked does not look whether the driver sleeps.
        WakeUnchecked,
        /// Everybody who marks wakes the driver.
        WakeAlways,
        /// Who finds the group marked looked with `Relaxed`.
        GroupFoundRelaxed,
        /// Who finds the root marked looked with `Relaxed`.
        RootFoundRelaxed,
        /// A group of entries is published with `Relaxed`.
        GroupRelaxed,
        /// Entries are taken for the first time with `Relaxed`.
        TakeRelaxed,
        /// The free list has no tag.
        FreeUntagged,
        /// Entries are freed with `Relaxed`.
        FreeRelaxed,
        /// Free entries are popped with `Relaxed`.
        PopRelaxed,
        /// An arm does not say which shard the entry goes back to.
        HomeForgotten,
        /// A canceller frees the entry before it has taken the value.
        FreeBeforeTake,
        /// Keys are taken to be right.
        GenerationUnchecked,
        /// The generation is set with `Relaxed`.
        GenerationRelaxed,
        /// The role is given up with `Relaxed`.
        RoleRelaxed,
        /// The role is taken without asking.
        RoleUnasked,
        /// The cursor is published with `Relaxed`.
        NowRelaxed,
        /// A canceller frees an entry whose callback runs.
        FreeWhileRunning,
        /// The driver frees an entry whose value is being taken.
        FreeWhileTaking,
        /// The callback arms again though it was revoked.
        RearmRevoked,
        /// Nobody is told that the callback has returned.
        ReturnUntold,
        /// One of those who wait is told that the callback has returned.
        ReturnToldOnce,
        /// They are told without the lock.
        TellUnlocked,
        /// Who gets the value of a timer whose callback runs does not wait for it.
        CancelledUnwaited,
        /// Who waits does not let another canceller finish first.
        TakingUnwaited,
        /// A canceller who does not wait forgets that somebody else does.
        AwaitedForgotten,
        /// A callback that cancels its own timer waits for itself.
        WaitsForItself,
        /// A far deadline is read without making sure that it still is one.
        FarUnchecked,
        /// The base of near deadlines is set with `Relaxed`.
        BaseRelaxed,
        /// A far deadline keeps the version.
        FarUnversioned,
        /// A far deadline is kept with `Relaxed`.
        FarRelaxed,
        /// Who loses the race for a far re-arm loses an entry too.
        FarLeaked,
        /// The wheel is dropped without its values.
        DropLeaks,
        /// An arm is counted after it can be cancelled.
        CountLate,
        /// A deferred callback that arms its timer again goes on running.
        RunsOn,
        /// Who arms does not look whether the runtime has been shut down meanwhile.
        GateUnlooked,
        /// Who shuts down does not part those who arm.
        SealSkipped,
        /// Who shuts down does not wait for those who are in the middle of arming.
        RestHurried,
        /// The driver ends though those who arm have not been parted yet.
        EndUnparted,
        /// Who asks how long to sleep does not say that it looks.
        LookUnseen,
        /// Who shuts down does not wake the driver.
        EndUntold,
        /// The driver's token is put there without the lock.
        UnparkUnlocked,
        /// The last to end does not tell those who wait for it.
        PhaseUntold,
        /// Those who wait for the end are told without the lock.
        PhaseUnlocked,
        /// An arm is counted with `Relaxed`.
        CountRelaxed,
        /// A cancel is counted with `Relaxed`.
        EndedRelaxed,
        /// A firing is counted with `Relaxed`.
        FiredRelaxed,
        /// The counts of a handle are given up with `Relaxed`.
        ClaimRelaxed,
        /// A desk is taken with `Relaxed`.
        SitRelaxed,
        /// A desk is left with `Relaxed`.
        LeaveRelaxed,
        /// A touch moves the deadline whatever that has become.
        TouchBlind if "typed",
        /// A touch moves the deadline with `Relaxed`.
        TouchRelaxed if "typed",
        /// Who ends a record does so whatever its deadline has become.
        EndBlind if "typed",
        /// A record is ended with `Relaxed`.
        EndRelaxed if "typed",
        /// Who looks at a deadline looks with `Relaxed`.
        DeadlineUnseen if "typed",
        /// A token is taken whoever has taken it meanwhile.
        TokenBlind if "typed",
        /// Tokens are handed out before they are durable.
        ReserveFirst if "typed",
        /// That tokens are durable is said with `Relaxed`.
        ReserveRelaxed if "typed",
        /// Who waits for tokens is not told that there are more.
        MoverUntold if "typed",
    }

    /// Whether the environment asks for this fault.
    pub(crate) fn is_on(mutant: Mutant) -> bool {
        static CHOSEN: OnceLock<Option<Mutant>> = OnceLock::new();
        let chosen = CHOSEN.get_or_init(|| {
            let name = std::env::var("TICKWHEEL_MUTANT").ok()?;
            let found = Mutant::ALL.iter().find(|(known, _)| *known == name);
            Some(
                found
                    .unwrap_or_else(|| panic!("no fault is called {name}"))
                    .1,
            )
        });
        *chosen == Some(mutant)
    }
}
