//! Nodes: names under which entities appear in the ROS graph.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

use rospin_engine::{Declaration, ExecutorHandle, Time};

use crate::arguments::{NameKind, RemapRule, Remaps, RosArguments, RosArgumentsError, node_name};
use crate::dynamic::Known;
use crate::error::Refused;
use crate::graph::{Endpoint, EndpointKind, Graph, Presence};
use crate::group::OwnGroup;
use crate::link::Link;
use crate::names::{FullName, NameError, NodeName, TypeName};
use crate::network::{MainExecutor, Network};
use crate::parameters::{Given, ParameterFile, ParameterValue, Store};
use crate::qos::Qos;
use crate::rosout::queue::RecordQueue;
use crate::standard::Standard;

/// Text between the name of an action and the name of one of its parts.
const ACTION: &str = "/_action/";

/// Options of a node. A plain `&str` is its name.
#[derive(Clone, Debug)]
pub struct NodeOptions {
    name: String,
    namespace: String,
    overrides: BTreeMap<String, ParameterValue>,
    files: Vec<ParameterFile>,
    /// Remapping rules. The first rule that matches wins.
    rules: Vec<RemapRule>,
    /// The executor of the node's own group, unless it is the main one.
    pub(crate) executor: Option<ExecutorHandle>,
    pub(crate) uses_arguments: bool,
    pub(crate) serves_parameters: bool,
    pub(crate) serves_type_descriptions: bool,
    pub(crate) publishes_rosout: bool,
    measures_topics: bool,
}

impl NodeOptions {
    /// Returns the options of a node with that name in the namespace `/`.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            namespace: "/".to_owned(),
            overrides: BTreeMap::new(),
            files: Vec::new(),
            rules: Vec::new(),
            executor: None,
            uses_arguments: true,
            serves_parameters: true,
            serves_type_descriptions: true,
            publishes_rosout: true,
            measures_topics: false,
        }
    }

    /// Sets the namespace, such as `/robot`. The node's relative topics and services are in it. A slash that is missing
    /// at its beginning is added, as in rclcpp.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = namespace.into();
        self
    }

    /// Sets the initial value of a parameter in place of its default, as `--ros-args -p name:=value` does in rclcpp.
    #[must_use]
    pub fn parameter_override(mut self, name: impl Into<String>, value: impl Into<ParameterValue>) -> Self {
        self.overrides.insert(name.into(), value.into());
        self
    }

    /// Sets the initial values of parameters to those that the file has for this node, as `--params-file` does in
    /// rclcpp. Later files override earlier ones, and an [override](Self::parameter_override) overrides all of them.
    #[must_use]
    pub fn parameter_file(mut self, file: &ParameterFile) -> Self {
        self.files.push(file.clone());
        self
    }

    /// Replaces the topic or service `from` by `to`, as `--remap from:=to` does in rclcpp. Both are names as the node
    /// itself would write them: relative to its namespace, below the node with `~/`, or absolute. If several rules
    /// match one name, the first one is used.
    ///
    /// ```
    /// use rospin::{Context, ContextOptions, Node, NodeOptions, Ros};
    ///
    /// let context = Context::new(ContextOptions::new());
    /// let options = NodeOptions::new("talker").namespace("/robot").remap("chatter", "/news");
    /// let node = Ros::in_process(&context).create_node(options)?;
    /// assert_eq!(node.resolve_topic("chatter")?.as_str(), "/news");
    /// assert_eq!(node.resolve_topic("/robot/chatter")?.as_str(), "/news");
    /// assert_eq!(node.resolve_topic("/chatter")?.as_str(), "/chatter");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn remap(mut self, from: impl Into<String>, to: impl Into<String>) -> Self {
        self.rules.push(RemapRule::of_name(from.into(), to.into()));
        self
    }

    /// Adds a remapping rule as `--remap` takes it: `FROM:=TO` for topics and services, which may begin with
    /// `rostopic://` or `rosservice://`, and `__node:=NAME` and `__ns:=/NAMESPACE` for the node itself. If several
    /// rules match one name, the first one is used.
    ///
    /// # Errors
    /// If it is not a valid rule.
    pub fn remap_rule(mut self, rule: &str) -> Result<Self, RosArgumentsError> {
        let wanted = "`chatter:=/news` or `__node:=talker`";
        let invalid =
            |reason| RosArgumentsError::Value { option: "--remap".to_owned(), value: rule.to_owned(), reason, wanted };
        self.rules.push(RemapRule::parse(rule).map_err(invalid)?);
        Ok(self)
    }

    /// Returns the name of a node with these options, by these arguments of the program.
    pub(crate) fn full_name(&self, arguments: &RosArguments) -> Result<NodeName, NameError> {
        node_name(&self.all_rules(arguments), &self.namespace, &self.name)
    }

    /// Returns the rules of the options, and then those of the program.
    fn all_rules(&self, arguments: &RosArguments) -> Vec<RemapRule> {
        let of_program = if self.uses_arguments { arguments.rules() } else { &[] };
        [&self.rules[..], of_program].concat()
    }

    /// Sets the executor of the node's own group, of its services for parameters and types and of its log records,
    /// instead of the [main executor](crate::Ros::executor).
    #[must_use]
    pub fn executor(mut self, executor: &ExecutorHandle) -> Self {
        self.executor = Some(executor.clone());
        self
    }

    /// Enables or disables the program's [arguments for ROS](RosArguments) for this node. The default is enabled: they
    /// change the node's names and parameters. The rules and values of these options take precedence over them.
    #[must_use]
    pub const fn use_global_arguments(mut self, yes: bool) -> Self {
        self.uses_arguments = yes;
        self
    }

    /// Enables or disables the parameter services of the node on the [main executor](crate::Ros::executor), or the one
    /// that [`executor`](Self::executor) names. The default is enabled. [`serve_parameters`](Node::serve_parameters)
    /// starts them on another executor.
    #[must_use]
    pub const fn start_parameter_services(mut self, yes: bool) -> Self {
        self.serves_parameters = yes;
        self
    }

    /// Enables or disables the service `~/get_type_description` of the node on the [main
    /// executor](crate::Ros::executor), or the one that [`executor`](Self::executor) names, and the read-only parameter
    /// `start_type_description_service`, by which a deployment can switch it off, too. The default is enabled, as in
    /// rclcpp. [`serve_type_descriptions`](Node::serve_type_descriptions) starts it on another executor.
    #[must_use]
    pub const fn start_type_description_service(mut self, yes: bool) -> Self {
        self.serves_type_descriptions = yes;
        self
    }

    /// Enables or disables the publication of the node's log records on `/rosout` by the [main
    /// executor](crate::Ros::executor), or the one that [`executor`](Self::executor) names. The default is enabled.
    /// [`publish_rosout`](Node::publish_rosout) publishes them on another executor.
    #[must_use]
    pub const fn enable_rosout(mut self, yes: bool) -> Self {
        self.publishes_rosout = yes;
        self
    }

    /// Enables or disables statistics of the age and the period of messages for all subscriptions of the node whose own
    /// [options](crate::SubscriptionOptions::topic_statistics) say nothing of them. The default is disabled.
    #[must_use]
    pub const fn enable_topic_statistics(mut self, yes: bool) -> Self {
        self.measures_topics = yes;
        self
    }
}

impl From<&str> for NodeOptions {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

/// Reasons for which a node could not be created.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NodeError {
    /// The node's name, or a name in its [remapping rules](NodeOptions::remap), is invalid.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The middleware could not create the node.
    #[error("could not create node `{node}`: {reason}")]
    Refused {
        /// The node's name.
        node: NodeName,
        /// The middleware's reason.
        reason: Refused,
    },
    /// The services for the node's parameters or types, or the publisher of its log records, could not be created.
    #[error("node `{node}` could not offer its parameters, its types or its log to others: {reason}")]
    Offer {
        /// The node's name.
        node: NodeName,
        /// Error of creating them, as text.
        reason: String,
    },
}

/// A node of the ROS graph. Cheap to clone. The node leaves the graph when its last clone and its last entity are
/// dropped.
///
/// A node creates publishers, and subscriptions, services, clients and timers on callback groups of any executor. It
/// has no thread of its own and is not spun: executors are.
///
/// The [main executor](crate::Ros::executor) serves its parameters, describes its types and publishes its log records
/// on `/rosout`, unless its [options](NodeOptions) say otherwise.
#[derive(Clone)]
pub struct Node {
    core: Arc<Core>,
    /// Default services of the node for others. Their entities hold only the core, so they do not keep themselves
    /// alive.
    pub(crate) standard: Arc<Standard>,
}

struct Core {
    name: NodeName,
    store: Arc<Store>,
    records: Arc<RecordQueue>,
    known: Arc<Known>,
    remaps: Remaps,
    own: OnceLock<OwnGroup>,
    _presence: Presence,
    link: Link,
    // Declared after the link, so that it is dropped after it: the end of the link still uses the network to leave it.
    network: Arc<Network>,
    /// The main executor. Weak, because its callbacks may own the node.
    main: Weak<MainExecutor>,
    /// The executor that the node's options name in place of the main one. It drops its callbacks when it ends, so the
    /// node may hold its handle.
    executor: Option<ExecutorHandle>,
    /// True if subscriptions have statistics unless their options say otherwise.
    measures_topics: bool,
}

impl Node {
    pub(crate) fn new(
        network: &Arc<Network>,
        main: Weak<MainExecutor>,
        arguments: &RosArguments,
        options: NodeOptions,
    ) -> Result<Self, NodeError> {
        let none = RosArguments::default();
        let arguments = if options.uses_arguments { arguments } else { &none };
        let (rules, name) = (options.all_rules(arguments), options.full_name(arguments)?);
        let remaps = Remaps::new(&rules, &name)?;
        let link = network.link(&name).map_err(|reason| NodeError::Refused { node: name.clone(), reason })?;
        let files = arguments.parameters().iter().chain(&options.files);
        let mut overrides: BTreeMap<_, _> = files.flat_map(|file| file.of_node(&name)).collect();
        overrides.extend(options.overrides.into_iter().map(|(name, value)| (name, Given::Value(value))));
        let store = Store::new(name.to_string(), overrides, network.context.shared());
        network.add_store(&store);
        let records = RecordQueue::new(&name, arguments);
        link.recorder().declare(|| Declaration::Node {
            node: name.to_string(),
            name: name.base_name().to_owned(),
            namespace: name.namespace().to_owned(),
        });
        let presence = network.graph().enter_node(name.to_string());
        let (known, network) = (Arc::default(), Arc::clone(network));
        let core = Core {
            name,
            remaps,
            store,
            records,
            known,
            own: OnceLock::new(),
            _presence: presence,
            link,
            network,
            main,
            executor: options.executor,
            measures_topics: options.measures_topics,
        };
        Ok(Self { core: Arc::new(core), standard: Arc::default() })
    }

    /// Returns the same node for the entities of its default services. Holding it does not keep these services alive.
    pub(crate) fn without_standard(&self) -> Self {
        Self { core: Arc::clone(&self.core), standard: Arc::default() }
    }

    /// Returns the name with its namespace, such as `/robot/talker`.
    #[must_use]
    #[doc(alias = "get_fully_qualified_name")]
    pub fn fully_qualified_name(&self) -> String {
        self.core.name.to_string()
    }

    /// Returns the name without the namespace, such as `talker`.
    #[must_use]
    #[doc(alias = "get_name")]
    pub fn name(&self) -> &str {
        self.core.name.base_name()
    }

    /// Returns the namespace, such as `/robot`; `/` is the outermost one.
    #[must_use]
    #[doc(alias = "get_namespace")]
    pub fn namespace(&self) -> &str {
        self.core.name.namespace()
    }

    /// Returns the name and the namespace. See [`fully_qualified_name`](Self::fully_qualified_name) for the text.
    #[must_use]
    pub fn node_name(&self) -> &NodeName {
        &self.core.name
    }

    /// Returns ROS time, the time of `/clock` in simulation and of the system clock otherwise. It is for the stamps of
    /// messages: `node.now().into()` is a `builtin_interfaces/Time`. Neither blocks nor allocates.
    ///
    /// ```
    /// use rospin::msgs::std_msgs::msg::Header;
    /// use rospin::{Context, ContextOptions, Ros, Time};
    ///
    /// let context = Context::new(ContextOptions::new());
    /// let node = Ros::in_process(&context).create_node("camera")?;
    /// let header = Header { stamp: node.now().into(), frame_id: "camera".to_owned() };
    /// assert!(Time::from(header.stamp) <= node.now());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[doc(alias = "get_clock")]
    pub fn now(&self) -> Time {
        self.core.network.context.clock().ros()
    }

    /// Returns the absolute name of the topic that this node calls `name`. The name is
    /// [resolved](NodeName::resolve) first and [remapped](NodeOptions::remap) then. Every entity of the node gets its
    /// name this way.
    ///
    /// # Errors
    /// If `name` is not a valid name.
    pub fn resolve_topic(&self, name: &str) -> Result<FullName, NameError> {
        self.resolve(name, NameKind::Topic)
    }

    /// Returns the absolute name of the service that this node calls `name`, as
    /// [`resolve_topic`](Self::resolve_topic) does for topics.
    ///
    /// # Errors
    /// If `name` is not a valid name.
    pub fn resolve_service(&self, name: &str) -> Result<FullName, NameError> {
        self.resolve(name, NameKind::Service)
    }

    fn resolve(&self, name: &str, kind: NameKind) -> Result<FullName, NameError> {
        let remapped = |name: &str| Ok(self.core.remaps.apply(self.node_name().resolve(name)?, kind));
        match name.split_once(ACTION) {
            // A rule for an action applies to all of its parts.
            Some((action, part)) => remapped(&format!("{}{ACTION}{part}", remapped(action)?)),
            None => remapped(name),
        }
    }

    /// Returns the graph of all nodes of the network.
    pub(crate) fn graph(&self) -> &Arc<Graph> {
        self.core.network.graph()
    }

    /// Returns the node's parameters.
    pub(crate) fn store(&self) -> &Arc<Store> {
        &self.core.store
    }

    /// Returns the node's log records that are on their way to `/rosout`.
    pub(crate) fn records(&self) -> &Arc<RecordQueue> {
        &self.core.records
    }

    /// Returns the types that the node can describe to others.
    pub(crate) fn known(&self) -> &Arc<Known> {
        &self.core.known
    }

    /// Returns true if its subscriptions have statistics unless their options say otherwise.
    pub(crate) fn enables_topic_statistics(&self) -> bool {
        self.core.measures_topics
    }

    /// Enters an endpoint of this node into the graph. Dropping the result removes it.
    pub(crate) fn enter(&self, kind: EndpointKind, name: &FullName, type_name: &TypeName, qos: &Qos) -> Presence {
        if let Some(description) = type_name.described.0 {
            self.known().note(description);
        }
        let endpoint = Endpoint::ours(kind, name, type_name, qos, self.fully_qualified_name());
        self.graph().enter_endpoint(endpoint)
    }

    /// Returns the cell of the node's own group, which is filled when the group is first used.
    pub(crate) fn own(&self) -> &OnceLock<OwnGroup> {
        &self.core.own
    }

    /// Returns the executor of the node's own group, or `None` if it was dropped.
    pub(crate) fn own_executor(&self) -> Option<ExecutorHandle> {
        match &self.core.executor {
            Some(executor) => Some(executor.clone()),
            None => Some(self.core.main.upgrade()?.handle()),
        }
    }

    /// Returns the link through which the node's entities communicate.
    pub(crate) fn link(&self) -> &Link {
        &self.core.link
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node").field("name", &self.fully_qualified_name()).finish_non_exhaustive()
    }
}
