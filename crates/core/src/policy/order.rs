//! Orders of activations.

use crate::activation::Activation;
use crate::entity::EntitySpec;

/// An order of activations, which makes a policy together with [`Ordered`](super::Ordered).
///
/// ```
/// use rospin_core::{Activation, EntityKind, Order, policy::Ordered};
///
/// /// Services before everything else.
/// #[derive(Default)]
/// struct ServicesFirst;
///
/// impl Order for ServicesFirst {
///     type Key = bool;
///     fn name(&self) -> &'static str {
///         "services-first"
///     }
///     fn key(&self, activation: &Activation) -> bool {
///         activation.kind != EntityKind::Service
///     }
/// }
///
/// let policy = Ordered::<ServicesFirst>::new();
/// # let _: Box<dyn rospin_core::Policy> = Box::new(policy);
/// ```
pub trait Order: Send {
    /// The type of the keys. The activation with the smallest key runs first; ties are broken by release, registration
    /// and sequence.
    type Key: Ord + Send;

    /// Returns the name for tables and traces.
    fn name(&self) -> &'static str;

    /// Returns the key of an activation. It must stay the same while the activation is ready.
    fn key(&self, activation: &Activation) -> Self::Key;

    /// Returns the key that all activations of an entity have. With `None`, which is always right, they may have
    /// different keys.
    ///
    /// If all keys are known and there are few, the cost of a pick does not depend on the number of ready activations.
    fn key_of_all(&self, _spec: &EntitySpec) -> Option<Self::Key> {
        None
    }
}
