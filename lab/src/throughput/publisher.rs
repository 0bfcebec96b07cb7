//! The publishing thread, which also measures: the window is between two of its messages.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rospin_engine::{Clock, Context, Publisher, PublisherOptions, TopicError};
use rustix::thread::set_current_timer_slack;

use super::system::{Message, topic};
use super::workload::{Cell, DEPTH, RATE_HZ, Workload};

/// Number of messages that are published between two readings of the clock.
const BATCH: usize = 16;

/// The longest time for which a message waits for room: no callback here takes nearly as long.
const PATIENCE: Duration = Duration::from_secs(1);

/// Messages that are used again and again, as loaned messages are, so that the cost of making messages is not measured.
struct Pool {
    /// Size of a message's payload.
    bytes: usize,
    messages: Vec<Arc<Message>>,
    /// Index of the message that was returned last.
    next: usize,
    /// Number of allocations for messages that were made after the first ones.
    allocations: u64,
}

/// Largest number of messages in the pool: more than a subscription keeps. Where more are queued, over all topics, new
/// ones are allocated. A message is used again only when no subscription holds it.
const POOL_MAX: usize = DEPTH + 64;

impl Pool {
    /// Creates a pool of 32 messages, which stay in the processor's cache. It grows while all of them are in use.
    fn new(bytes: usize) -> Self {
        let mut messages = Vec::with_capacity(POOL_MAX);
        messages.extend((0..32).map(|_| Arc::new(Message::new(bytes))));
        Self { bytes, messages, next: 0, allocations: 0 }
    }

    /// Returns a message that no subscription holds, with `number` as its content: an old one if the next one in turn
    /// is free, else a new one. With a `clock`, it gets the present time as its time of publication.
    fn message(&mut self, number: u64, clock: Option<&Clock>) -> Arc<Message> {
        self.next = (self.next + 1) % self.messages.len();
        let at = self.next;
        if Arc::get_mut(&mut self.messages[at]).is_none() {
            let fresh = Arc::new(Message::new(self.bytes));
            self.allocations += 1 + u64::from(self.bytes > 0);
            let busy = std::mem::replace(&mut self.messages[at], fresh);
            if self.messages.len() < POOL_MAX {
                self.messages.push(busy);
            }
        }
        if let Some(message) = Arc::get_mut(&mut self.messages[at]) {
            message.payload.fill(number);
            if let Some(clock) = clock {
                message.sent = clock.now();
            }
        }
        Arc::clone(&self.messages[at])
    }
}

/// Publisher of a cell's messages, on the calling thread.
pub(crate) struct Source {
    workload: Workload,
    clock: Clock,
    publishers: Vec<Publisher<Message>>,
    pool: Pool,
    /// Next due time under [`Workload::FixedRate`].
    due: Instant,
    /// Number of messages that were queued: each counts once for each subscription.
    pub(crate) published: u64,
    /// Number of these messages that had to make room for newer ones.
    pub(crate) displaced: u64,
    /// Number of publications.
    number: u64,
}

impl Source {
    /// Creates a publisher for each topic of the cell. With `wait_for_room`, they wait while a queue is full.
    pub(crate) fn new(cell: &Cell, context: &Context, wait_for_room: bool) -> Result<Self, TopicError> {
        let topics = match cell.workload {
            Workload::Saturation | Workload::FixedRate => 1,
            Workload::FanIn | Workload::Threads => cell.subscriptions,
        };
        let options = |number| {
            let options = PublisherOptions::new(topic(number));
            if wait_for_room { options.wait_for_room(PATIENCE) } else { options }
        };
        let publishers = (0..topics).map(|number| context.create_local_publisher(options(number)));
        Ok(Self {
            workload: cell.workload,
            clock: context.clock().clone(),
            publishers: publishers.collect::<Result<_, _>>()?,
            pool: Pool::new(cell.payload_bytes),
            due: Instant::now(),
            published: 0,
            displaced: 0,
            number: 0,
        })
    }

    /// Returns the number of allocations for messages so far, which are not the executor's.
    pub(crate) const fn allocations(&self) -> u64 {
        self.pool.allocations
    }

    /// Returns the number of messages that were published so far.
    pub(crate) const fn publications(&self) -> u64 {
        self.number
    }

    /// Prepares the publishing thread, before the first message. Under [`Workload::Threads`], publishes a message on
    /// each topic, which the callbacks then publish again and again.
    pub(crate) fn begin(&mut self) {
        // The shortest slack that exists. Without it, sleeping is less exact, which shows in the figures.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        self.due = Instant::now();
        if self.workload == Workload::Threads {
            (0..self.publishers.len()).for_each(|_| self.publish(false));
        }
    }

    /// Publishes in the way of the workload until `end`. Under [`Workload::Threads`], it only waits.
    pub(crate) fn run(&mut self, end: Instant) {
        match self.workload {
            Workload::Saturation | Workload::FanIn => {
                while Instant::now() < end {
                    (0..BATCH).for_each(|_| self.publish(false));
                }
            }
            Workload::FixedRate => self.run_at_rate(end),
            Workload::Threads => thread::sleep(end.saturating_duration_since(Instant::now())),
        }
    }

    /// Publishes at [`RATE_HZ`] until `end`.
    fn run_at_rate(&mut self, end: Instant) {
        while self.due < end {
            let now = Instant::now();
            if now < self.due {
                thread::sleep(self.due - now);
            } else {
                self.publish(true);
                // Missed due times are skipped, because bursts are another workload.
                self.due = now.max(self.due + Duration::from_secs(1) / RATE_HZ);
            }
        }
    }

    /// Publishes a message on the next topic in turn. If `is_timed`, the message gets the time of its publication.
    fn publish(&mut self, is_timed: bool) {
        let message = self.pool.message(self.number, is_timed.then_some(&self.clock));
        let publisher = &self.publishers[self.number as usize % self.publishers.len()];
        let delivery = publisher.publish(message);
        self.published += delivery.queued as u64;
        self.displaced += delivery.displaced as u64;
        self.number += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pool_uses_messages_again_but_none_that_somebody_has() {
        let mut pool = Pool::new(64);
        let first = Arc::as_ptr(&pool.message(1, None));
        let again = (0..32).any(|number| std::ptr::eq(Arc::as_ptr(&pool.message(number, None)), first));
        assert!(again && pool.messages.len() == 32);
        let kept: Vec<_> = (0..2 * POOL_MAX as u64).map(|number| pool.message(number, None)).collect();
        assert!(kept.iter().enumerate().all(|(number, message)| *message.payload == [number as u64; 8]));
        assert!(pool.messages.len() <= POOL_MAX);
    }
}
