//! Futures that run on an executor's threads, at a priority.

use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;

use rospin_engine::{
    Entity, EntityKind, EntityOptions, Mutex, Notifier, Pending, Priority, ReentrantGroup, Source, SourceError,
    TakeError,
};

use super::incoming::with_one_item;

/// The most futures of one spawner that are polled at the same time. Further ones wait for one of them to end.
const IN_FLIGHT_MAX: u32 = 256;

/// A future of the user's.
type Job = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Spawns futures that the executor polls at one priority. Cheap to clone.
///
/// Futures run within a Tokio context. They are dropped with the executor. Up to 256 of a spawner are in progress at
/// once; more wait until one of them has ended.
#[derive(Clone)]
pub struct Spawner {
    queue: Arc<Queue>,
    _entity: Arc<Entity>,
}

#[derive(Default)]
struct Queue {
    jobs: Mutex<VecDeque<Job>>,
    notifier: Mutex<Option<Notifier>>,
}

impl Spawner {
    pub(super) fn new(group: &ReentrantGroup, name: &str, priority: Option<Priority>) -> Result<Self, SourceError> {
        let queue = Arc::<Queue>::default();
        let mut options = EntityOptions::new(name).max_in_flight(IN_FLIGHT_MAX);
        if let Some(priority) = priority {
            options = options.priority(priority);
        }
        let source = Jobs(Arc::clone(&queue));
        let entity = group.create_source_async(EntityKind::Waitable, options, source, |job| job)?;
        Ok(Self { queue, _entity: Arc::new(entity) })
    }

    /// Spawns a future. May be called from any thread and from callbacks; allocates.
    pub fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        let mut future = Box::pin(future);
        let job = Box::pin(poll_fn(move |cx| with_one_item(|| future.as_mut().poll(cx))));
        self.queue.jobs.lock().push_back(job);
        if let Some(notifier) = &*self.queue.notifier.lock() {
            notifier.notify();
        }
    }
}

impl fmt::Debug for Spawner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spawner").finish_non_exhaustive()
    }
}

/// The futures that were spawned, as a source of an entity that runs them.
struct Jobs(Arc<Queue>);

impl Source for Jobs {
    type Item = Job;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        *self.0.notifier.lock() = Some(notifier);
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<Job>, TakeError> {
        Ok(self.0.jobs.lock().pop_front())
    }

    fn pending(&self) -> Pending {
        if self.0.jobs.lock().is_empty() { Pending::Empty } else { Pending::Unknown }
    }
}
