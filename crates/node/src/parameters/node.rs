//! What a node can do with parameters of its own.

use std::sync::Arc;

use rospin_engine::{CallbackGroup, Entity, EntityKind, EntityOptions, SourceError};

use super::callbacks::ParametersCallback;
use super::error::{DeclareError, SetParameterError, UndeclareError};
use super::handle::Parameter;
use super::list::list;
use super::options::ParameterOptions;
use super::value::{ParameterSetting, ParameterValue};
use super::variant::ParameterVariant;
use super::watch::SetParameters;
use crate::interfaces::rcl_interfaces::{ListParametersResult, ParameterDescriptor};
use crate::node::Node;

impl Node {
    /// Declares a parameter; a plain value is its default. Its type cannot change later, unless it is a [`ParameterValue`].
    ///
    /// It begins with the value that the node's options [override](crate::NodeOptions::parameter_override) it with, or else
    /// with its default. The value has to please the [on-set callbacks](Self::add_on_set_parameters_callback). Locks for a
    /// moment, and allocates.
    ///
    /// ```
    /// # use rospin_engine::{Context, ContextOptions};
    /// # use rospin_node::{Ros, NodeOptions, Node, ParameterOptions};
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
    /// If it is declared already, its value is missing, of another type, out of its range or not wanted by a callback, or its
    /// range is none.
    pub fn declare_parameter<T: ParameterVariant>(
        &self,
        name: &str,
        options: impl Into<ParameterOptions<T>>,
    ) -> Result<Parameter<T>, DeclareError> {
        self.store().declare(name, options.into())
    }

    /// Removes a parameter. Handles keep the last value.
    ///
    /// # Errors
    /// If there is none of that name, or it is read-only.
    pub fn undeclare_parameter(&self, name: &str) -> Result<(), UndeclareError> {
        self.store().undeclare(name, None)
    }

    /// The value of a parameter, if it is declared. Locks for a moment, and may allocate.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<ParameterValue> {
        self.store().value(name)
    }

    /// Sets a parameter, see [`Parameter::set`].
    ///
    /// # Errors
    /// If it is not declared, read-only, of another type or has another range, or a callback does not want it.
    pub fn set_parameter(&self, name: &str, value: impl Into<ParameterValue>) -> Result<(), SetParameterError> {
        self.store().set(vec![ParameterSetting::new(name, value)])
    }

    /// Sets all of these parameters or none; callbacks are asked once about all of them.
    ///
    /// Other nodes, and who reads a [`ParameterSet`](crate::ParameterSet), see all of them set or none. Who reads them one by
    /// one may read the first one before, and the second one after that.
    ///
    /// # Errors
    /// If one of them cannot be set, see [`set_parameter`](Self::set_parameter).
    pub fn set_parameters_atomically(&self, settings: Vec<ParameterSetting>) -> Result<(), SetParameterError> {
        self.store().set(settings)
    }

    /// What is known of a parameter beside its value, if it is declared.
    #[must_use]
    pub fn describe_parameter(&self, name: &str) -> Option<ParameterDescriptor> {
        self.store().descriptor(name)
    }

    /// The names of parameters that are or begin with one of the prefixes, and a dot; all of them if there are no prefixes.
    /// Only those that have less than `depth` dots beyond the prefix, unless that is
    /// [`DEPTH_RECURSIVE`](crate::DEPTH_RECURSIVE).
    #[must_use]
    pub fn list_parameters(&self, prefixes: &[&str], depth: u64) -> ListParametersResult {
        list(self.store().names(), prefixes, depth)
    }

    /// Has `callback` change what is to be set before it is checked: have one parameter follow another, say.
    ///
    /// It runs on the thread that sets parameters, which may be a callback's that answers another node, for every request to
    /// set some, but not when they are declared. It must not change parameters itself. If it panics, nothing is set. The
    /// callback that was added last runs first.
    pub fn add_pre_set_parameters_callback<F>(&self, callback: F) -> ParametersCallback
    where
        F: Fn(&mut Vec<ParameterSetting>) + Send + Sync + 'static,
    {
        self.store().add_pre_set(Arc::new(callback))
    }

    /// Has `callback` say whether parameters may get these values, or in words why not.
    ///
    /// It runs on the thread that sets or declares parameters, after types and ranges were checked; no lock is held. It should
    /// have no effects, since the values may be refused after all, and it may be asked twice if other threads set parameters
    /// meanwhile. It can read parameters, and must not change any. If it panics, nothing is set. The callback that was added
    /// last is asked first.
    ///
    /// ```
    /// # use rospin_engine::{Context, ContextOptions};
    /// # use rospin_node::{Ros, Node, ParameterValue};
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
        self.store().add_on_set(Arc::new(callback))
    }

    /// Creates a callback on a group that is told which parameters were set or declared, after that: what rclcpp calls a
    /// post-set callback.
    ///
    /// It is an entity as any other, and runs when the policy says. What was set several times before it could run is told
    /// once, with the last value; what was undeclared before is not told.
    ///
    /// ```
    /// # use rospin_engine::{Context, ContextOptions, ExecutorOptions, SpinOptions};
    /// # use rospin_node::{Ros, Node};
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
        let options = EntityOptions::new(format!("{}/parameters", group.name()));
        group.create_source(EntityKind::Waitable, options, SetParameters::new(self.store()), callback)
    }
}
