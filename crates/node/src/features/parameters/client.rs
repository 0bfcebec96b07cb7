//! Parameters of other nodes.

use std::fmt;

use rospin_engine::CallbackGroup;

use super::events::EVENTS_MAX;
use super::value::{ParameterKind, ParameterSetting, ParameterValue, UnknownType};
use super::variant::ParameterVariant;
use crate::client::Client;
use crate::error::CallError;
use crate::error::ServiceError;
use crate::error::TopicError;
use crate::interfaces::rcl_interfaces as wire;
use crate::message::ServiceInterface;
use crate::node::Node;
use crate::options::{ClientOptions, SubscriptionOptions};
use crate::qos::Qos;
use crate::subscription::Subscription;

/// Number of responses that are kept, as in rclcpp.
const RESPONSES_MAX: usize = 1000;

/// Reasons for which a request to another node about its parameters failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParameterClientError {
    /// The call to one of the node's services failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The node rejected the values.
    #[error("node `{node}` did not set the parameters: {reason}")]
    Refused {
        /// Name of the node, as the client has it.
        node: String,
        /// The reason that the node gave.
        reason: String,
    },
    /// The node did not answer for every name. Nodes of rclcpp answer for no name if one of them is not declared.
    #[error("node `{node}` answered for {answered} of {asked} parameters; ask only for those that it lists")]
    Incomplete {
        /// Name of the node, as the client has it.
        node: String,
        /// Number of names in the request.
        asked: usize,
        /// Number of names in the response.
        answered: usize,
    },
    /// The parameter has another type, or no value.
    #[error(
        "parameter `{name}` of node `{node}` is {found}; ask for that type, for an `Option`, or for a `ParameterValue`"
    )]
    WrongType {
        /// Name of the node, as the client has it.
        node: String,
        /// Name of the parameter.
        name: String,
        /// Type of the parameter's value, or `not set`.
        found: String,
    },
    /// The response has a type number that ROS 2 does not define.
    #[error(transparent)]
    UnknownType(#[from] UnknownType),
}

/// Client that reads and sets the parameters of another node. Cheap to clone.
///
/// Requests can be awaited anywhere, also inside callbacks. Give them a [timeout](Node::timeout), as
/// [calls](Client::call) of any service.
///
/// ```
/// use rospin::{Context, ContextOptions, ExecutorOptions, Node, Ros, SpinOptions};
///
/// let context = Context::new(ContextOptions::new());
/// let executor = context.create_executor(ExecutorOptions::new("main"));
/// let ros = Ros::in_process(&context);
/// let motor = ros.create_node("motor")?;
/// let speed = motor.declare_parameter("max_speed", 1.5)?;
/// let _server = motor.serve_parameters(&executor.handle())?;
///
/// let operator = ros.create_node("operator")?;
/// let client = operator.create_parameter_client("/motor")?;
/// let slow_down = async {
///     client.wait_for_service().await;
///     client.set_one("max_speed", 0.5).await?;
///     client.get_one::<f64>("max_speed").await
/// };
/// assert_eq!(executor.spin_until(slow_down, SpinOptions::new())??, 0.5);
/// assert_eq!(speed.get(), 0.5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ParameterClient {
    node: String,
    get: Client<wire::GetParameters>,
    types: Client<wire::GetParameterTypes>,
    set: Client<wire::SetParameters>,
    set_atomically: Client<wire::SetParametersAtomically>,
    describe: Client<wire::DescribeParameters>,
    list: Client<wire::ListParameters>,
}

impl Node {
    /// Creates a client of the parameters of `node`, such as `/robot/motor`. The node need not exist yet.
    ///
    /// # Errors
    /// If `node` is no valid name of a node, or the middleware refuses.
    pub fn create_parameter_client(&self, node: &str) -> Result<ParameterClient, ServiceError> {
        Ok(ParameterClient {
            node: node.to_owned(),
            get: self.parameter_service(node, "get_parameters")?,
            types: self.parameter_service(node, "get_parameter_types")?,
            set: self.parameter_service(node, "set_parameters")?,
            set_atomically: self.parameter_service(node, "set_parameters_atomically")?,
            describe: self.parameter_service(node, "describe_parameters")?,
            list: self.parameter_service(node, "list_parameters")?,
        })
    }

    fn parameter_service<S: ServiceInterface>(&self, node: &str, service: &str) -> Result<Client<S>, ServiceError> {
        self.create_client(ClientOptions::new(format!("{node}/{service}")).qos(Qos::keep_last(RESPONSES_MAX)))
    }

    /// Creates a subscription of `/parameter_events`, on which all nodes publish changes of their parameters.
    ///
    /// # Errors
    /// If the middleware refuses, or the group is gone.
    pub fn create_parameter_event_subscription<P, F>(
        &self,
        group: &CallbackGroup<P>,
        callback: F,
    ) -> Result<Subscription, TopicError>
    where
        P: Send + 'static,
        F: FnMut(&mut P, wire::ParameterEvent) + Send + 'static,
    {
        let options = SubscriptionOptions::new("/parameter_events").keep_last(EVENTS_MAX);
        self.on(group).create_subscription(options, callback)
    }
}

impl ParameterClient {
    /// Returns the name of the node, as it was given.
    #[must_use]
    pub fn node(&self) -> &str {
        &self.node
    }

    /// Returns true if all parameter services of the node exist, as far as discovery knows at this moment.
    #[must_use]
    pub fn service_is_ready(&self) -> bool {
        let reading = self.get.service_is_ready() && self.types.service_is_ready() && self.list.service_is_ready();
        let setting = self.set.service_is_ready() && self.set_atomically.service_is_ready();
        reading && setting && self.describe.service_is_ready()
    }

    /// Returns a future that resolves once all parameter services of the node exist.
    ///
    /// Cancel safe: a future that is dropped early has no effect.
    pub fn wait_for_service(&self) -> impl Future<Output = ()> + Send + 'static {
        let reading = (self.get.wait_for_service(), self.types.wait_for_service(), self.list.wait_for_service());
        let setting = (self.set.wait_for_service(), self.set_atomically.wait_for_service());
        let describing = self.describe.wait_for_service();
        async move {
            reading.0.await;
            reading.1.await;
            reading.2.await;
            setting.0.await;
            setting.1.await;
            describing.await;
        }
    }

    /// Returns the values of these parameters, in that order. [`get_one`](Self::get_one) returns one of them in its
    /// Rust type. A parameter that is not declared has the value `NotSet`; nodes of rclcpp return no values at all in
    /// that case.
    ///
    /// Cancel safe: a future that is dropped early loses the answer, and nothing else. The request is sent in any case.
    ///
    /// # Errors
    /// If the call fails, or the response does not fit the request.
    #[doc(alias = "get_parameters")]
    pub fn get(
        &self,
        names: &[&str],
    ) -> impl Future<Output = Result<Vec<ParameterValue>, ParameterClientError>> + Send + use<> {
        let names = names_of(names);
        let node = self.node.clone();
        let asked = names.len();
        let call = self.get.call(wire::GetParametersRequest { names });
        async move {
            let values = complete(&node, asked, call.await?.values)?;
            Ok(values.into_iter().map(TryFrom::try_from).collect::<Result<_, UnknownType>>()?)
        }
    }

    /// Returns the value of one parameter. `T` is its type, an [`Option`] for a parameter that may have no value, or a
    /// [`ParameterValue`] for any type.
    ///
    /// Cancel safe: a future that is dropped early loses the answer, and nothing else. The request is sent in any case.
    ///
    /// # Errors
    /// If the call fails, or the value is no `T`: it is of another type, or `T` needs a value and the parameter has
    /// none or is not declared.
    #[doc(alias = "get_parameter")]
    pub fn get_one<T: ParameterVariant>(
        &self,
        name: &str,
    ) -> impl Future<Output = Result<T, ParameterClientError>> + Send + use<T> {
        let node = self.node.clone();
        let name = name.to_owned();
        let values = self.get(&[name.as_str()]);
        async move {
            let value = values.await?.pop().unwrap_or_default();
            let found = value.kind_name();
            T::from_value(value).ok_or(ParameterClientError::WrongType { node, name, found })
        }
    }

    /// Returns the types of these parameters, in that order. A parameter that is not declared or has no value has the
    /// type `None`; nodes of rclcpp return no types at all if one is not declared.
    ///
    /// Cancel safe: a future that is dropped early loses the answer, and nothing else. The request is sent in any case.
    ///
    /// # Errors
    /// If the call fails, or the response does not fit the request.
    pub fn types(
        &self,
        names: &[&str],
    ) -> impl Future<Output = Result<Vec<Option<ParameterKind>>, ParameterClientError>> + Send + use<> {
        let names = names_of(names);
        let node = self.node.clone();
        let asked = names.len();
        let call = self.types.call(wire::GetParameterTypesRequest { names });
        async move {
            let types = complete(&node, asked, call.await?.types.into_vec())?;
            Ok(types.into_iter().map(ParameterKind::from_code).collect::<Result<_, _>>()?)
        }
    }

    /// Sets one parameter.
    ///
    /// Cancel safe: a future that is dropped early loses the answer. The request is sent in any case, so the values may
    /// be set all the same.
    ///
    /// # Errors
    /// If the call fails, or the node rejects the value.
    #[doc(alias = "set_parameter")]
    pub fn set_one<T: Into<ParameterValue>>(
        &self,
        name: &str,
        value: T,
    ) -> impl Future<Output = Result<(), ParameterClientError>> + Send + use<T> {
        let node = self.node.clone();
        let results = self.set(vec![ParameterSetting::new(name, value)]);
        async move {
            match results.await?.pop() {
                Some(Err(reason)) => Err(ParameterClientError::Refused { node, reason }),
                // There is one result, since one was asked for.
                _ => Ok(()),
            }
        }
    }

    /// Sets parameters one by one. Returns a result for each of them, with the node's reason if it was not set. A
    /// setting is a [`ParameterSetting`], or a name and a value: `[("max_speed", 0.5)]`.
    ///
    /// Cancel safe: a future that is dropped early loses the answer. The request is sent in any case, so the values may
    /// be set all the same.
    ///
    /// # Errors
    /// If the call fails, or the response does not fit the request.
    #[doc(alias = "set_parameters")]
    pub fn set<I>(
        &self,
        settings: I,
    ) -> impl Future<Output = Result<Vec<Result<(), String>>, ParameterClientError>> + Send + use<I>
    where
        I: IntoIterator<Item: Into<ParameterSetting>>,
    {
        let parameters = to_wire(settings);
        let node = self.node.clone();
        let asked = parameters.len();
        let call = self.set.call(wire::SetParametersRequest { parameters });
        async move {
            let results = complete(&node, asked, call.await?.results)?;
            Ok(results.into_iter().map(|set| if set.successful { Ok(()) } else { Err(set.reason) }).collect())
        }
    }

    /// Sets all of these parameters, or none. A setting is a [`ParameterSetting`], or a name and a value:
    /// `[("max_speed", 0.5)]`.
    ///
    /// Cancel safe: a future that is dropped early loses the answer. The request is sent in any case, so the values may
    /// be set all the same.
    ///
    /// # Errors
    /// If the call fails, or the node rejects a value.
    #[doc(alias = "set_parameters_atomically")]
    pub fn set_atomically<I>(
        &self,
        settings: I,
    ) -> impl Future<Output = Result<(), ParameterClientError>> + Send + use<I>
    where
        I: IntoIterator<Item: Into<ParameterSetting>>,
    {
        let node = self.node.clone();
        let call = self.set_atomically.call(wire::SetParametersAtomicallyRequest { parameters: to_wire(settings) });
        async move {
            let set = call.await?.result;
            if set.successful { Ok(()) } else { Err(ParameterClientError::Refused { node, reason: set.reason }) }
        }
    }

    /// Returns the descriptions of these parameters, in that order: ranges, texts and flags.
    ///
    /// Cancel safe: a future that is dropped early loses the answer, and nothing else. The request is sent in any case.
    ///
    /// # Errors
    /// If the call fails, or the response does not fit the request.
    pub fn describe(
        &self,
        names: &[&str],
    ) -> impl Future<Output = Result<Vec<wire::ParameterDescriptor>, ParameterClientError>> + Send + use<> {
        let names = names_of(names);
        let node = self.node.clone();
        let asked = names.len();
        let call = self.describe.call(wire::DescribeParametersRequest { names });
        async move { complete(&node, asked, call.await?.descriptors) }
    }

    /// Returns the names of the node's parameters, see [`Node::list_parameters`].
    ///
    /// Cancel safe: a future that is dropped early loses the answer, and nothing else. The request is sent in any case.
    ///
    /// # Errors
    /// If the call fails.
    pub fn list(
        &self,
        prefixes: &[&str],
        depth: u64,
    ) -> impl Future<Output = Result<wire::ListParametersResult, ParameterClientError>> + Send + use<> {
        let call = self.list.call(wire::ListParametersRequest { prefixes: names_of(prefixes), depth });
        async move { Ok(call.await?.result) }
    }
}

fn names_of(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn to_wire(settings: impl IntoIterator<Item: Into<ParameterSetting>>) -> Vec<wire::Parameter> {
    settings.into_iter().map(|setting| setting.into().into()).collect()
}

/// Returns the answers if there are as many as names were asked for.
fn complete<T>(node: &str, asked: usize, answers: Vec<T>) -> Result<Vec<T>, ParameterClientError> {
    match answers.len() {
        answered if answered == asked => Ok(answers),
        answered => Err(ParameterClientError::Incomplete { node: node.to_owned(), asked, answered }),
    }
}

impl Clone for ParameterClient {
    fn clone(&self) -> Self {
        Self {
            node: self.node.clone(),
            get: self.get.clone(),
            types: self.types.clone(),
            set: self.set.clone(),
            set_atomically: self.set_atomically.clone(),
            describe: self.describe.clone(),
            list: self.list.clone(),
        }
    }
}

impl fmt::Debug for ParameterClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParameterClient").field("node", &self.node).finish_non_exhaustive()
    }
}
