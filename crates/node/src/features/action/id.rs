//! Ids of goals.

use std::fmt;

use crate::interfaces::unique_identifier_msgs::UUID;

/// Id of a goal, a UUID that its client draws.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GoalId([u8; 16]);

impl GoalId {
    /// The id zero, which no goal has. In a request to cancel it means no particular goal.
    pub const ZERO: Self = Self([0; 16]);

    /// Returns the id with these bytes, in network order.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes, in network order.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    /// Returns a random id (UUID version 4). The operating system provides the random bits, and does not block once it
    /// has booted.
    pub(crate) fn random() -> Self {
        Self(crate::sync::random_uuid())
    }
}

impl From<UUID> for GoalId {
    fn from(id: UUID) -> Self {
        Self(id.uuid)
    }
}

impl From<GoalId> for UUID {
    fn from(id: GoalId) -> Self {
        Self { uuid: id.0 }
    }
}

impl fmt::Display for GoalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        uuid::Uuid::from_bytes(self.0).hyphenated().fmt(f)
    }
}

impl fmt::Debug for GoalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GoalId({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_random_uuids_and_shown_as_ros_shows_them() {
        let one = GoalId::random();
        let other = GoalId::random();
        assert_ne!(one, other);
        assert_eq!((one.0[6] >> 4, one.0[8] >> 6), (4, 2), "version and variant");
        let id = GoalId::from_bytes(*b"0123456789abcdef");
        assert_eq!(id.to_string(), "30313233-3435-3637-3839-616263646566");
        assert_eq!(GoalId::from(UUID::from(id)), id);
    }
}
