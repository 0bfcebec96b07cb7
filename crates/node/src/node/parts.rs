//! Parts of a node that belong to features, such as its parameters.

use std::any::{Any, TypeId, type_name};
use std::sync::Arc;

/// What features keep in a node, one value of each type. It is complete before the node exists, so that reading it
/// takes no lock.
#[derive(Default)]
pub(crate) struct Parts(Vec<(TypeId, Box<dyn Any + Send + Sync>)>);

impl Parts {
    /// Adds a feature's part.
    pub(crate) fn with<T: Send + Sync + 'static>(mut self, part: Arc<T>) -> Self {
        self.0.push((TypeId::of::<T>(), Box::new(part)));
        self
    }

    /// Returns the part of that type.
    ///
    /// # Panics
    /// If it was not added.
    pub(super) fn get<T: Send + Sync + 'static>(&self) -> &Arc<T> {
        let part = self.0.iter().find(|(id, _)| *id == TypeId::of::<T>());
        let part = part.and_then(|(_, part)| part.downcast_ref());
        part.unwrap_or_else(|| panic!("nodes are started without the part `{}`", type_name::<T>()))
    }
}
