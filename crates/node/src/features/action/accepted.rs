//! Accepted goals in a queue for their execution: the source of the entity that executes them.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};

use rospin_engine::{Clock, Instant, Notifier, Pending, Source, TakeError};
use rospin_wire::Action;

use super::goal::GoalHandle;
use crate::sync::{Mutex, MutexGuard};

/// The queue of accepted goals. It never has more goals than the server has room for.
pub(crate) struct Accepted<A: Action> {
    clock: Clock,
    queue: Arc<Mutex<Queue<A>>>,
}

struct Queue<A: Action> {
    /// The goals, each with the time at which it was queued.
    goals: VecDeque<(Instant, GoalHandle<A>)>,
    notifier: Option<Notifier>,
    /// True once the [`Goals`] were dropped: nobody takes goals any more.
    is_closed: bool,
}

impl<A: Action> Accepted<A> {
    pub(crate) fn new(clock: Clock) -> Self {
        let queue = Queue { goals: VecDeque::new(), notifier: None, is_closed: false };
        Self { clock, queue: Arc::new(Mutex::new(queue)) }
    }

    /// Queues the goal for its execution. If nobody takes goals any more, the goal is aborted.
    pub(crate) fn push(&self, goal: GoalHandle<A>) {
        let now = self.clock.now();
        let mut queue = self.lock();
        if queue.is_closed {
            // The lock is released before the goal is dropped, which aborts it.
            drop(queue);
            return;
        }
        queue.goals.push_back((now, goal));
        let notifier = queue.notifier.clone();
        drop(queue);
        if let Some(notifier) = notifier {
            notifier.notify_at(now);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue<A>> {
        // Only moves of values happen under the lock, and they do not panic.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<A: Action> Clone for Accepted<A> {
    fn clone(&self) -> Self {
        Self { clock: self.clock.clone(), queue: Arc::clone(&self.queue) }
    }
}

/// The end that goals are taken from. Its drop aborts the queued goals. It is dropped with the server, and when the
/// group removes the entity because its callback panicked.
pub(crate) struct Goals<A: Action>(pub(crate) Accepted<A>);

impl<A: Action> Drop for Goals<A> {
    fn drop(&mut self) {
        let left = {
            let mut queue = self.0.lock();
            queue.is_closed = true;
            std::mem::take(&mut queue.goals)
        };
        drop(left);
    }
}

impl<A: Action> Source for Goals<A> {
    type Item = GoalHandle<A>;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        self.0.lock().notifier = Some(notifier);
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<GoalHandle<A>>, TakeError> {
        Ok(self.0.lock().goals.pop_front().map(|(_, goal)| goal))
    }

    fn pending(&self) -> Pending {
        self.0.lock().goals.front().map_or(Pending::Empty, |(since, _)| Pending::Since(*since))
    }
}
