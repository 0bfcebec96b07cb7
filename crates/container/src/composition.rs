//! The services by which other programs load and unload components, as rclcpp's `ComponentManager` has them.

use std::sync::{Arc, Weak};

use rospin_engine::{ExecutorHandle, GroupOptions};
use rospin_msgs::composition_interfaces::srv::{
    ListNodesRequest, ListNodesResponse, LoadNodeRequest, LoadNodeResponse, UnloadNodeRequest, UnloadNodeResponse,
};
use rospin_node::interfaces::rcl_interfaces::Parameter;
use rospin_node::{Node, NodeName, NodeOptions, ParameterSetting, ParameterValue, Ros, Service, ServiceError};

use crate::components::Components;
use crate::library::{self, Opened};
use crate::loaded::{LoadError, Loaded, NewComponent};

/// Reason of requests to a container that has ended.
const GONE: &str = "the container has ended";

/// Gives the node the services.
pub(crate) fn serve(
    node: &Node,
    executor: &ExecutorHandle,
    components: &Components,
    ros: &Ros,
    loaded: &Arc<Loaded>,
) -> Result<[Service; 3], ServiceError> {
    let group = executor.create_group(GroupOptions::new("components").node(node.fully_qualified_name()), ());
    let on = node.on(&group);
    // The callbacks are on an executor that belongs to the container, so they do not keep it alive.
    let loads = Arc::downgrade(loaded);
    let unloads = Arc::downgrade(loaded);
    let lists = Arc::downgrade(loaded);
    let components = components.clone();
    let ros = ros.clone();
    let load = on.create_service("~/_container/load_node", move |request: LoadNodeRequest| {
        answer_load(&components, &ros, &loads, request)
    })?;
    let unload = on.create_service("~/_container/unload_node", move |request: UnloadNodeRequest| {
        answer_unload(&unloads, &request)
    })?;
    let list = on.create_service("~/_container/list_nodes", move |_: ListNodesRequest| {
        let components = lists.upgrade().map(|loaded| loaded.list()).unwrap_or_default();
        let (unique_ids, full_node_names) = components.into_iter().unzip();
        ListNodesResponse { full_node_names, unique_ids }
    })?;
    Ok([load, unload, list])
}

/// Answers a request to load a component.
pub(crate) fn answer_load(
    components: &Components,
    ros: &Ros,
    loaded: &Weak<Loaded>,
    request: LoadNodeRequest,
) -> LoadNodeResponse {
    let package = request.package_name.clone();
    let plugin = request.plugin_name.clone();
    match load(components, ros, loaded, request) {
        Ok((unique_id, full_node_name)) => {
            LoadNodeResponse { success: true, error_message: String::new(), full_node_name, unique_id }
        }
        Err(error_message) => {
            log::error!(
                target: "rospin",
                "component `{plugin}` of package `{package}` was not loaded: {error_message}"
            );
            LoadNodeResponse { error_message, ..LoadNodeResponse::default() }
        }
    }
}

/// Loads a component. The error is the reason for the program that asks.
fn load(
    components: &Components,
    ros: &Ros,
    loaded: &Weak<Loaded>,
    request: LoadNodeRequest,
) -> Result<(u64, String), String> {
    let package = &request.package_name;
    let plugin = &request.plugin_name;
    let found = components.maker(&format!("{package}/{plugin}")).or_else(|| components.maker(plugin));
    let Some(make) = found else { return load_from_library(components, loaded, &request) };
    if request.log_level != 0 {
        log::warn!(
            target: "rospin",
            "the log level of a component is that of the program; {} is not used",
            request.log_level
        );
    }
    let new = component_of(ros, request)?;
    let loaded = loaded.upgrade().ok_or(GONE)?;
    loaded
        .load(make, ros, new)
        .map_err(|LoadError(reason)| format!("Component constructor threw an exception: {reason}"))
}

/// Loads a component of a shared library. The error is the reason for the program that asks.
fn load_from_library(
    components: &Components,
    loaded: &Weak<Loaded>,
    request: &LoadNodeRequest,
) -> Result<(u64, String), String> {
    let plugin = &request.plugin_name;
    let missing = |reason: &str| format!("Failed to find class with the requested plugin name: {reason}");
    let loaded = loaded.upgrade().ok_or(GONE)?;
    let found = library::find(components.prefixes(), &request.package_name, plugin);
    let file = found.map_err(|reason| missing(&reason))?.ok_or_else(|| {
        missing(&format!("the program has no component `{plugin}`; known are: {}", components.known()))
    })?;
    let library = Opened::open(&file, loaded.ending()).map_err(|reason| missing(&reason))?;
    let (node, component) = library.load(request)?;
    Ok((loaded.adopt(node.clone(), Box::new(component)), node))
}

fn answer_unload(loaded: &Weak<Loaded>, request: &UnloadNodeRequest) -> UnloadNodeResponse {
    let id = request.unique_id;
    if loaded.upgrade().is_some_and(|loaded| loaded.unload(id)) {
        return UnloadNodeResponse { success: true, error_message: String::new() };
    }
    UnloadNodeResponse { success: false, error_message: format!("No node found with unique_id: {id}") }
}

/// Returns the component that a request describes. The error is the reason for the program that asks.
fn component_of(ros: &Ros, request: LoadNodeRequest) -> Result<NewComponent, String> {
    let node_name = match request.node_name.as_str() {
        "" => default_name(&request.plugin_name),
        name => name.to_owned(),
    };
    let namespace = if request.node_namespace.is_empty() { "/" } else { &request.node_namespace };
    let mut options = NodeOptions::new(&node_name).namespace(namespace);
    for rule in &request.remap_rules {
        options = options.remap_rule(rule).map_err(|error| error.to_string())?;
    }
    for parameter in request.parameters {
        let ParameterSetting { name, value } = setting(parameter)?;
        if value == ParameterValue::NotSet {
            return Err(format!("parameter `{name}` has no value; leave it out for its default"));
        }
        options = options.parameter_override(name, value);
    }
    let mut executor = None;
    let mut forwards = false;
    for argument in request.extra_arguments {
        let ParameterSetting { name, value } = setting(argument)?;
        match (name.as_str(), value) {
            ("forward_global_arguments", ParameterValue::Bool(yes)) => forwards = yes,
            // Messages in one process are always shared.
            ("use_intra_process_comms", ParameterValue::Bool(_)) => {}
            ("executor", ParameterValue::String(name)) if !name.is_empty() => executor = Some(name),
            ("forward_global_arguments" | "use_intra_process_comms", _) => {
                return Err(format!("Extra component argument '{name}' must be a boolean"));
            }
            ("executor", _) => return Err("Extra component argument 'executor' must be the name of one".to_owned()),
            _ => {
                return Err(format!(
                    "there is no extra argument `{name}`; known are `executor`, `forward_global_arguments` and \
                     `use_intra_process_comms`"
                ));
            }
        }
    }
    let options = options.use_global_arguments(forwards);
    let name: NodeName = ros.name_of_node(options.clone()).map_err(|error| error.to_string())?;
    let executor = executor.unwrap_or_else(|| name.base_name().to_owned());
    Ok(NewComponent { name, options, executor })
}

fn setting(parameter: Parameter) -> Result<ParameterSetting, String> {
    let name = parameter.name.clone();
    ParameterSetting::try_from(parameter).map_err(|error| format!("parameter `{name}`: {error}"))
}

/// Returns the name of a component's node unless the request has one: the last word of its type in lower case, with
/// underscores between its words.
fn default_name(plugin: &str) -> String {
    let last = plugin.rsplit([':', '/', '.']).next().unwrap_or_default();
    let mut name = String::new();
    let mut was_lower = false;
    for char in last.chars() {
        if char.is_uppercase() && was_lower {
            name.push('_');
        }
        was_lower = char.is_lowercase() || char.is_numeric();
        name.extend(char.to_lowercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_called_after_their_types() {
        let names = ["demo::Talker", "demo::LongTalker", "composition/Talker2D", "listener", "demo::IMU"];
        assert_eq!(names.map(default_name), ["talker", "long_talker", "talker2_d", "listener", "imu"]);
    }
}
