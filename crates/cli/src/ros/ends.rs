//! All ends of the graph: publishers, subscriptions, servers and clients.

use std::collections::{BTreeMap, BTreeSet};

use rospin::graph::{Endpoint, EndpointKind};

use super::Session;

/// Names of topics, services or actions with their types.
pub(crate) type Names = BTreeMap<String, BTreeSet<String>>;

/// The additions of an action's topic of feedback to the action's name and to its type.
const FEEDBACK: (&str, &str) = ("/_action/feedback", "_FeedbackMessage");

/// Returns all ends that are known. Names that no node of rospin could have are left out.
pub(crate) fn all(session: &Session) -> Vec<Endpoint> {
    let node = session.node();
    let mut ends = Vec::new();
    for topic in node.topic_names_and_types().keys() {
        ends.extend(node.publishers_info_by_topic(topic).unwrap_or_default());
        ends.extend(node.subscriptions_info_by_topic(topic).unwrap_or_default());
    }
    for service in node.service_names_and_types().keys() {
        ends.extend(node.servers_info_by_service(service).unwrap_or_default());
        ends.extend(node.clients_info_by_service(service).unwrap_or_default());
    }
    ends
}

/// Returns the names that ends of that kind have, of the node of that name.
pub(crate) fn of_node(ends: &[Endpoint], kind: EndpointKind, node: &str) -> Names {
    let mut names = Names::new();
    for end in ends {
        if end.kind == kind && end.node.as_deref() == Some(node) {
            names.entry(end.name.clone()).or_default().insert(end.type_name.clone());
        }
    }
    names
}

/// Returns the actions among topics: each has a topic for its feedback.
pub(crate) fn actions(topics: &Names) -> Names {
    let mut actions = Names::new();
    for (topic, types) in topics {
        let Some(action) = topic.strip_suffix(FEEDBACK.0) else { continue };
        let entry = actions.entry(action.to_owned()).or_default();
        entry.extend(types.iter().filter_map(|of| of.strip_suffix(FEEDBACK.1)).map(str::to_owned));
    }
    actions
}

/// Returns the nodes that have ends of that kind for the feedback of an action, with its types: servers publish it,
/// clients subscribe to it.
pub(crate) fn nodes_of_action(ends: &[Endpoint], kind: EndpointKind, action: &str) -> Names {
    let topic = format!("{action}{}", FEEDBACK.0);
    let mut nodes = Names::new();
    for end in ends {
        if end.kind == kind && end.name == topic {
            let node = end.node.clone().unwrap_or_else(|| "_NODE_NAME_UNKNOWN_".to_owned());
            let of = end.type_name.strip_suffix(FEEDBACK.1).unwrap_or(&end.type_name);
            nodes.entry(node).or_default().insert(of.to_owned());
        }
    }
    nodes
}
