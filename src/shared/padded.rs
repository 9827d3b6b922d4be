//! A value with its cache line to itself.

/// Keeps its neighbours off the lines of the value: two of them, since processors fetch lines
/// in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Padded<T>(pub(super) T);
