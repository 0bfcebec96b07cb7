//! The wires through which the samples of the graph travel: the engine's own topics, or those of nodes over a
//! middleware.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rospin_engine::Context;
use rospin_node::{Node, Ros};

use crate::middleware::{Middleware, Process};

use super::callback::{Callback, Callbacks, Input};
use super::graph::{GroupSpec, NODES, NodeIndex};
use super::message::Message;
use super::system::Group;

/// Function that publishes a sample on a topic.
pub(super) type Publish = Arc<dyn Fn(Message) + Send + Sync>;

/// Creator of the publishers and subscriptions that connect the groups. They live as long as this value.
pub(super) trait Wires {
    /// Creates a publisher of the group's node. Returns the function that publishes on it.
    fn publisher(&mut self, group: &GroupSpec, topic: &str) -> Result<Publish, String>;

    /// Creates a subscription of the group's node, as an entity called `name`. It runs `callback` with each sample.
    fn subscription(
        &mut self,
        group: &GroupSpec,
        callbacks: &Callbacks,
        topic: &str,
        name: String,
        callback: Callback,
    ) -> Result<(), String>;

    /// Returns the number of publishers without a subscription and of subscriptions without a publisher, because
    /// discovery has not found one yet. Wires without discovery have none.
    fn unmatched(&self) -> usize {
        0
    }

    /// Returns the number of samples that could not be sent. The engine's own topics can send all of them.
    fn unsent(&self) -> u64 {
        0
    }
}

/// Returns the wires over the middleware `transport`, or over the engine's own topics if that is `None`.
pub(super) fn wires(
    transport: Option<Middleware>,
    context: &Context,
    process: &Process,
) -> Result<Box<dyn Wires>, String> {
    Ok(match transport {
        None => Box::new(Topics { context: context.clone(), subscriptions: Vec::new() }),
        Some(middleware) => Box::new(Nodes::new(middleware.start(context, process)?)),
    })
}

/// Wires over the engine's own topics, without nodes.
struct Topics {
    context: Context,
    subscriptions: Vec<rospin_engine::Subscription>,
}

impl Wires for Topics {
    fn publisher(&mut self, _: &GroupSpec, topic: &str) -> Result<Publish, String> {
        let publisher = self.context.create_local_publisher(topic).map_err(|error| error.to_string())?;
        Ok(Arc::new(move |message| {
            // Displaced samples show as drops.
            publisher.publish(message);
        }))
    }

    fn subscription(
        &mut self,
        group: &GroupSpec,
        callbacks: &Callbacks,
        topic: &str,
        name: String,
        callback: Callback,
    ) -> Result<(), String> {
        let options = rospin_engine::SubscriptionOptions::new(topic).keep_last(group.depth).name(name);
        let subscription = match callbacks {
            Callbacks::Exclusive(group) => group
                .create_local_subscription(options, move |group, message| callback.run(group, Input::Message(message))),
            Callbacks::Reentrant(group, state) => {
                let state = Arc::clone(state);
                group.create_local_subscription(options, move |message| {
                    callback.run_beside_others(&state, Input::Message(message));
                })
            }
        };
        self.subscriptions.push(subscription.map_err(|error| error.to_string())?);
        Ok(())
    }
}

/// Wires over the topics of ROS 2 nodes: each node of the graph is one.
struct Nodes {
    ros: Ros,
    /// Nodes that exist so far.
    nodes: BTreeMap<NodeIndex, Node>,
    subscriptions: Vec<rospin_node::Subscription>,
    publishers: Vec<rospin_node::Publisher<Message>>,
    unsent: Arc<AtomicU64>,
}

impl Nodes {
    fn new(ros: Ros) -> Self {
        let (subscriptions, publishers) = (Vec::new(), Vec::new());
        Self { ros, nodes: BTreeMap::new(), subscriptions, publishers, unsent: Arc::default() }
    }

    /// Returns the node of the group. Creates it if it does not exist yet.
    fn node(&mut self, group: &GroupSpec) -> Result<Node, String> {
        match self.nodes.entry(group.node) {
            Entry::Occupied(node) => Ok(node.get().clone()),
            Entry::Vacant(none) => {
                let node = self.ros.create_node(NODES[usize::from(group.node)].name);
                Ok(none.insert(node.map_err(|error| error.to_string())?).clone())
            }
        }
    }
}

impl Wires for Nodes {
    fn publisher(&mut self, group: &GroupSpec, topic: &str) -> Result<Publish, String> {
        let options = rospin_node::PublisherOptions::new(topic).keep_last(group.depth);
        let publisher = self.node(group)?.create_publisher(options).map_err(|error| error.to_string())?;
        self.publishers.push(publisher.clone());
        let unsent = Arc::clone(&self.unsent);
        Ok(Arc::new(move |message| {
            if publisher.publish(message).is_err() {
                unsent.fetch_add(1, Ordering::Relaxed);
            }
        }))
    }

    fn subscription(
        &mut self,
        group: &GroupSpec,
        callbacks: &Callbacks,
        topic: &str,
        name: String,
        callback: Callback,
    ) -> Result<(), String> {
        let options = rospin_node::SubscriptionOptions::new(topic).keep_last(group.depth).name(name);
        let node = self.node(group)?;
        let subscription = match callbacks {
            Callbacks::Exclusive(group) => {
                let receive = move |group: &mut Group, message: Message| {
                    callback.run(group, Input::Message(Arc::new(message)));
                };
                node.on(group).create_subscription(options, receive)
            }
            Callbacks::Reentrant(group, state) => {
                let state = Arc::clone(state);
                let receive =
                    move |message: Message| callback.run_beside_others(&state, Input::Message(Arc::new(message)));
                node.on(group).create_subscription(options, receive)
            }
        };
        self.subscriptions.push(subscription.map_err(|error| error.to_string())?);
        Ok(())
    }

    fn unmatched(&self) -> usize {
        let deaf = self.subscriptions.iter().filter(|subscription| subscription.publisher_count() == 0);
        let unheard = self.publishers.iter().filter(|publisher| publisher.subscription_count() == 0);
        deaf.count() + unheard.count()
    }

    fn unsent(&self) -> u64 {
        self.unsent.load(Ordering::Relaxed)
    }
}
