//! Earliest deadline first.

use super::{Order, Ordered};
use crate::activation::Activation;
use crate::time::Instant;

pub(super) const NAME: &str = "edf";
pub(super) const SUMMARY: &str = "earliest absolute deadline first";

/// Policy that runs the activation with the earliest absolute deadline first (Liu and Layland 1973, here
/// non-preemptive).
///
/// A deadline counts from the release of the activation. If a message was displaced from a full queue before it was
/// taken, the callback has been ready since that message arrived, and the newer message is handled with its deadline.
/// Otherwise, a sensor that is faster than its callback's deadline would put that off with each message, and the
/// callback would never run in an overload.
pub type Edf = Ordered<ByDeadline>;

/// Order by absolute deadline, earliest first. Activations without a deadline come last. Ties are broken by release,
/// registration and sequence.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByDeadline;

impl Order for ByDeadline {
    type Key = Instant;

    fn name(&self) -> &'static str {
        NAME
    }

    fn key(&self, activation: &Activation) -> Self::Key {
        activation.deadline
    }
}
