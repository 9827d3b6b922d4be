//! A hint to the processor, and the only `unsafe` of the single-owner wheel.
//!
//! At a million timers an expiry is one cache miss per entry. A drain knows which
//! entries come next, so it asks for them eight steps early. Without that an expiry takes
//! three and a half times as long; DESIGN.md says how that was measured.

/// Asks for the cache line at `address`; does nothing where there is no way to ask.
///
/// Any address will do, mapped or not: a prefetch reads nothing and cannot fault.
#[inline(always)]
#[cfg_attr(
    all(target_arch = "x86_64", target_feature = "sse", not(miri)),
    expect(
        unsafe_code,
        reason = "the intrinsic is an unsafe function; without it an expiry takes 3.5 times as long"
    )
)]
pub(crate) fn prefetch<T>(address: *const T) {
    #[cfg(all(target_arch = "x86_64", target_feature = "sse", not(miri)))]
    // SAFETY: `prefetcht0` is a hint. It has no architectural effect: it does not access
    // memory, and an address that is not mapped is ignored. The instruction is part of SSE,
    // which the target has.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", target_feature = "sse", not(miri))))]
    let _ = address;
}
