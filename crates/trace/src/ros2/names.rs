//! Names of callbacks, as nodes of rospin have them: `NODE/TOPIC`.

/// The services that rclcpp gives every node for its parameters.
const OF_PARAMETERS: [&str; 6] = [
    "describe_parameters",
    "get_parameter_types",
    "get_parameters",
    "list_parameters",
    "set_parameters",
    "set_parameters_atomically",
];

/// The topic on which nodes publish changes of their parameters.
pub(super) const PARAMETER_EVENTS: &str = "/parameter_events";
/// The topic of logs.
pub(super) const ROSOUT: &str = "/rosout";

/// Returns the name of a node with its namespace, such as `/robot/arm`.
pub(super) fn node_name(name: &str, namespace: &str) -> String {
    format!("{}/{name}", namespace.trim_end_matches('/'))
}

/// Returns the name of the callback that a node has for a topic or service: `NODE/TOPIC` without leading slash, as
/// `arm/joints` for `/joints` in `/arm`. What lies in the node's own namespace is shortened: `/arm/state` is
/// `arm/state`, and `/robot/joints` in `/robot/arm` is `robot/arm/joints`. The services of parameters are
/// `NODE/parameters/SERVICE`.
#[must_use]
pub fn callback_name(node: &str, topic: &str) -> String {
    let namespace = node.rsplit_once('/').map_or("", |(namespace, _)| namespace);
    let within = |prefix: &str| topic.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('/'));
    let own = within(node).filter(|_| !node.is_empty());
    let short = own.or_else(|| within(namespace)).unwrap_or_else(|| topic.trim_start_matches('/'));
    let is_of_parameters = own.is_some_and(|own| OF_PARAMETERS.contains(&own)) || topic == PARAMETER_EVENTS;
    let short = if topic == PARAMETER_EVENTS { "parameter_events" } else { short };
    let between = if is_of_parameters { "parameters/" } else { "" };
    format!("{}/{between}{short}", node.trim_start_matches('/'))
}

/// Returns the symbol of a function in C++ without its arguments and those of templates.
pub(super) fn short_symbol(symbol: &str) -> String {
    let mut depth = 0_usize;
    let mut short = String::new();
    for c in symbol.chars() {
        match c {
            '(' | '<' => depth += 1,
            ')' | '>' => depth = depth.saturating_sub(1),
            c if depth == 0 => short.push(c),
            _ => {}
        }
    }
    short.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callbacks_have_the_names_that_nodes_of_rospin_would_give_them() {
        for (node, topic, name) in [
            ("/arm", "/joints", "arm/joints"),
            ("/arm", "/arm/state", "arm/state"),
            ("/robot/arm", "/robot/joints", "robot/arm/joints"),
            ("/robot/arm", "/path", "robot/arm/path"),
            ("/robot/arm", "/other/path", "robot/arm/other/path"),
            ("/arm", "/arm/get_parameters", "arm/parameters/get_parameters"),
            ("/arm", "/get_parameters", "arm/get_parameters"),
            ("/robot/arm", "/parameter_events", "robot/arm/parameters/parameter_events"),
            ("", "/joints", "/joints"),
        ] {
            assert_eq!(callback_name(node, topic), name);
        }
        assert_eq!([node_name("arm", "/"), node_name("arm", "/robot")], ["/arm", "/robot/arm"]);
    }

    #[test]
    fn symbols_lose_their_arguments() {
        assert_eq!(short_symbol("Arm::Arm(Options<int> const&)::{lambda(Msg<A<B> >)#1}"), "Arm::Arm::{lambda#1}");
        assert_eq!(short_symbol(")) x"), "x");
    }
}
