//! How the wheels work. Documentation only; nothing here is API.
//!
//! This page is about the single-owner wheel, which is also the engine of the shared one;
//! what that adds is on [a page of its own](shared).
//!
//! # Levels that overlap
//!
//! Level 0 has 512 slots of one tick, level 1 has 512 slots of 256 ticks, level 2 has 512
//! slots of 65,536, and so on: 8 levels reach every `u64` tick. A slot of level *l* spans
//! 256<sup>l</sup> ticks, so 256 slots of one level would be enough to fill one slot of the
//! next. There are twice as many. Seen from `now`, in slot *k* of level 1:
//!
//! ```text
//!                 now
//! level 1   |  k   *  |   k+1   |   k+2   |   k+3   | ...            512 slots ahead
//! level 0          [ 1 tick each . . . . . . . . . . ]               512 ticks ahead
//!                  '---- still slot k ---'--- slot k+1 ---'--- part of k+2
//! ```
//!
//! While `now` is anywhere in slot *k*, level 0 reaches past the whole of slot *k+1*. Two
//! things follow.
//!
//! * A deadline is filed at the *lowest* level whose window reaches it. So nothing new is
//!   ever filed into slot *k+1* while `now` is in *k*: it would go to level 0.
//! * What is in slot *k+1* already can move down at any moment during *k*. It does so in
//!   shares of 32 entries, or more if little time is left, paced so that the last share moves just before *k+1* begins.
//!
//! In a plain hierarchical wheel the whole of slot *k+1* cascades in the one call that
//! enters it, and where `now` carries into a high digit several levels do so at once. Here
//! the longest call is some shares and the tick's own timers.
//!
//! # The cursor
//!
//! `advance` jumps from one tick with work to the next: the occupied slots of each level are
//! a bit set, and the next one is found by counting zeros. At each such tick *t*:
//!
//! 1. the cursor stops at *t - 1*, and every coarse slot that begins at *t* is emptied into
//!    the level below, the highest level first (one slot too early, because the *current*
//!    slot of a level is indistinguishable from the slot one lap ahead);
//! 2. the cursor goes to *t*, and shares that are due move down;
//! 3. the slot of level 0 fires, one entry at a time, each unlinked before its value is
//!    handed out. There is no batch: what a callback cancels is simply not there any more.
//!
//! What is armed at or before the cursor goes to a list of its own. A call fires what was on
//! that list when it began; what a callback adds waits for the next call.
//!
//! # Order within a tick
//!
//! Entries move down one level at a time, from the back of the upper slot to the front of
//! the lower, while arms go to the back. Whatever reaches a level-0 slot from above was
//! armed before anything armed there directly, because a deadline is armed at a coarser level
//! only while it is farther away. So a slot is always in order of arming, at the price of
//! nothing. Two kinds of timer are exempt, see [`Wheel`](crate::Wheel).
//!
//! # Later re-arm
//!
//! An entry's due tick is the truth; the slot it is filed in may be earlier, never later. So
//! to re-arm later is to store a number. When the wheel comes to the slot it finds the new
//! tick and files the entry again. A connection that is heard from a thousand times within
//! its timeout costs a thousand stores and one move.
//!
//! # Tolerance
//!
//! A timer with a tolerance is due at the roundest tick in its range, and a round tick is the
//! first tick of a coarse slot. Each level above the lowest has a second ring for such
//! timers. They are *parked* there until their slot begins, and fire from it directly.
//!
//! # Memory
//!
//! ```text
//! entries   [due | next prev | generation hint | value]     one 32-byte record per timer
//! heads     [first last | filed | recent x 8]               one per slot
//! free      [index index index ...]                         entries to be used again, room for all
//! ```
//!
//! Lists are threaded through the entries by index, and closed by the head of their slot, so
//! that unlinking needs no knowledge of the slot. At a million timers each step is a cache
//! miss, and the layout is about nothing else:
//!
//! * **Links lie outside the optional value.** A neighbour is relinked by a store that does
//!   not have to look at it first. Inside, the check of the tag would be a load, and the
//!   processor would wait for it.
//! * **Cancel unlinks eight cancels later.** It takes the value and frees the key at once,
//!   asks for the two neighbours, and unlinks the entry that was cancelled eight calls ago,
//!   whose neighbours have arrived. That takes a third off a cancel and an arm at a million
//!   timers. Up to 4096 entries, which the caches hold anyway, it unlinks at once.
//! * **Hints.** Each slot remembers the last eight entries filed in it. An entry is given a
//!   hint: the entry that a drain will reach eight steps after it. A drain prefetches hints,
//!   so that it does not wait for one list step after the other. Without them an expiry
//!   costs three and a half times as much at a million timers.
//!
//! A key is index, generation and wheel. A generation is used once per entry; an entry that
//! has run through all 2<sup>32</sup> is retired.

pub mod shared;
