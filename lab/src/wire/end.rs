//! An end of a wire: sends bytes, and receives those of the other end. It is a node on an executor, or the middleware
//! without rospin.

use std::any::Any;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use rospin_engine::{Context, ContextOptions, ExecutorHandle, ExecutorOptions, SpinOptions};
use rospin_msgs::std_msgs::msg::UInt8MultiArray;
use rospin_node::{PublisherOptions, Qos, SubscriptionOptions};

use crate::middleware::{Middleware, Process};

use super::cell::Contender;

/// The topic on which the driving end sends. The other end answers on [`BACK`].
pub(super) const THERE: &str = "wire_ping";
/// The topic on which the other end sends messages back.
pub(super) const BACK: &str = "wire_pong";
/// Number of messages that an end keeps, unless it keeps all.
pub(super) const DEPTH: usize = 1000;

/// Function that sends a message with these bytes.
pub(super) type Sender = Arc<dyn Fn(&[u8]) -> Result<(), String> + Send + Sync>;
/// Function that is called with the bytes of each message that arrives.
pub(super) type Hear = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// End of a wire, which receives messages until it is dropped.
pub(super) struct End {
    send: Sender,
    /// Objects that must exist for messages to be received, such as a subscription and the thread that spins its
    /// executor.
    _kept: Box<dyn Any + Send>,
}

impl End {
    /// Opens an end that sends on the first topic and calls `hear` for messages of the second one. Both are reliable,
    /// and keep all messages or the last [`DEPTH`].
    ///
    /// # Errors
    /// If the middleware cannot be started, or the program was built without it; in words.
    pub(super) fn open(
        middleware: Middleware,
        contender: Contender,
        process: &Process,
        topics: [&str; 2],
        keeps_all: bool,
        hear: Hear,
    ) -> Result<Self, String> {
        match (contender, middleware) {
            (Contender::Rospin, _) => open_node(middleware, process, topics, keeps_all, hear),
            #[cfg(feature = "dds")]
            (Contender::Bare, Middleware::Dds) => Ok(super::bare::open_dds(process, topics, keeps_all, hear)),
            #[cfg(feature = "zenoh")]
            (Contender::Bare, Middleware::Zenoh) => super::bare::open_zenoh(process, topics, hear),
            (Contender::Bare, other) => Err(other.missing()),
        }
    }

    /// Creates an end from its sending function. `kept` is dropped with the end: a subscription, for example.
    pub(super) fn new(send: Sender, kept: impl Any + Send) -> Self {
        Self { send, _kept: Box::new(kept) }
    }

    /// Returns the function that sends.
    pub(super) fn sender(&self) -> Sender {
        Arc::clone(&self.send)
    }
}

/// Guard of a thread that spins an executor. When it is dropped, the spin and the thread end.
struct Spinning(ExecutorHandle, Option<JoinHandle<()>>);

impl Drop for Spinning {
    fn drop(&mut self) {
        self.0.halt();
        if let Some(thread) = self.1.take() {
            let _ = thread.join();
        }
    }
}

/// Opens an end that is a node on an executor, with a thread that spins it.
fn open_node(
    middleware: Middleware,
    process: &Process,
    [written, read]: [&str; 2],
    keeps_all: bool,
    hear: Hear,
) -> Result<End, String> {
    fn said(error: impl std::fmt::Display) -> String {
        error.to_string()
    }
    let context = Context::new(ContextOptions::new());
    let executor = context.create_executor(ExecutorOptions::new("wire"));
    let node = middleware.start(&context, process)?.create_node("wire").map_err(said)?;
    let qos = if keeps_all { Qos::keep_all() } else { Qos::keep_last(DEPTH) };
    let publisher = PublisherOptions::new(written).qos(qos);
    let publisher = node.create_publisher::<UInt8MultiArray>(publisher).map_err(said)?;
    let group = executor.create_group("ear", ());
    let subscription = SubscriptionOptions::new(read).qos(qos);
    let listen = move |(): &mut (), message: &UInt8MultiArray| hear(&message.data);
    let subscription = node.on(&group).create_subscription(subscription, listen).map_err(said)?;
    let handle = executor.handle();
    let spin = move || {
        // The spin ends when the executor is halted. A panic in the callback has been reported.
        let _ = executor.spin(SpinOptions::new());
    };
    let thread = thread::Builder::new().name("wire".to_owned()).spawn(spin).map_err(said)?;
    let send = move |data: &[u8]| {
        let message = UInt8MultiArray { data: data.into(), ..UInt8MultiArray::default() };
        publisher.publish(message).map_err(said)
    };
    // The thread ends before the entities that it serves.
    Ok(End::new(Arc::new(send), (Spinning(handle, Some(thread)), subscription, group, node)))
}
