//! Fixed priorities of callbacks.

use std::cmp::Reverse;

use super::{Order, Ordered};
use crate::activation::Activation;
use crate::entity::{EntitySpec, Priority};

pub(super) const NAME: &str = "fixed-priority";
pub(super) const SUMMARY: &str = "highest callback priority first, as PiCAS";

/// The policy that runs the activation with the highest priority first (PiCAS; Choi et al., RTAS 2021).
pub type FixedPriority = Ordered<ByPriority>;

/// The order by priority, highest first. Ties are broken by release, registration and sequence.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByPriority;

impl Order for ByPriority {
    type Key = Reverse<Priority>;

    fn name(&self) -> &'static str {
        NAME
    }

    fn key(&self, activation: &Activation) -> Self::Key {
        Reverse(activation.priority)
    }

    fn key_of_all(&self, spec: &EntitySpec) -> Option<Self::Key> {
        Some(Reverse(spec.priority))
    }
}
