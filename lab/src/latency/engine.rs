//! The variants of rospin: the same messages, taken by its executors.
//!
//! Over sockets, a receiving thread stands for a middleware's: it waits for all topics, and notifies. It takes nothing;
//! a message stays in its socket until an executor picks its callback.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};

use rospin_engine::policy::{Edf, FixedPriority, Timers, WaitSet};
use rospin_engine::{
    Context, ContextOptions, EntityKind, EntityOptions, Executor, ExecutorOptions, Instant, Notifier, Pending, Policy,
    Priority, Source, SpinOptions, TakeError,
};
use rospin_msgs::std_msgs::msg::UInt8MultiArray;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;

use super::subscriber::{Callback, Messages, Outcome, Parts};
use super::threads::{CALLBACK_PRIORITY, Crew, SAMPLING_PRIORITY, callback_priority};
use super::topics::{TOPICS, period};
use super::transport::{Found, Inlet, Message};
use super::wire::{self, Hearing};

/// Emulates rclcpp's single-threaded executor. Its thread and the receiving thread have the same priority.
pub(crate) fn wait_set(parts: Parts) -> Outcome {
    run(parts, &|| Box::new(WaitSet::new(Timers::Inside)), &[SAMPLING_PRIORITY])
}

/// Runs all callbacks on one executor, the most urgent callback first.
pub(crate) fn single(parts: Parts) -> Outcome {
    run(parts, &|| Box::new(FixedPriority::new()), &[CALLBACK_PRIORITY])
}

/// Runs all callbacks on one executor, the earliest deadline first.
pub(crate) fn edf(parts: Parts) -> Outcome {
    run(parts, &|| Box::new(Edf::new()), &[CALLBACK_PRIORITY])
}

/// Runs each callback on an executor of its own, with a priority of its own.
pub(crate) fn one_each(parts: Parts) -> Outcome {
    let priorities: [u8; TOPICS] = std::array::from_fn(callback_priority);
    run(parts, &|| Box::new(FixedPriority::new()), &priorities)
}

/// Runs the callbacks on as many executors as there are `priorities`. The topics are assigned to the executors in turn.
fn run(parts: Parts, policy: &dyn Fn() -> Box<dyn Policy>, priorities: &[u8]) -> Outcome {
    let Parts { messages, callbacks, crew, invitation } = parts;
    let (inlets, hearing) = match messages {
        Messages::Sockets(inlets) => (Some(inlets), None),
        Messages::Wire(wire) => (None, Some(Hearing::open(wire, &crew)?)),
    };
    let context = match &hearing {
        Some(hearing) => hearing.context.clone(),
        None => Context::new(ContextOptions::new()),
    };
    let create = |(number, priority): (usize, &u8)| {
        let options = ExecutorOptions::new(format!("executor-{}", number + 1)).thread(crew.options(*priority));
        context.create_executor(options.boxed_policy(policy()))
    };
    let executors: Vec<Executor> = priorities.iter().enumerate().map(create).collect();

    let (open, all_closed) = channel();
    let (mut entities, mut subscriptions) = (Vec::new(), Vec::new());
    if let Some(hearing) = &hearing {
        for callback in callbacks {
            let executor = &executors[callback.topic % executors.len()];
            subscriptions.push(subscribe(executor, hearing, callback, open.clone())?);
        }
        drop(open);
    } else if let Some(inlets) = inlets {
        let mut receiver = ReceiverThread::new()?;
        for (inlet, callback) in inlets.into_iter().zip(callbacks) {
            let executor = &executors[callback.topic % executors.len()];
            let source = receiver.watch(callback.topic, inlet, open.clone())?;
            entities.push(create_entity(executor, source, callback)?);
        }
        drop(open);
        receiver.start(&crew)?;
    }
    spin(executors, &crew, &all_closed, || invitation.send())?;
    // From a socket, no message is dropped on its way to a callback. The drops of a middleware's subscriptions are not
    // counted here: their messages were sent and not received.
    Ok([0; TOPICS])
}

/// Creates a subscription of the executor that takes its messages from `source`, in a group of its own.
fn create_entity(
    executor: &Executor,
    source: TopicSource,
    callback: Callback,
) -> Result<rospin_engine::Entity, rospin_engine::SourceError> {
    let topic = callback.topic;
    let name = format!("topic-{}", topic + 1);
    let options = EntityOptions::new(name.as_str()).deadline(period(topic)).priority(Priority((TOPICS - topic) as u32));
    let group = executor.create_group(name.as_str(), callback);
    group.create_source(EntityKind::Subscription, options, source, |callback, message| callback.run(message))
}

/// Creates the subscription of the callback's topic over the middleware. When the topic ends, the callback is dropped,
/// which hands over its latencies. `open` is dropped with it, which reports that end.
fn subscribe(
    executor: &Executor,
    hearing: &Hearing,
    callback: Callback,
    open: Sender<()>,
) -> Result<rospin_node::Subscription, rospin_node::TopicError> {
    let topic = callback.topic;
    let name = format!("topic-{}", topic + 1);
    let options = Hearing::options(topic).deadline(period(topic)).priority(Priority((TOPICS - topic) as u32));
    let group = executor.create_group(name.as_str(), Some((callback, open)));
    let hear = |payload: &mut Option<(Callback, Sender<()>)>, message: &UInt8MultiArray| match (
        wire::read(message),
        payload.as_mut(),
    ) {
        (Some(message), Some((callback, _))) => callback.run(message),
        _ => *payload = None,
    };
    hearing.node.on(&group).create_subscription(options.name(name), hear)
}

/// Spins every executor on a thread of its own until all sources have ended: until all senders of `all_closed` are
/// dropped. Calls `ready` once all threads are started.
fn spin(
    executors: Vec<Executor>,
    crew: &Crew,
    all_closed: &Receiver<()>,
    ready: impl FnOnce() -> io::Result<()>,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let handles: Vec<_> = executors.iter().map(Executor::handle).collect();
    let threads = executors.into_iter().map(|executor| {
        let name = executor.handle().name().to_owned();
        std::thread::Builder::new().name(name).spawn(move || executor.spin(SpinOptions::new()).map(drop))
    });
    let threads = threads.collect::<io::Result<Vec<_>>>()?;
    ready()?;
    // No message is ever sent on this channel. The wait ends when the last source is dropped.
    let _ = all_closed.recv();
    for handle in &handles {
        handle.halt();
        for report in handle.thread_reports() {
            crew.add(handle.name(), &report);
        }
    }
    for thread in threads {
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    }
    Ok(())
}

/// A topic's socket as a source of rospin.
struct TopicSource {
    inlet: Arc<Inlet>,
    /// Notifier of the executor, for the receiving thread; empty until the source is attached.
    notifier: Arc<OnceLock<Notifier>>,
    /// Sender on which nothing is sent. Its drop says that the source has ended.
    _open: Sender<()>,
}

impl Source for TopicSource {
    type Item = Message;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        // A source is attached only once.
        let _ = self.notifier.set(notifier);
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<Message>, TakeError> {
        match self.inlet.take().map_err(|error| TakeError::Failed(Box::new(error)))? {
            Found::Message(message) => Ok(Some(message)),
            Found::Nothing => Ok(None),
            Found::End => Err(TakeError::Closed),
        }
    }

    /// Returns the publication time of the next message, so that an order by release is an order by publication.
    fn pending(&self) -> Pending {
        match self.inlet.peek() {
            Ok(Found::Message(message)) => Pending::Since(Instant::from_nanos(message.published_ns)),
            Ok(Found::Nothing) => Pending::Empty,
            Ok(Found::End) | Err(_) => Pending::Unknown,
        }
    }
}

/// Thread that waits for all topics and notifies once for each arrival. Messages that stay in a socket do not wake it
/// again.
struct ReceiverThread {
    epoll: OwnedFd,
    /// Socket and notifier of each topic, by topic.
    topics: Vec<(Arc<Inlet>, Arc<OnceLock<Notifier>>)>,
}

impl ReceiverThread {
    fn new() -> io::Result<Self> {
        Ok(Self { epoll: epoll::create(CreateFlags::CLOEXEC)?, topics: Vec::new() })
    }

    /// Returns the source of a topic that this thread will watch. The topics must be given in their order. The source
    /// holds `open` until it is dropped.
    fn watch(&mut self, topic: usize, inlet: Inlet, open: Sender<()>) -> io::Result<TopicSource> {
        debug_assert_eq!(topic, self.topics.len());
        let (inlet, notifier) = (Arc::new(inlet), Arc::new(OnceLock::new()));
        epoll::add(&self.epoll, inlet.fd(), EventData::new_u64(topic as u64), EventFlags::IN | EventFlags::ET)?;
        self.topics.push((Arc::clone(&inlet), Arc::clone(&notifier)));
        Ok(TopicSource { inlet, notifier, _open: open })
    }

    /// Starts the thread, which ends by itself when the publisher has gone.
    fn start(self, crew: &Crew) -> io::Result<()> {
        // The thread reports to the executors, so no other thread waits for it.
        crew.spawn("receiver", crew.middleware(), move || self.run()).map(drop)
    }

    /// Notifies until the sockets of all topics have been closed at the other end.
    fn run(self) -> io::Result<()> {
        let mut events = Vec::with_capacity(TOPICS);
        let mut closed = 0;
        while closed < TOPICS {
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                let (topic, flags) = (event.data.u64() as usize, event.flags);
                if let Some(notifier) = self.topics[topic].1.get() {
                    notifier.notify();
                }
                closed += usize::from(flags.contains(EventFlags::HUP));
            }
        }
        Ok(())
    }
}
