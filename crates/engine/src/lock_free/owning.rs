//! Pointers that a [`ring`](super::ring) keeps without the type of what they own.

/// A pointer that owns its target, and can be turned into a raw pointer and back.
///
/// # Safety
/// `from_raw(into_raw(p), kind)` must be `p` if `p` is of that kind, and `into_raw` must never return null.
pub(crate) unsafe trait OwningPointer {
    type Target;
    /// Data that is the same for all pointers of a ring, such as their type. The ring keeps it once, and not with each
    /// of them.
    type Kind: Copy + Send + Sync;
    /// Returns true if this pointer is of that kind.
    fn is_of(&self, kind: Self::Kind) -> bool;
    /// Returns the raw pointer, which owns the target from then on.
    fn into_raw(self) -> *mut Self::Target;
    /// Returns the pointer that [`into_raw`](Self::into_raw) made `raw` of.
    ///
    /// # Safety
    /// `raw` must come from `into_raw` of a pointer of that kind, and be passed to this function only once.
    unsafe fn from_raw(raw: *mut Self::Target, kind: Self::Kind) -> Self;
}

// SAFETY: `Box::into_raw` and `Box::from_raw` are inverse and never null.
unsafe impl<T> OwningPointer for Box<T> {
    type Target = T;
    type Kind = ();
    fn is_of(&self, (): ()) -> bool {
        true
    }
    fn into_raw(self) -> *mut T {
        Box::into_raw(self)
    }
    unsafe fn from_raw(raw: *mut T, (): ()) -> Self {
        // SAFETY: the caller guarantees that `raw` came from `into_raw` and is used once.
        unsafe { Box::from_raw(raw) }
    }
}
