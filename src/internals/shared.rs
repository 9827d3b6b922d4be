//! How the shared wheel works, and why it may.
//!
//! # The idea
//!
//! The wheel is private to the driver. Armers do not know that there are slots. Each timer has
//! an *entry*, and each entry a *word* of 64 bits: state, deadline, version. Arm, cancel, re-arm
//! and fire are one exchange of that word each, and whoever succeeds has won. An entry that the
//! driver does not know of, or whose deadline has become earlier, is *marked*; the driver sweeps
//! up the marks, and files each entry in a wheel of its own, which holds places and nothing else. When
//! an entry comes due there, its word says whether it fires.
//!
//! ```text
//!   threads                              everybody's                            the driver's
//!
//!  Local ─ magazine ──┐
//!   up to 64 entries  │     shard ─ free list, counts          (one per core, padded)
//!                     │     desk  ─ up to 16 free entries, a count, who sits there
//!                     │     entry ┌───────────────────────────┐
//!   arm, cancel,      ├────────>  │ word   base   tolerance   │ <──────── met when it is due
//!   re-arm: exchange  │           │ far   generation   links  │
//!   the word          │           │ value                     │          Wheel<()>
//!                     │           └───────────────────────────┘           levels and slots of
//!                     │             64 bytes: nobody else's line          places, 24 bytes each,
//!                     │                                                   same index as the entry
//!   then mark it,     └─ bit ──>  block   64 entries, 64 marks
//!   if it is new or                group   64 blocks,  64 marks             sweeps downwards,
//!   earlier                        root    64 marks, and the tick      <─── files what is marked
//!                                          until which the driver sleeps
//! ```
//!
//! The table of all transitions of the word stands in `src/shared/word.rs`, beside its bits.
//! Every line of it is one `transition`, `exchange` or `publish` of `entry.rs`, called in
//! `ops.rs`, `rearm.rs`, `fire.rs` or `wait.rs`.
//!
//! ```text
//!              arm                          due                callback returns
//!   EMPTY ─────────────> ARMED ────────────────────> EMPTY running ────────────> EMPTY, free
//!     ^                  │ ^ │                        │    ^  │ cancel
//!     │ cancel           │ │ │ re-arm: itself         │    │  └─────> REVOKED running ──> EMPTY, free
//!     └──────────────────┘ │ │        armed again, by │    │          (AWAITED: somebody waits)
//!                          │ │            its callback│    │
//!             re-arm       │ │ to never               v    │ callback still running
//!                        HELD <─┘              ARMED running ── cancel ──> TAKING running
//! ```
//!
//! # Two promises
//!
//! All of the arguments below rest on these. *Met at t* means: filed in the driver's wheel so that
//! the driver comes by at tick *t* or before.
//!
//! 1. **An armed entry is marked, or it is met at its due tick.** Between the exchange that arms
//!    an entry and its mark lies a moment, in which the operation has not returned.
//! 2. **An entry whose word says *filed* is met at the due tick in its word**, armed or not. Only
//!    the driver sets the bit, on the word that it has filed by. Whoever makes the deadline earlier
//!    clears it with the same exchange.
//!
//! The second is what makes most timers cheap. A cancelled entry is free at once, still filed.
//! The next timer that uses it and is due no earlier takes over entry and filing by one exchange:
//! no mark, nothing for the driver to do, nobody to wake.
//!
//! # Arm against advance
//!
//! They share no slot, so there is no race for one. What remains is whether an `advance` sees a
//! timer. If the arm returned before the `advance` began, its mark is set, and the sweep at the
//! beginning finds it (below); or it relied on a filing, and then the driver comes by.
//! The driver sweeps again before it leaves a tick, so that what a callback arms for later in the
//! same `advance` fires in it. What is swept up at or before the cursor waits for the next.
//!
//! # Marks
//!
//! Whoever marks sets the bit in the block, then looks at the group's and sets it if it is clear,
//! then the root's. The driver clears the root, then the groups under it, then the blocks. Each
//! clears or sets with a read-modify-write. Let the driver have cleared a block before the bit was set.
//! Then setting the bit read what the driver wrote, directly or through others who set bits
//! since. So everything the driver had done before is known: the group and the root are seen as
//! the driver left them, or with bits set later. Such a bit will be found by a later sweep, which
//! clears the group first and comes to the block again. No fence is needed, and nobody relies on another's
//! unfinished work: a thread that is preempted between two levels delays only its own timer.
//!
//! A group that is new to the driver is a special case: the driver has to know that it exists. It
//! reads the number of entries handed out by a read-modify-write, after it has cleared the root.
//!
//! # Wake-up
//!
//! Before it sleeps the driver writes the tick until which it will, then does a read-modify-write
//! of the root that changes nothing. Whoever marks an entry looks at the root last, and then at that tick.
//! If the root's bit was set before the driver's read-modify-write, the driver finds it, and does
//! not sleep. If it was set after, whoever set it read what the driver wrote, hence sees the
//! tick; so does everybody who finds the bit set, because the load synchronises with that set. One of the two holds.
//! A timer that relies on a filing needs no wake-up: the driver's tick is not after any filing.
//!
//! # Cancel against fire
//!
//! Both exchange the word of an armed entry. One succeeds, and owns the value. The driver does so
//! immediately before each callback and not for a whole batch, so that a sibling cancelled by a callback
//! of its tick does not fire.
//!
//! # Re-arm against fire
//!
//! The driver reads the word, decides by the deadline in it, and fires by exchanging *that*
//! word. A re-arm that succeeds in between changes the word, so that the exchange fails and the
//! driver looks again. If the driver finds a deadline that is not due yet, it files the entry
//! there without an exchange: whoever makes the deadline later still makes that true; whoever
//! makes it earlier marks the entry.
//!
//! # While a callback runs
//!
//! The entry stays *running* until its callback has returned, under the same key, and is not free.
//! So cancel can tell that the callback runs, and withdraw its right to arm the timer again. If the callback has armed it
//! again already, the canceller takes the value; as it does so the callback may return. Both
//! then exchange the word once more, and whoever is second frees the entry. The only lock of the
//! wheel guards a condition variable, on which [`cancel_wait`](crate::SharedWheel::cancel_wait)
//! waits; the driver takes it only if the word says that somebody waits.
//!
//! A runtime may hand the callback to another thread. Then the entry goes on running after the
//! driver's own callback has returned, and whoever was handed it ends that, by the same transition; to arm the
//! timer again and to end the run is one, or the driver could fire it in between.
//!
//! # Shutdown
//!
//! A runtime that ends has to find every timer. An armer counts its timer, by a read-modify-write,
//! before anybody can see it. So whoever shuts down first says so, and then does a read-modify-write on each count: who
//! counts after that sees what was said, and takes its timer out again; all others are in the sum, and are
//! looked for until they are found.
//!
//! # Far deadlines
//!
//! The word has 34 bits for a deadline, counted from the *base* of the entry. That is set around
//! the first deadline when the entry is armed and nobody else can reach it. So every first
//! deadline fits; only one that is 2<sup>33</sup> ticks away from the first (99 days at 1 ms)
//! may not. Such a deadline is kept in another entry, popped from the free list for it,
//! and the word holds the index. Reading it takes three loads: the word, the deadline, the word again. The version
//! changes with every far deadline, so that the same word means the same deadline.
//!
//! # Desks
//!
//! A thread of a runtime has no handle to keep free entries in. Instead the wheel has *desks*, each with room for 16 free
//! entries and a count of cancels, and the number of the thread that sits there. Which desk a thread may sit down
//! at follows from its own number; it does so when it arms and nobody sits there, by an exchange that acquires. What
//! lies there is then changed by no other thread, and takes loads and stores: an arm and a cancel are spared three
//! read-modify-writes. When the thread ends it gives the entries to its shard, and gets up by a store that
//! releases: whoever is next finds the desk as it was left. A number is never given twice; a thread that finds its own
//! on a desk sits there. A thread without one, which is going away, does not sit down.
//!
//! Arms are counted in the shard all the same, for the sake of the shutdown above. Others do not get at what
//! lies on a desk, so a wheel with a limit has none.
//!
//! # Memory
//!
//! Entries live in groups of 4096, which are made when they are needed, never move, and are freed
//! with the wheel; a table has a pointer to each. Both are allocated as zeroed memory of no particular alignment, which
//! the system provides page by page as it is used: for a higher alignment an allocator would write the
//! zeros itself, and the arm that needs a new group would wait for that. Entries are never freed, only their values are; so
//! there is nothing to reclaim and no epoch. An index is handed out for the first time only if every free list is
//! found empty. A key is index, generation and wheel; the generation is checked after the word was
//! read, and the exchange fails if the entry has been used again since.
//!
//! # What an operation writes
//!
//! Atomic read-modify-writes, and the cache lines written that other threads read or write. This is what predicts
//! more cores than two.
//!
//! | operation | read-modify-writes | lines |
//! |---|---|---|
//! | arm, local handle, filed entry | 1 | the entry's |
//! | arm, local handle, otherwise | 1 | the entry's, its block's; after a sweep, once, the group's and the root's (2 more) |
//! | cancel, local handle | 1 | the entry's |
//! | arm, no handle | 2 more | the shard's |
//! | cancel, no handle | 2 more | the shard's |
//! | arm, at a desk | 1 more | the shard's |
//! | cancel, at a desk | none more | none more |
//! | re-arm later, disarm | 1 | the entry's |
//! | re-arm earlier | 2 | the entry's, its block's |
//! | `deadline`, `contains` | 0 | none |
//! | driver: file one entry | 1, and 1 per block | the entry's, its block's |
//! | driver: fire one timer | 2, and 1/32 | the entry's; the shard's 1/32 |
//! | driver: file it again, when it was re-armed later | 0 | none |
//!
//! # What is proved how
//!
//! `loom-tests/` holds models for these arguments: programs of two or three threads. A preemption
//! is a switch away from a thread that could go on. Loom runs the interleavings of two threads
//! with at most two to five preemptions, of some small models with any number; those of
//! three threads with at most two or three. In each it tries the stale values that it knows of.
//! Each model is shown to fail on a deliberate fault.
//!
//! What loom cannot see: it holds a failed exchange to read the latest value, remembers seven
//! writes of each atomic, does not let a load overtake an earlier one to a value not yet written,
//! and takes `SeqCst` accesses, of which the wheel has none, for `AcqRel`. So it does not produce
//! every stale value that the memory model allows. And its models are small. Stress tests on real
//! threads, a check of histories against the sequential specification, and the sanitizers for
//! threads and addresses (`.ci/sanitize`) are for what is left. None of this is a proof.
