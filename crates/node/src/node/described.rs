//! Descriptions of the types of a node's endpoints.

use std::sync::PoisonError;

use rospin_wire::Description;

use crate::sync::{Mutex, MutexGuard};

/// Descriptions of the generated types of a node's endpoints. They are kept as long as the node lives; their number is
/// bounded by that of the types in the program. They are read only when somebody asks for them.
#[derive(Default)]
pub(crate) struct DescribedTypes(Mutex<Vec<&'static Description>>);

impl DescribedTypes {
    /// Adds a type, unless it is there.
    pub(super) fn note(&self, description: &'static Description) {
        let mut all = self.lock();
        if !all.iter().any(|known| std::ptr::eq(*known, description) || *known == description) {
            all.push(description);
        }
    }

    /// Returns all of them, in the order of their first endpoints.
    pub(crate) fn all(&self) -> Vec<&'static Description> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<&'static Description>> {
        // A panic under the lock leaves nothing half changed: only moves of values happen there.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
