//! Values with cache lines to themselves.

/// Keeps its neighbours off the lines of the value: two of them, since processors fetch lines
/// in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);

/// Keeps its neighbours off the line of the value, where two lines each would be too much.
#[repr(align(64))]
pub(super) struct Line<T>(pub(super) T);
