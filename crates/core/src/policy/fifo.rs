//! First in, first out, as in rclcpp's events executor.
//!
//! A message's release is its publication, and a timer's is its due time. So the order is by arrival over all entities,
//! although each entity has only one entry in the ready set.

use super::{Order, Ordered};
use crate::activation::Activation;
use crate::entity::EntitySpec;

pub(super) const NAME: &str = "fifo";
pub(super) const SUMMARY: &str = "first released, first run, as rclcpp's events executor";

/// The policy that runs activations in the order of their release.
pub type Fifo = Ordered<ByRelease>;

/// Order in which all activations are equal, so that the tie-breaker (release, registration, sequence) decides.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByRelease;

impl Order for ByRelease {
    type Key = ();

    fn name(&self) -> &'static str {
        NAME
    }

    fn key(&self, _: &Activation) -> Self::Key {}

    fn key_of_all(&self, _: &EntitySpec) -> Option<Self::Key> {
        Some(())
    }
}
