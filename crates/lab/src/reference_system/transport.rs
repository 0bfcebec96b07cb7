//! What the samples of the graph travel through: the engine's own topics, or those of nodes over a middleware.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::ValueEnum;
use rospin_engine::{CallbackGroup, Context};
use rospin_node::{Node, Ros};
use serde::{Deserialize, Serialize};

use super::graph::{GroupSpec, NODES, NodeIndex};
use super::message::Message;
use super::system::Group;

/// A middleware under the nodes of the graph.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Transport {
    /// ROS 2 nodes of one process, which hand messages over
    InProcess,
    /// ROS 2 nodes over DDS (Cyclone DDS), on this machine; needs `--features dds`
    Dds,
    /// ROS 2 nodes over Zenoh, on this machine; needs `--features zenoh`
    Zenoh,
}

impl Transport {
    /// Its name on the command line and in results.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::InProcess => "in-process",
            Self::Dds => "dds",
            Self::Zenoh => "zenoh",
        }
    }

    /// Whether it reaches other processes, whose ends of topics have to be found first.
    pub(crate) fn discovers(self) -> bool {
        matches!(self, Self::Dds | Self::Zenoh)
    }

    /// Whether this program has it.
    pub(crate) fn is_built(self) -> bool {
        match self {
            Self::InProcess => true,
            Self::Dds => cfg!(feature = "dds"),
            Self::Zenoh => cfg!(feature = "zenoh"),
        }
    }
}

/// Publishes a sample.
pub(super) type Publish = Arc<dyn Fn(Message) + Send + Sync>;
/// What a subscription does with a sample.
pub(super) type Receive = Box<dyn FnMut(&mut Group, Arc<Message>) + Send>;

/// What connects groups; its ends live as long as it does.
pub(super) trait Wires {
    /// A publisher of the group's node.
    fn publisher(&mut self, group: &GroupSpec, topic: &str) -> Result<Publish, String>;

    /// A subscription of the group's node, as an entity of that name.
    fn subscription(
        &mut self,
        group: &GroupSpec,
        callbacks: &CallbackGroup<Group>,
        topic: &str,
        name: String,
        receive: Receive,
    ) -> Result<(), String>;

    /// How many ends have not found the other one yet.
    fn unmatched(&self) -> usize {
        0
    }

    /// How many samples could not be sent.
    fn unsent(&self) -> u64 {
        0
    }
}

/// Returns the wires that were asked for.
pub(super) fn wires(
    transport: Option<Transport>,
    context: &Context,
    process: Process,
) -> Result<Box<dyn Wires>, String> {
    match transport {
        None => Ok(Box::new(Topics { context: context.clone(), subscriptions: Vec::new() })),
        Some(Transport::InProcess) => Ok(Box::new(Nodes::new(Ros::in_process(context)))),
        Some(Transport::Dds) => dds(context, process),
        Some(Transport::Zenoh) => zenoh(context, process),
    }
}

/// Which of the processes of a run this is.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "zenoh"), expect(dead_code, reason = "only sessions of Zenoh have addresses of their own"))]
pub(super) struct Process {
    /// What no other run on this machine has.
    pub(super) domain_id: u16,
    /// Counted from 0.
    pub(super) number: u16,
}

#[cfg(feature = "dds")]
fn dds(context: &Context, process: Process) -> Result<Box<dyn Wires>, String> {
    use rospin_dds::{Domain, DomainOptions};

    let Process { domain_id, .. } = process;

    // Robots on the network have no part in it.
    let domain = Domain::join(DomainOptions::new().domain_id(domain_id).localhost());
    Ok(Box::new(Nodes::new(Ros::over(context, domain.map_err(|error| error.to_string())?))))
}

#[cfg(not(feature = "dds"))]
fn dds(_: &Context, _: Process) -> Result<Box<dyn Wires>, String> {
    Err("this program has no dds; build with --features dds".to_owned())
}

#[cfg(feature = "zenoh")]
fn zenoh(context: &Context, process: Process) -> Result<Box<dyn Wires>, String> {
    use rospin_hiroz::{Session, SessionOptions};

    // Without a router: all know the first process, and hear of each other from it.
    let Process { domain_id, number } = process;
    let endpoint = |number: u16| format!("tcp/127.0.0.1:{}", 17_000 + 32 * domain_id + number);
    let (own, first) = (endpoint(number), endpoint(0));
    let options = SessionOptions::new().domain_id(domain_id.into()).scouting(false).listen([own.as_str()]);
    let options = options.connect((number > 0).then_some(first.as_str()));
    let session = Session::open(options).map_err(|error| error.to_string())?;
    Ok(Box::new(Nodes::new(Ros::over(context, session))))
}

#[cfg(not(feature = "zenoh"))]
fn zenoh(_: &Context, _: Process) -> Result<Box<dyn Wires>, String> {
    Err("this program has no zenoh; build with --features zenoh".to_owned())
}

/// The engine's own topics, without nodes.
struct Topics {
    context: Context,
    subscriptions: Vec<rospin_engine::Subscription>,
}

impl Wires for Topics {
    fn publisher(&mut self, _: &GroupSpec, topic: &str) -> Result<Publish, String> {
        let publisher = self.context.create_publisher(topic).map_err(|error| error.to_string())?;
        Ok(Arc::new(move |message| {
            // What it displaces shows as drops.
            publisher.publish(message);
        }))
    }

    fn subscription(
        &mut self,
        group: &GroupSpec,
        callbacks: &CallbackGroup<Group>,
        topic: &str,
        name: String,
        receive: Receive,
    ) -> Result<(), String> {
        let options = rospin_engine::SubscriptionOptions::new(topic).keep_last(group.depth).name(name);
        let subscription = callbacks.create_subscription(options, receive).map_err(|error| error.to_string())?;
        self.subscriptions.push(subscription);
        Ok(())
    }
}

/// The nodes of the graph as ROS 2 nodes.
struct Nodes {
    ros: Ros,
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
        callbacks: &CallbackGroup<Group>,
        topic: &str,
        name: String,
        mut receive: Receive,
    ) -> Result<(), String> {
        let options = rospin_node::SubscriptionOptions::new(topic).keep_last(group.depth).name(name);
        let receive = move |group: &mut Group, message: Message| receive(group, Arc::new(message));
        let subscription = self.node(group)?.on(callbacks).create_subscription(options, receive);
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
