//! The five topics over a middleware: a node in each process, and messages that say when they were published.
//!
//! rospin's executors take messages from the middleware themselves. For the other variants, a thread as urgent as the
//! middleware's hands each message on to a socket. The sockets stand for R2R's wait set, in the same way for all of
//! these variants.

use std::error::Error;
use std::io;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rospin_engine::os::ThreadOptions;
use rospin_engine::{Context, ContextOptions, Executor, ExecutorOptions, SpinOptions};
use rospin_msgs::std_msgs::msg::UInt8MultiArray;
use rospin_node::{Node, Publisher, PublisherOptions, Subscription, SubscriptionOptions};

use crate::middleware::{Middleware, Process};

use super::threads::Crew;
use super::topics::TOPICS;
use super::transport::{Inlet, KEEP_LAST, Message, Outlet, pair};

/// Number of the message that ends a topic.
const END: u64 = u64::MAX;
/// Time within which the processes have to find each other.
const MATCH_WITHIN: Duration = Duration::from_secs(10);

/// Reason for which a process of the measurement failed; any error becomes one.
type Failed = Box<dyn Error + Send + Sync>;

/// Middleware between the two processes, with the domain in which they find each other.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
pub(crate) struct Wire {
    pub(crate) middleware: Middleware,
    pub(crate) domain_id: u16,
}

impl Wire {
    /// Starts a node for the process with this number. The middleware's threads get the settings `threads`.
    fn node(self, context: &Context, name: &str, number: u16, threads: ThreadOptions) -> Result<Node, Failed> {
        let process = Process { domain_id: self.domain_id, number, hosts: None };
        let applied = threads.inherited().apply_for_now();
        let ros = self.middleware.start(context, &process);
        drop(applied);
        Ok(ros?.create_node(name)?)
    }
}

fn topic_name(topic: usize) -> String {
    format!("topic{}", topic + 1)
}

/// The publisher's ends of all topics.
pub(crate) struct WireOutlets {
    publishers: Vec<Publisher<UInt8MultiArray>>,
    /// Sockets at which the processes met. They stay open as long as the publishers.
    _sockets: [Outlet; TOPICS],
    _node: Node,
}

impl WireOutlets {
    /// Opens the publisher's ends, without a wait for the subscriber.
    fn open(wire: Wire, threads: ThreadOptions, sockets: [Outlet; TOPICS]) -> Result<Self, Failed> {
        let context = Context::new(ContextOptions::new());
        let node = wire.node(&context, "publisher", 0, threads)?;
        let publisher = |topic| node.create_publisher(PublisherOptions::new(topic_name(topic)).keep_last(KEEP_LAST));
        let publishers = (0..TOPICS).map(publisher).collect::<Result<_, _>>()?;
        Ok(Self { publishers, _sockets: sockets, _node: node })
    }

    /// Opens the publisher's ends, and waits until every topic has a subscription. The subscriber is ready: it has said
    /// so through `sockets`, which stay open.
    ///
    /// # Errors
    /// If the middleware cannot be started, or the subscriber is not found.
    pub(crate) fn meet(wire: Wire, threads: ThreadOptions, sockets: [Outlet; TOPICS]) -> io::Result<Self> {
        let outlets = Self::open(wire, threads, sockets).map_err(io::Error::other)?;
        outlets.wait().map_err(io::Error::other)?;
        Ok(outlets)
    }

    /// Waits until every topic has a subscription, at most for [`MATCH_WITHIN`].
    fn wait(&self) -> Result<(), Failed> {
        let begun = Instant::now();
        while self.publishers.iter().any(|publisher| publisher.subscription_count() == 0) {
            if begun.elapsed() > MATCH_WITHIN {
                return Err("the subscriber was not found over the middleware within 10 s".into());
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Sends a message. Returns false if the middleware refused it.
    pub(crate) fn send(&self, topic: usize, message: Message) -> bool {
        let message = UInt8MultiArray { data: message.encode().into(), ..UInt8MultiArray::default() };
        self.publishers[topic].publish(message).is_ok()
    }

    /// Sends the message that ends a topic, on all topics. Blocks for half a second.
    pub(crate) fn end(&self) {
        for topic in 0..TOPICS {
            self.send(topic, Message { published_ns: 0, number: END });
        }
        // The pause lets messages on their way arrive before the goodbye.
        thread::sleep(Duration::from_millis(500));
    }
}

/// Returns the message in these bytes; `None` if it ends the topic or is no such message.
pub(crate) fn read(message: &UInt8MultiArray) -> Option<Message> {
    let message = Message::decode(<[u8; 16]>::try_from(&message.data[..]).ok()?);
    (message.number != END).then_some(message)
}

/// The subscriber's node, with its context.
pub(crate) struct Hearing {
    pub(crate) context: Context,
    pub(crate) node: Node,
}

impl Hearing {
    /// Opens the subscriber's side of the wire.
    pub(crate) fn open(wire: Wire, crew: &Crew) -> Result<Self, Failed> {
        let context = Context::new(ContextOptions::new());
        let node = wire.node(&context, "subscriber", 1, crew.options(crew.middleware()))?;
        Ok(Self { context, node })
    }

    /// Returns the options of a topic's subscription.
    pub(crate) fn options(topic: usize) -> SubscriptionOptions {
        SubscriptionOptions::new(topic_name(topic)).keep_last(KEEP_LAST)
    }
}

/// Thread that passes messages from the middleware to sockets. It ends when this value is dropped.
pub(crate) struct Bridge {
    thread: Option<JoinHandle<()>>,
    executor: rospin_engine::ExecutorHandle,
    _kept: (Vec<Subscription>, Node),
}

impl Bridge {
    /// Starts the thread. Returns it with the receiving ends of the sockets.
    pub(crate) fn start(wire: Wire, crew: &Crew) -> Result<(Self, [Inlet; TOPICS]), Failed> {
        let Hearing { context, node } = Hearing::open(wire, crew)?;
        let options = ExecutorOptions::new("bridge").thread(crew.options(crew.middleware()));
        let executor = context.create_executor(options);
        let (mut inlets, mut subscriptions) = (Vec::new(), Vec::new());
        for topic in 0..TOPICS {
            let (outlet, inlet) = pair()?;
            inlets.push(inlet);
            let group = executor.create_group(topic_name(topic), Some(outlet));
            let hand_on = |outlet: &mut Option<Outlet>, message: &UInt8MultiArray| match (read(message), &outlet) {
                // A socket without room drops the message, as a queue does.
                (Some(message), Some(open)) => drop(open.send(message)),
                // The socket ends when its sender is dropped.
                _ => *outlet = None,
            };
            subscriptions.push(node.on(&group).create_subscription(Hearing::options(topic), hand_on)?);
        }
        let inlets = <[Inlet; TOPICS]>::try_from(inlets).map_err(|_| "there is one a topic")?;
        let handle = executor.handle();
        let thread = spin(executor, "bridge")?;
        Ok((Self { thread: Some(thread), executor: handle, _kept: (subscriptions, node) }, inlets))
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.executor.halt();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Spins the executor on a thread of its own until it is halted.
fn spin(executor: Executor, name: &str) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).spawn(move || {
        // The spin ends when the executor is halted. It also ends with an error, after which messages are missing in
        // the figures.
        let _ = executor.spin(SpinOptions::new());
    })
}
