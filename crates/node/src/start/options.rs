//! Options of a node, and the reasons for which one could not be created.

use std::collections::BTreeMap;
use std::sync::Arc;

use rospin_engine::{Context, ExecutorHandle};

use super::arguments::{RosArguments, RosArgumentsError};
use crate::error::Refused;
use crate::features::dynamic::Known;
use crate::features::parameters::{Given, ParameterFile, ParameterValue, Store};
use crate::features::rosout::RecordQueue;
use crate::names::{NameError, NodeName};
use crate::node::{NodeDraft, Parts};
use crate::remap::{RemapRule, Remaps, node_name};

/// Options of a node. A plain `&str` is its name.
///
/// ```
/// use rospin::{Context, ContextOptions, ExecutorOptions, Node, NodeOptions, Ros};
/// use rospin::parameters::ParameterFile;
///
/// let context = Context::new(ContextOptions::new());
/// let control = context.create_executor(ExecutorOptions::new("control"));
/// let file = ParameterFile::parse("/**: {ros__parameters: {gain: 2.0, frame: base}}")?;
/// let options = NodeOptions::new("motor")
///     .namespace("/left")
///     .parameter_file(&file)
///     .parameter_override("gain", 3.0)
///     .remap_rule("__node:=engine")?
///     .executor(&control.handle())
///     .use_global_arguments(false)
///     .start_parameter_services(false)
///     .start_type_description_service(false)
///     .enable_rosout(false)
///     .enable_topic_statistics(true);
/// let node = Ros::in_process(&context).create_node(options)?;
/// assert_eq!(node.fully_qualified_name(), "/left/engine");
/// assert_eq!(node.declare_parameter("gain", 1.0)?.get(), 3.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    pub(super) uses_arguments: bool,
    pub(super) serves_parameters: bool,
    pub(super) serves_type_descriptions: bool,
    pub(super) publishes_rosout: bool,
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
    pub(super) fn full_name(&self, arguments: &RosArguments) -> Result<NodeName, NameError> {
        node_name(&self.all_rules(arguments), &self.namespace, &self.name)
    }

    /// Returns the node that is to be started, with what the features keep in it.
    ///
    /// # Errors
    /// If the node's name or a name in its remapping rules is invalid.
    pub(super) fn into_draft(self, arguments: &RosArguments, context: &Context) -> Result<NodeDraft, NameError> {
        let none = RosArguments::default();
        let arguments = if self.uses_arguments { arguments } else { &none };
        let rules = self.all_rules(arguments);
        let name = self.full_name(arguments)?;
        let remaps = Remaps::new(&rules, &name)?;
        let files = arguments.parameters().iter().chain(&self.files);
        let mut overrides: BTreeMap<_, _> = files.flat_map(|file| file.of_node(&name)).collect();
        overrides.extend(self.overrides.into_iter().map(|(name, value)| (name, Given::Value(value))));
        let parts = Parts::default()
            .with(Store::new(name.to_string(), overrides, context.shared()))
            .with(RecordQueue::new(&name, |logger| arguments.node_log_level(logger)))
            .with(Arc::new(Known::default()));
        Ok(NodeDraft { name, remaps, executor: self.executor, measures_topics: self.measures_topics, parts })
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
    /// that [`executor`](Self::executor) names. The default is enabled.
    /// [`serve_parameters`](crate::Node::serve_parameters) starts them on another executor.
    #[must_use]
    pub const fn start_parameter_services(mut self, yes: bool) -> Self {
        self.serves_parameters = yes;
        self
    }

    /// Enables or disables the service `~/get_type_description` of the node on the [main
    /// executor](crate::Ros::executor), or the one that [`executor`](Self::executor) names, and the read-only parameter
    /// `start_type_description_service`, by which a deployment can switch it off, too. The default is enabled, as in
    /// rclcpp. [`serve_type_descriptions`](crate::Node::serve_type_descriptions) starts it on another executor.
    #[must_use]
    pub const fn start_type_description_service(mut self, yes: bool) -> Self {
        self.serves_type_descriptions = yes;
        self
    }

    /// Enables or disables the publication of the node's log records on `/rosout` by the [main
    /// executor](crate::Ros::executor), or the one that [`executor`](Self::executor) names. The default is enabled.
    /// [`publish_rosout`](crate::Node::publish_rosout) publishes them on another executor.
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
