//! Parameters of the robot's nodes, which watchers see as `/node.parameter`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use foxglove::websocket::{
    AnyClient, GetParametersResponder, Parameter, ParameterHandler, ParameterType, ParameterValue as Shown,
    SetParametersResponder,
};
use rospin::message::interfaces::rcl_interfaces::ParameterEvent;
use rospin::parameters::{ParameterClient, ParameterKind, ParameterSetting, ParameterValue};
use rospin::{Subscription, SubscriptionOptions};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::shared::{REFUSED, Shared};
use super::watchers::lock;
use crate::ros::is_hidden;

/// Longest time for the answers of a node. One that does not answer does not keep the others from being shown.
const ANSWER: Duration = Duration::from_secs(3);

/// The number of nodes that are asked at a time.
const ASKED_MAX: usize = 16;

/// Parameters that wait in the subscription of changes.
const EVENTS_MAX: usize = 1000;

/// Asks nodes for their parameters.
pub(super) struct Parameters {
    shared: Arc<Shared>,
    asked: Arc<Semaphore>,
}

impl Parameters {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Self { shared: Arc::clone(shared), asked: Arc::new(Semaphore::new(ASKED_MAX)) }
    }
}

impl ParameterHandler for Parameters {
    fn get(&self, _: AnyClient, names: Vec<String>, _: Option<String>, responder: GetParametersResponder) {
        let shared = Arc::clone(&self.shared);
        let asked = Arc::clone(&self.asked);
        tokio::spawn(async move {
            let nodes = if names.is_empty() { all_nodes(&shared) } else { by_node(&names) };
            responder.respond(get(&shared, &asked, nodes).await);
        });
    }

    fn set(&self, client: AnyClient, wanted: Vec<Parameter>, _: Option<String>, responder: SetParametersResponder) {
        let names: Vec<String> = wanted.iter().map(|parameter| parameter.name.clone()).collect();
        let shared = Arc::clone(&self.shared);
        let asked = Arc::clone(&self.asked);
        let may_change = shared.watchers.may_change(client.id());
        tokio::spawn(async move {
            if may_change {
                set(&shared, &client, wanted).await;
            } else {
                client.send_error(format!("parameters are not set: {REFUSED}"));
            }
            // The values that the nodes have now, whatever was asked for.
            let values = get(&shared, &asked, by_node(&names)).await;
            if may_change && let Some(server) = shared.server.get() {
                server.publish_parameter_values(values.clone());
            }
            responder.respond(values);
        });
    }
}

/// Returns the nodes that have parameters, with no names, which stands for all.
fn all_nodes(shared: &Shared) -> BTreeMap<String, Vec<String>> {
    let own = shared.node.fully_qualified_name();
    let services = shared.node.service_names_and_types();
    let nodes = services.keys().filter_map(|service| service.strip_suffix("/list_parameters"));
    nodes.filter(|node| *node != own && !is_hidden(node)).map(|node| (node.to_owned(), Vec::new())).collect()
}

/// Returns the parameters by node. Names without a node are left out.
fn by_node(names: &[String]) -> BTreeMap<String, Vec<String>> {
    let mut nodes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in names {
        // Names of nodes have no dots.
        if let Some((node, parameter)) = name.split_once('.') {
            nodes.entry(node.to_owned()).or_default().push(parameter.to_owned());
        }
    }
    nodes
}

/// Returns the values of these parameters, as far as the nodes answer.
async fn get(shared: &Arc<Shared>, asked: &Arc<Semaphore>, nodes: BTreeMap<String, Vec<String>>) -> Vec<Parameter> {
    let mut asking = JoinSet::new();
    for (node, names) in nodes {
        let shared = Arc::clone(shared);
        let asked = Arc::clone(asked);
        asking.spawn(async move {
            let _one = asked.acquire().await;
            timeout(ANSWER, of_node(&shared, &node, names)).await.unwrap_or_default()
        });
    }
    let mut all = Vec::new();
    while let Some(parameters) = asking.join_next().await {
        all.extend(parameters.unwrap_or_default());
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// Returns a client of a node's parameters; `None` if the node has none.
fn client_of(shared: &Shared, node: &str) -> Option<ParameterClient> {
    let is_there = shared.node.count_servers(&format!("{node}/get_parameters")).is_ok_and(|count| count > 0);
    if is_there { shared.node.create_parameter_client(node).ok() } else { None }
}

async fn of_node(shared: &Shared, node: &str, mut names: Vec<String>) -> Vec<Parameter> {
    let Some(client) = client_of(shared, node) else { return Vec::new() };
    client.wait_for_service().await;
    if names.is_empty() {
        names = client.list(&[], 0).await.map(|listed| listed.names).unwrap_or_default();
    }
    names.retain(|name| shared.choice.takes_parameter(&format!("{node}.{name}")));
    let wanted: Vec<&str> = names.iter().map(String::as_str).collect();
    let values = client.get(&wanted).await.unwrap_or_default();
    let pairs = names.iter().zip(values);
    pairs.map(|(name, value)| shown(&format!("{node}.{name}"), &value)).collect()
}

/// Sets parameters. What a node refuses, the watcher is told.
async fn set(shared: &Shared, client: &AnyClient, wanted: Vec<Parameter>) {
    for parameter in wanted {
        let name = parameter.name.clone();
        let result = match timeout(ANSWER, set_one(shared, parameter)).await {
            Ok(result) => result,
            Err(_) => Err("the node does not answer".to_owned()),
        };
        if let Err(reason) = result {
            client.send_error(format!("{name} is not set: {reason}"));
        }
    }
}

async fn set_one(shared: &Shared, parameter: Parameter) -> Result<(), String> {
    let (node, name) = parameter.name.split_once('.').ok_or("its name is not that of a node, a dot and a parameter")?;
    if !shared.choice.takes_parameter(&parameter.name) {
        return Err("--param does not name it".to_owned());
    }
    let client = client_of(shared, node).ok_or_else(|| format!("no node {node} has parameters"))?;
    client.wait_for_service().await;
    let kind = client.types(&[name]).await.ok().and_then(|mut types| types.pop()).flatten();
    let value = value_of(&parameter, kind)?;
    let results = client.set([ParameterSetting::new(name, value)]).await.map_err(|error| error.to_string())?;
    match results.into_iter().next() {
        Some(Err(reason)) => Err(reason),
        _ => Ok(()),
    }
}

/// Subscribes to changes of parameters, which are passed on to those that watch them.
pub(super) fn subscribe_changes(shared: &Arc<Shared>) -> Option<Subscription> {
    let own = Arc::clone(shared);
    let pass = move |event: ParameterEvent| {
        let Some(server) = own.server.get() else { return };
        let watched = lock(&own.parameters);
        let mut changed = Vec::new();
        for parameter in event.new_parameters.into_iter().chain(event.changed_parameters) {
            let name = format!("{}.{}", event.node, parameter.name);
            if watched.contains(&name)
                && let Ok(value) = ParameterValue::try_from(parameter.value)
            {
                changed.push(shown(&name, &value));
            }
        }
        drop(watched);
        if !changed.is_empty() {
            server.publish_parameter_values(changed);
        }
    };
    let options = SubscriptionOptions::new("/parameter_events").keep_last(EVENTS_MAX);
    shared.node.create_subscription(options, pass).ok()
}

/// Returns a parameter as watchers see it.
fn shown(name: &str, value: &ParameterValue) -> Parameter {
    match value {
        ParameterValue::NotSet => Parameter::empty(name),
        ParameterValue::Bool(value) => Parameter::bool(name, *value),
        ParameterValue::Integer(value) => Parameter::integer(name, *value),
        ParameterValue::Double(value) => Parameter::float64(name, *value),
        ParameterValue::String(value) => Parameter::string(name, value),
        ParameterValue::ByteArray(value) => Parameter::byte_array(name, value),
        ParameterValue::IntegerArray(values) => Parameter::integer_array(name, values.iter().copied()),
        ParameterValue::DoubleArray(values) => Parameter::float64_array(name, values.iter().copied()),
        ParameterValue::BoolArray(values) => array(name, values.iter().map(|value| Shown::Bool(*value))),
        ParameterValue::StringArray(values) => array(name, values.iter().map(|value| Shown::String(value.clone()))),
    }
}

fn array(name: &str, values: impl Iterator<Item = Shown>) -> Parameter {
    Parameter { value: Some(Shown::Array(values.collect())), ..Parameter::empty(name) }
}

/// Returns the value that a watcher sets, of the kind that the parameter has: whole numbers are integers in JSON, also
/// where the parameter is a number with a fraction.
fn value_of(parameter: &Parameter, kind: Option<ParameterKind>) -> Result<ParameterValue, String> {
    if parameter.r#type == Some(ParameterType::ByteArray) {
        let bytes = parameter.decode_byte_array().map_err(|error| error.to_string())?;
        return Ok(bytes.map_or(ParameterValue::NotSet, ParameterValue::ByteArray));
    }
    let is_double = parameter.r#type == Some(ParameterType::Float64) || kind == Some(ParameterKind::Double);
    let are_doubles = parameter.r#type == Some(ParameterType::Float64Array) || kind == Some(ParameterKind::DoubleArray);
    match &parameter.value {
        None => Ok(ParameterValue::NotSet),
        Some(Shown::Bool(value)) => Ok(ParameterValue::Bool(*value)),
        Some(Shown::Integer(value)) if is_double => Ok(ParameterValue::Double(*value as f64)),
        Some(Shown::Integer(value)) => Ok(ParameterValue::Integer(*value)),
        Some(Shown::Float64(value)) if kind == Some(ParameterKind::Integer) && value.fract() == 0.0 => {
            Ok(ParameterValue::Integer(*value as i64))
        }
        Some(Shown::Float64(value)) => Ok(ParameterValue::Double(*value)),
        Some(Shown::String(value)) => Ok(ParameterValue::String(value.clone())),
        Some(Shown::Array(values)) => array_of(values, are_doubles, kind),
        Some(Shown::Dict(_)) => Err("a parameter of ROS 2 is no dictionary".to_owned()),
    }
}

fn array_of(values: &[Shown], are_doubles: bool, kind: Option<ParameterKind>) -> Result<ParameterValue, String> {
    let Some(first) = values.first() else {
        return Ok(match kind {
            Some(ParameterKind::BoolArray) => ParameterValue::BoolArray(Vec::new()),
            Some(ParameterKind::IntegerArray) => ParameterValue::IntegerArray(Vec::new()),
            Some(ParameterKind::StringArray) => ParameterValue::StringArray(Vec::new()),
            Some(ParameterKind::ByteArray) => ParameterValue::ByteArray(Vec::new()),
            _ => ParameterValue::DoubleArray(Vec::new()),
        });
    };
    let number = |value: &Shown| match value {
        Shown::Integer(value) => Some(*value as f64),
        Shown::Float64(value) => Some(*value),
        _ => None,
    };
    let integer = |value: &Shown| if let Shown::Integer(value) = value { Some(*value) } else { None };
    let truth = |value: &Shown| if let Shown::Bool(value) = value { Some(*value) } else { None };
    let text = |value: &Shown| if let Shown::String(value) = value { Some(value.clone()) } else { None };
    let found = match first {
        Shown::Integer(_) if !are_doubles => all(values, integer).map(ParameterValue::IntegerArray),
        Shown::Integer(_) | Shown::Float64(_) => all(values, number).map(ParameterValue::DoubleArray),
        Shown::Bool(_) => all(values, truth).map(ParameterValue::BoolArray),
        Shown::String(_) => all(values, text).map(ParameterValue::StringArray),
        Shown::Array(_) | Shown::Dict(_) => None,
    };
    found.ok_or_else(|| "the elements of its array are of several types".to_owned())
}

/// Returns the elements as one type, if all of them are of it.
fn all<T>(values: &[Shown], element: impl Fn(&Shown) -> Option<T>) -> Option<Vec<T>> {
    values.iter().map(element).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_as_they_went() {
        for value in [
            ParameterValue::Bool(true),
            ParameterValue::Integer(-7),
            ParameterValue::Double(2.0),
            ParameterValue::String("a".to_owned()),
            ParameterValue::ByteArray(vec![0, 255]),
            ParameterValue::BoolArray(vec![true, false]),
            ParameterValue::IntegerArray(vec![1, 2]),
            ParameterValue::DoubleArray(vec![1.0, 2.5]),
            ParameterValue::StringArray(vec!["a".to_owned()]),
        ] {
            assert_eq!(value_of(&shown("/a.b", &value), value.kind()), Ok(value));
        }
    }

    #[test]
    fn whole_numbers_are_what_the_parameter_is() {
        let whole = Parameter::integer("/a.b", 2);
        assert_eq!(value_of(&whole, Some(ParameterKind::Double)), Ok(ParameterValue::Double(2.0)));
        assert_eq!(value_of(&whole, None), Ok(ParameterValue::Integer(2)));
        let empty = array("/a.b", std::iter::empty());
        assert_eq!(value_of(&empty, Some(ParameterKind::BoolArray)), Ok(ParameterValue::BoolArray(Vec::new())));
    }

    #[test]
    fn parameters_are_named_by_their_node() {
        let names = ["/arm.gain", "/arm.pid.p", "gain", "/ns/leg.gain"].map(str::to_owned);
        let nodes = by_node(&names);
        assert_eq!(nodes["/arm"], ["gain", "pid.p"]);
        assert_eq!(nodes["/ns/leg"], ["gain"]);
        assert_eq!(nodes.len(), 2);
    }
}
