//! The losses of an entity as the source of another one.

use std::fmt;
use std::sync::Arc;

use crate::loss::{LossCause, LossCounters};
use crate::source::{Notifier, Pending, Source, TakeError};

/// The losses of an entity for one cause, as the source of another entity. An item is the number of all losses so far.
/// There is an item whenever that number has grown since the last one, or is above zero before the first one.
///
/// [`Entity::watch_losses`](crate::Entity::watch_losses) creates it. It does not keep the entity alive.
pub struct LossWatch {
    counters: Arc<LossCounters>,
    cause: LossCause,
    /// The watch's number at the counters; `None` until it is the source of an entity.
    number: Option<u64>,
    /// The number that the last item had.
    told: u64,
}

impl LossWatch {
    pub(crate) fn new(counters: &Arc<LossCounters>, cause: LossCause) -> Self {
        Self { counters: Arc::clone(counters), cause, number: None, told: 0 }
    }
}

impl Clone for LossWatch {
    /// Returns a watch that has no entity yet, and whose first item tells of all losses.
    fn clone(&self) -> Self {
        Self::new(&self.counters, self.cause)
    }
}

impl Source for LossWatch {
    type Item = u64;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        self.number = Some(self.counters.watch(notifier.into()));
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<u64>, TakeError> {
        let total = self.counters.get(self.cause);
        Ok((std::mem::replace(&mut self.told, total) != total).then_some(total))
    }

    fn pending(&self) -> Pending {
        // Later losses notify.
        if self.counters.get(self.cause) == self.told { Pending::Empty } else { Pending::Unknown }
    }
}

impl Drop for LossWatch {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.counters.unwatch(number);
        }
    }
}

impl fmt::Debug for LossWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LossWatch").field("cause", &self.cause).finish_non_exhaustive()
    }
}
