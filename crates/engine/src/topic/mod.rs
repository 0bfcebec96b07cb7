//! Local topics: topics of a context, no ROS topics. They are typed, copy no messages, and count every lost message.
//!
//! Publishers of one topic take turns under the topic's lock, which is held only while pointers are pushed.
//! Subscriptions take without the lock: their end of the ring is lock-free.
//!
//! An urgent publisher waits for the thread that has the lock. So no thread allocates or frees memory under it, or runs
//! user code. A publisher or subscription that comes or goes brings the memory that the lists need ([`room`]), and
//! takes away unused memory. Under the lock there are only moves of pointers, as many as the topic has publishers,
//! subscriptions and kept messages.
//!
//! A publisher writes two cache lines that the executor had last: the slot of the queue, and the flag. It has the
//! processor fetch both, to be written, before it reads the clock (`Queue::prefetch`), so that they come together and
//! meanwhile. A line that is going to be changed is not read before, because it would come twice. By
//! `rospin lab throughput --workloads fan-in`, a thousand entities got 7.9 million messages a second without that, and
//! 10.8 with it.
//!
//! With many topics, their lines do not stay in the publisher's cache, so a publication takes as long as the lines that
//! it touches: one of the topic, one of the queue with its copy of the alarm, one of the signal, and the ring's. Each
//! has the fields that most publications need at the beginning of a line. The number of messages that were appended
//! belongs to the producer alone; consumers see by the slots what is there. By the same workload, a callback among
//! 10,000 entities took 0.99 to 1.21 times the processor time of one among 10, and 1.25 to 1.46 times with these fields
//! on several lines.

mod ends;
mod message;
mod mixed;
mod publish;
mod publisher;
mod room;
mod source;

pub use ends::TopicEnds;
pub use message::Carried;
use message::{AnyMessage, MessageType, SharedPointer};
pub use mixed::{Envelope, Inlet, LateQueue, Mixed, MixedPublisher, MixedQueue, Places, Pushed};
pub use publish::Delivery;
pub use publisher::{NoRoom, NoSubscription, Published, Publisher};
use room::Room;
pub(crate) use source::TopicSource;

use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;

use crate::error::{DepthTooLarge, GroupGone};
use crate::foreign_waker::ForeignWaker;
use crate::guarantees::Guarantees;
use crate::lock_free::ring::{Producer, View};
use crate::loss::LossCounters;
use crate::os::Process;
use crate::registry::{Name, TypeMismatch};
use crate::source::Notifier;
use crate::topics::Topics;
use crate::waiters::Waiters;

/// A topic, as its publishers and subscriptions share it. What a publication needs of it is on one cache line.
/// Processors fetch lines in pairs, so that it has no other half which somebody else writes.
#[repr(C, align(128))]
struct Topic {
    /// Number of queues, which is read without the lock.
    subscriptions: AtomicU32,
    /// Number of queues whose messages must be in [envelopes](Envelope), which is read without the lock.
    envelopes: AtomicU32,
    state: Mutex<TopicState>,
    name: Name,
    /// The type of all its messages.
    message_type: MessageType,
    process: Process,
    /// The tasks that wait for a publisher or a subscription. They check the state under this lock, and are woken after
    /// it changed.
    waiters: Mutex<Waiters>,
}

#[repr(C)]
struct TopicState {
    queues: Vec<Queue>,
    /// The number of the next queue, history or kept message. All three are numbered in one sequence.
    next_id: u64,
    /// The alarms of the queues, in their order.
    alarms: Alarms,
    histories: Vec<History>,
    publishers: usize,
}

/// The topic's end of a subscription's queue. What most publications need of it is on one cache line, in a pair of its
/// own, too.
#[repr(C, align(128))]
struct Queue {
    producer: Producer<AnyMessage>,
    alarm: Option<Alarm>,
    /// The address of what the alarm writes first, if it notifies an executor, or else of something that the publisher
    /// writes anyway.
    written: usize,
    demands: Guarantees,
    /// True if publishers that keep all wait for room in it.
    keeps_all: bool,
    id: u64,
    /// The number of the queue in recordings.
    number: u64,
    losses: Arc<LossCounters>,
}

/// A view of a subscription's queue.
#[derive(Clone)]
pub(crate) struct QueueView(View<AnyMessage>);

impl QueueView {
    /// Returns true if its publishers need not notify.
    #[inline]
    fn is_muted(&self) -> bool {
        self.0.is_muted()
    }

    /// Returns true if its publishers need not notify of a message that was just published.
    #[inline]
    fn is_muted_for_published(&self) -> bool {
        self.0.is_muted_for_published()
    }

    /// Returns the time of publication of the oldest message; `None` if there is none.
    #[inline]
    pub(crate) fn oldest_stamp(&self) -> Option<u64> {
        self.0.oldest_stamp()
    }
}

/// Messages that a transient local publisher keeps for late subscriptions.
struct History {
    id: u64,
    promises: Guarantees,
    depth: usize,
    /// The messages with their numbers, which order them over all publishers.
    messages: VecDeque<(u64, AnyMessage)>,
}

/// Way to tell a subscription that it has a message.
#[derive(Clone)]
enum Alarm {
    /// Notifies an executor, unless the queue's publishers are muted: then the executor takes further messages anyway.
    Executor {
        notifier: Notifier,
        queue: QueueView,
        /// True if the executor asks the queue since when its messages wait.
        is_asked: bool,
    },
    /// Calls a waker. It is shared, since cloning a waker is user code.
    Waker(Arc<QueueWaker>),
}

/// The waker of a queue, with the name of its topic for the log.
struct QueueWaker {
    waker: ForeignWaker,
    topic: String,
}

/// The alarms of a topic's subscriptions. The last places may be empty.
type Alarms = Arc<[Option<Alarm>]>;

impl Alarm {
    /// Returns the address of what is written first to notify an executor; `None` for a waker.
    fn address(&self) -> Option<usize> {
        match self {
            Self::Executor { notifier: Notifier(signal), is_asked, .. } => Some(signal.address(*is_asked)),
            Self::Waker(_) => None,
        }
    }
}

impl Topic {
    fn new(name: Name, message_type: MessageType) -> Self {
        let state =
            TopicState { next_id: 0, queues: Vec::new(), alarms: Arc::new([]), histories: Vec::new(), publishers: 0 };
        Self {
            name,
            message_type,
            process: Process::this(),
            subscriptions: AtomicU32::new(0),
            envelopes: AtomicU32::new(0),
            state: Mutex::new(state),
            waiters: Mutex::new(Waiters::new()),
        }
    }

    /// Returns the topic of that name, whose messages have that type. If there is none, creates it.
    fn find(topics: &Topics, name: &str, message_type: MessageType) -> Result<Arc<Self>, TypeMismatch> {
        let requested = message_type.name();
        let topic = topics.0.get_or_insert_for(name, requested, |name| Self::new(name, message_type))?;
        if topic.message_type != message_type {
            let existing = topic.message_type.name();
            return Err(TypeMismatch { name: name.to_owned(), existing, requested });
        }
        Ok(topic)
    }

    /// Returns the address of what publishers write with each message: the lock.
    fn address(&self) -> usize {
        std::ptr::from_ref(&self.state).addr()
    }

    /// Wakes the tasks that wait for a publisher or a subscription.
    fn wake_waiters(&self) {
        let waiters = self.waiters.lock().take();
        waiters.wake();
    }

    /// Removes the subscription's queue, so that it gets no more messages.
    fn unsubscribe(&self, id: u64) {
        if self.process.is_another() {
            // The lock may be held by a thread that a fork has not copied.
            return;
        }
        let mut room = Room::new();
        let mut state = self.lock_with(&mut room, None);
        let at = state.queues.iter().position(|queue| queue.id == id);
        let queue = at.map(|at| state.queues.remove(at));
        self.count_queues(&state);
        state.update_alarms(&mut room);
        drop(state);
        drop((queue, room));
    }

    fn lock(&self) -> MutexGuard<'_, TopicState> {
        self.state.lock()
    }

    /// Notes the numbers of queues, which are read without the lock.
    fn count_queues(&self, state: &TopicState) {
        let mut envelopes = 0;
        for queue in &state.queues {
            envelopes += u32::from(queue.demands.include(Guarantees::ENVELOPE));
        }
        self.envelopes.store(envelopes, Ordering::Release);
        self.subscriptions.store(state.queues.len() as u32, Ordering::Release);
    }
}

impl TopicState {
    fn next_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Returns the number of messages that publishers keep for a late subscription with these demands.
    fn count_kept_for(&self, demands: Guarantees) -> usize {
        self.histories_for(demands).map(|history| history.messages.len()).sum()
    }

    /// Puts the messages that publishers keep for a late subscription with these demands into `room`, which has memory
    /// for them, with their places in the order of publication.
    fn kept_for(&self, demands: Guarantees, room: &mut Room) {
        for (number, message) in self.histories_for(demands).flat_map(|history| &history.messages) {
            room.kept.push((message.order().unwrap_or(*number), message.clone()));
        }
    }

    /// Returns the histories of publishers that promise all that a subscription demands.
    fn histories_for(&self, demands: Guarantees) -> impl Iterator<Item = &History> {
        self.histories.iter().filter(move |history| history.promises.include(demands))
    }
}

/// Errors of creating a publisher or a subscription.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TopicError {
    /// The topic carries messages of another type.
    #[error(transparent)]
    TypeMismatch(#[from] TypeMismatch),
    /// The group was removed, or its executor dropped.
    #[error(transparent)]
    GroupGone(#[from] GroupGone),
    /// The subscription keeps, or the publisher keeps for late subscriptions, more messages than a queue may.
    #[error(transparent)]
    DepthTooLarge(#[from] DepthTooLarge),
}
