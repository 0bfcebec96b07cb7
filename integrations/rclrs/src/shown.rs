//! Primitives that a wait set has shown, to be executed without another wait.
//!
//! A wait for each message would cost a fifth of its time, but only a wait drops a primitive whose entity the user
//! dropped. Each entity holds its worker's guard condition until it is dropped. So as long as the number of holders
//! stays the same and none was created, the primitive that the last wait showed is called at its address; otherwise the
//! next run waits.

use std::any::Any;
use std::mem::transmute;
use std::ptr::NonNull;

use rclrs::{RclPrimitive, RclrsError, ReadyKind};

use super::looks::Census;

/// The primitive of a cell's wait set.
///
/// rclrs 0.8.0 has each primitive in a box of its own, and frees it only in a call that takes the wait set mutably, or
/// with the wait set.
pub(super) struct Shown {
    primitive: NonNull<dyn RclPrimitive>,
    /// The state of the worker before the wait that showed the primitive, which looks if the user has dropped it.
    at: Census,
}

// SAFETY: primitives are `Send` and `Sync`, and the cell's lock is held while one is executed.
unsafe impl Send for Shown {}

impl Shown {
    /// Keeps the address of a primitive.
    ///
    /// # Safety
    /// The primitive is one of a wait set. The result is dropped before the wait set is used mutably or dropped, but
    /// for the rest of the wait that shows the primitive.
    pub(super) unsafe fn new(primitive: &mut dyn RclPrimitive, at: Census) -> Self {
        let primitive = NonNull::from(primitive);
        // SAFETY: the two differ only in a lifetime, which the caller observes.
        let primitive = unsafe { transmute::<NonNull<dyn RclPrimitive + '_>, NonNull<dyn RclPrimitive>>(primitive) };
        Self { primitive, at }
    }

    /// Returns true if the user has not dropped the entity since it was shown.
    pub(super) fn is_in_use(&self, now: Census) -> bool {
        self.at == now
    }

    /// Takes one item, and runs its callback. Does nothing if there is none.
    ///
    /// # Safety
    /// The payload is that of the worker to which rclrs gave the waitable.
    pub(super) unsafe fn execute(&mut self, payload: &mut dyn Any) -> Result<(), RclrsError> {
        // SAFETY: the primitive is valid as `new` demands, and nothing else uses it, because that needs the wait set.
        unsafe { self.primitive.as_mut().execute(ReadyKind::Basic, payload) }
    }
}
