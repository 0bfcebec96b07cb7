//! Callbacks for new events that rclrs sets, in the rclrs of its pull request 653. The released one has none.

use rclrs::{RclPrimitive, RclrsError};

use super::bell::Bell;

/// Guard that keeps a callback set that rclrs has set, and the entity in rcl alive.
#[cfg(feature = "on-ready")]
pub(super) type Registration = Box<dyn rclrs::OnReadyHandle>;

/// Guard that keeps a callback set that rclrs has set: there is none.
#[cfg(not(feature = "on-ready"))]
pub(super) enum Registration {}

/// Has rclrs ring the bell for new items of a primitive. `None` if it has no callbacks for the primitive's kind, such
/// as timers.
///
/// rclrs locks the primitive's handle meanwhile.
pub(super) fn register(primitive: &dyn RclPrimitive, bell: &'static Bell) -> Result<Option<Registration>, RclrsError> {
    #[cfg(feature = "on-ready")]
    return primitive.register_on_ready(Box::new(move |_, items| bell.ring(items)));
    #[cfg(not(feature = "on-ready"))]
    {
        let _ = (primitive, bell);
        Ok(None)
    }
}
