//! Depths of rings.

use rospin_core::DEPTH_MAX;

/// Number of messages that a ring keeps: at least one, and at most [`DEPTH_MAX`]. A ring has a slot for each, and its
/// unsafe code relies on that there are some.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Depth(usize);

impl Depth {
    /// Returns the depth, at least 1; `None` if it is above [`DEPTH_MAX`].
    pub(crate) fn new(depth: usize) -> Option<Self> {
        if depth > DEPTH_MAX { None } else { Some(Self(depth.max(1))) }
    }

    /// Returns the number of messages.
    pub(crate) const fn get(self) -> usize {
        self.0
    }
}
