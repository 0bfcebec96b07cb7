//! Services that end with their node.

use std::any::Any;
use std::sync::PoisonError;

use crate::sync::Mutex;

/// Services that were created with a node, one of each type. They end with the node, or when the program has others
/// take their place.
#[derive(Default)]
pub(super) struct Kept(Mutex<Vec<Box<dyn Any + Send>>>);

impl Kept {
    pub(super) fn add<T: Send + 'static>(&self, service: T) {
        // A panic leaves nothing half changed, so the lock's poison is ignored.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(service));
    }

    /// Ends the service of that type, if there is one.
    pub(super) fn end<T: Send + 'static>(&self) {
        let ended = {
            let mut services = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let place = services.iter().position(|service| service.is::<T>());
            place.map(|place| services.remove(place))
        };
        // Dropped after the lock was released, because the end of a service calls the middleware.
        drop(ended);
    }
}
