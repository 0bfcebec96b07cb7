//! Queue and callback of a subscription, for the contenders that model the executors of other projects.

use std::sync::Arc;
use std::task::Waker;

use rospin_engine::{Context, Queue, TopicError};

use super::super::system::{Message, OnMessage, Subscription, options};

/// Subscription of a model: the queue from which the model takes messages, and the callback.
pub(super) struct Taken {
    /// Number of the subscription's group.
    pub(super) group: usize,
    pub(super) queue: Arc<Queue<Message>>,
    pub(super) callback: OnMessage,
}

impl Taken {
    /// Creates the queue of a subscription.
    pub(super) fn new(context: &Context, subscription: Subscription) -> Result<Self, TopicError> {
        let Subscription { topic, group, callback } = subscription;
        Ok(Self { group, queue: Arc::new(context.create_local_queue(options(&topic))?), callback })
    }

    /// Creates all subscriptions of a system.
    pub(super) fn all(context: &Context, subscriptions: Vec<Subscription>) -> Result<Vec<Self>, TopicError> {
        subscriptions.into_iter().map(|subscription| Self::new(context, subscription)).collect()
    }

    /// Takes a message and runs the callback on it. Returns false if there was no message.
    pub(super) fn run_one(&mut self) -> bool {
        match self.queue.try_take() {
            Some(message) => {
                (self.callback)(message);
                true
            }
            None => false,
        }
    }

    /// Sets the waker that is called when a message has arrived.
    pub(super) fn wakes(&self, wake: &Arc<impl std::task::Wake + Send + Sync + 'static>) {
        self.queue.set_waker(Waker::from(Arc::clone(wake)));
    }
}
