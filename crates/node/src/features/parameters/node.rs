//! Methods of a node for its own parameters.

use std::sync::Arc;

use rospin_engine::{CallbackGroup, Entity, EntityKind, EntityOptions, SourceError};

use super::error::{DeclareError, SetParameterError, UndeclareError};
use super::handle::{Parameter, ParametersCallback};
use super::list::list;
use super::options::ParameterOptions;
use super::value::{ParameterSetting, ParameterValue};
use super::variant::ParameterVariant;
use super::watch::SetParameters;
use crate::interfaces::rcl_interfaces::{ListParametersResult, ParameterDescriptor};
use crate::node::Node;

impl Node {
    /// Declares a parameter. A plain value is its default. Its type cannot change later, unless it is a
    /// [`ParameterValue`].
    ///
    /// The initial value is the override of the node's [options](crate::NodeOptions::parameter_override), or else of a
    /// parameter file or the program's [arguments](crate::RosArguments), or else the default. The [on-set
    /// callbacks](Self::add_on_set_parameters_callback) must accept it. Locks for a moment, and allocates.
    ///
    /// ```
    /// # use rospin::{Context, ContextOptions, Node, NodeOptions, ParameterOptions, Ros};
    /// # let ros = Ros::in_process(&Context::new(ContextOptions::new()));
    /// let node = ros.create_node(NodeOptions::new("camera").parameter_override("exposure.gain", 2.0))?;
    /// let gain = node.declare_parameter("exposure.gain", 1.0)?;
    /// let frame = node.declare_parameter("frame_id", "camera")?;
    /// let serial = node.declare_parameter::<Option<i64>>("serial", ParameterOptions::new().description("of the device"))?;
    /// assert_eq!((gain.get(), frame.get().as_str(), serial.get()), (2.0, "camera", None));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the name is empty or declared already, the range is invalid, or the initial value is missing, of another
    /// type, out of range or rejected by a callback.
    pub fn declare_parameter<T: ParameterVariant>(
        &self,
        name: &str,
        options: impl Into<ParameterOptions<T>>,
    ) -> Result<Parameter<T>, DeclareError> {
        Parameter::declare(self.store(), name, options.into())
    }

    /// Removes a parameter. Handles keep its last value.
    ///
    /// # Errors
    /// If no parameter has that name, or it is read-only.
    pub fn undeclare_parameter(&self, name: &str) -> Result<(), UndeclareError> {
        self.store().undeclare(name, None)
    }

    /// Returns the value of a parameter, or `None` if it is not declared. Locks for a moment, and may allocate. The
    /// handle that [`declare_parameter`](Self::declare_parameter) returns reads it in its type.
    #[must_use]
    #[doc(alias = "get_parameter")]
    #[doc(alias = "has_parameter")]
    pub fn parameter(&self, name: &str) -> Option<ParameterValue> {
        self.store().value(name)
    }

    /// Sets a parameter, see [`Parameter::set`].
    ///
    /// # Errors
    /// If the parameter is not declared or read-only, or the value has another type, is out of range, or is rejected
    /// by a callback.
    pub fn set_parameter(&self, name: &str, value: impl Into<ParameterValue>) -> Result<(), SetParameterError> {
        self.store().set(vec![ParameterSetting::new(name, value)])
    }

    /// Sets all of these parameters, or none. The callbacks run once for all of them. A setting is a
    /// [`ParameterSetting`], or a name and a value: `[("max_speed", 0.5)]`.
    ///
    /// Other nodes, and readers of a [`ParameterSet`](crate::ParameterSet), see all of the changes or none. A reader
    /// of single parameters may read one before the change and another one after it.
    ///
    /// # Errors
    /// If one of them cannot be set, see [`set_parameter`](Self::set_parameter).
    #[doc(alias = "set_parameters")]
    pub fn set_parameters_atomically(
        &self,
        settings: impl IntoIterator<Item: Into<ParameterSetting>>,
    ) -> Result<(), SetParameterError> {
        self.store().set(settings.into_iter().map(Into::into).collect())
    }

    /// Returns the description of a parameter: its type, range, texts and flags. `None` if it is not declared.
    #[must_use]
    pub fn describe_parameter(&self, name: &str) -> Option<ParameterDescriptor> {
        self.store().descriptor(name)
    }

    /// Returns the names that are equal to one of the prefixes, or at most `depth` parts below it: with depth 1,
    /// `pid.p` is below `pid`, and `pid.p.max` is too deep. Without prefixes, returns the names of at most `depth`
    /// parts. [`DEPTH_RECURSIVE`](crate::DEPTH_RECURSIVE) is no limit. The result also has the beginnings of these
    /// names, up to their last dots.
    ///
    /// ```
    /// use rospin::{Context, ContextOptions, Node, Ros};
    /// use rospin::ParameterOptions;
    /// use rospin::parameters::{DEPTH_RECURSIVE, ParameterValue};
    ///
    /// let node = Ros::in_process(&Context::new(ContextOptions::new())).create_node("motor")?;
    /// let gain = node.declare_parameter("wheel.gain", 1.0)?;
    /// let limit = node.declare_parameter("wheel.limit", ParameterOptions::from(5_i64).description("turns a second"))?;
    /// node.set_parameter("wheel.gain", 2.0)?;
    /// node.set_parameters_atomically([("wheel.gain", 3.0)])?;
    /// assert_eq!((gain.get(), limit.get(), gain.name()), (3.0, 5, "wheel.gain"));
    /// assert_eq!(node.parameter("wheel.limit"), Some(ParameterValue::from(5_i64)));
    /// assert_eq!(node.describe_parameter("wheel.limit").unwrap().description, "turns a second");
    /// assert_eq!(node.list_parameters(&["wheel"], DEPTH_RECURSIVE).names, ["wheel.gain", "wheel.limit"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn list_parameters(&self, prefixes: &[&str], depth: u64) -> ListParametersResult {
        list(self.store().names(), prefixes, depth)
    }

    /// Adds a callback that may change the list of parameters to set before it is checked. For example, one parameter
    /// can follow another.
    ///
    /// It runs for every request to set parameters, on the thread that sets them, which may be the one that answers
    /// another node. It does not run on declarations. It must not change parameters through the node. If it panics,
    /// nothing is set. The callback that was added last runs first.
    pub fn add_pre_set_parameters_callback<F>(&self, callback: F) -> ParametersCallback
    where
        F: Fn(&mut Vec<ParameterSetting>) + Send + Sync + 'static,
    {
        ParametersCallback::pre_set(self.store(), Arc::new(callback))
    }

    /// Adds a callback that accepts new values of parameters, or rejects them with a reason.
    ///
    /// It runs on the thread that sets or declares parameters, after types and ranges were checked. No lock is held.
    /// It should have no side effects, because the values may still be rejected, and because it runs again if other
    /// threads set parameters at the same time. It may read parameters, and must not change any. If it panics, nothing
    /// is set. The callback that was added last runs first.
    ///
    /// ```
    /// # use rospin::parameters::ParameterValue;
    /// # use rospin::{Context, ContextOptions, Node, Ros};
    /// # let node = Ros::in_process(&Context::new(ContextOptions::new())).create_node("node")?;
    /// let name = node.declare_parameter("frame_id", "map")?;
    /// let _check = node.add_on_set_parameters_callback(|settings| {
    ///     let is_empty = |value: &ParameterValue| *value == ParameterValue::from("");
    ///     if settings.iter().any(|setting| setting.name == "frame_id" && is_empty(&setting.value)) {
    ///         return Err("frame_id must not be empty".to_owned());
    ///     }
    ///     Ok(())
    /// });
    /// assert_eq!(name.set(String::new()).unwrap_err().to_string(), "frame_id must not be empty");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add_on_set_parameters_callback<F>(&self, callback: F) -> ParametersCallback
    where
        F: Fn(&[ParameterSetting]) -> Result<(), String> + Send + Sync + 'static,
    {
        ParametersCallback::on_set(self.store(), Arc::new(callback))
    }

    /// Adds a callback that runs after parameters were set or declared, and gets their values.
    ///
    /// In rclcpp it runs on the thread that sets the parameters. Here it is a callback of the node's own group, and
    /// runs when the executor selects it, so it may use what other callbacks of the group use, and may set parameters.
    /// See [`create_post_set_parameters_callback`](Self::create_post_set_parameters_callback), which also says which
    /// changes it is told. It runs for as long as the returned entity is kept.
    ///
    /// # Errors
    /// If the node's [`Ros`](crate::Ros) was dropped.
    pub fn add_post_set_parameters_callback<F>(&self, mut callback: F) -> Result<Entity, SourceError>
    where
        F: FnMut(&[ParameterSetting]) + Send + 'static,
    {
        let own = self.own_group_for_source()?;
        self.create_post_set_parameters_callback(&own.0, move |(), settings| callback(&settings))
    }

    /// Creates a callback of a group that runs after parameters were set or declared, and gets their values. rclcpp
    /// calls it a post-set callback.
    ///
    /// It is an entity like any other, and runs when the policy selects it. A parameter that was set several times
    /// before that is reported once, with its last value. A parameter that was undeclared before that is not reported.
    ///
    /// ```
    /// # use rospin::{Context, ContextOptions, ExecutorOptions, Node, Ros, SpinOptions};
    /// # let context = Context::new(ContextOptions::new());
    /// # let executor = context.create_executor(ExecutorOptions::new("main"));
    /// # let node = Ros::in_process(&context).create_node("node")?;
    /// let rate = node.declare_parameter("rate", 10)?;
    /// let group = executor.create_group("planner", Vec::new());
    /// let _told = node.create_post_set_parameters_callback(&group, |log: &mut Vec<String>, set| {
    ///     log.extend(set.iter().map(|setting| format!("{} is now {}", setting.name, setting.value)));
    /// })?;
    /// rate.set(20)?;
    /// rate.set(30)?;
    /// executor.spin(SpinOptions::spin_all())?;
    /// assert_eq!(group.into_payload().unwrap(), ["rate is now 30"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the group is gone.
    pub fn create_post_set_parameters_callback<P, F>(
        &self,
        group: &CallbackGroup<P>,
        callback: F,
    ) -> Result<Entity, SourceError>
    where
        P: Send + 'static,
        F: FnMut(&mut P, Vec<ParameterSetting>) + Send + 'static,
    {
        let options = EntityOptions::new(group.entity_name("parameters"));
        group.create_source(EntityKind::Waitable, options, SetParameters::new(self.store()), callback)
    }
}
