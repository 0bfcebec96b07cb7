//! The graph of the robot's nodes, as watchers see it: who publishes, hears and serves what.

use std::collections::{BTreeMap, BTreeSet};

use foxglove::websocket::ConnectionGraph;
use rospin::Node;
use rospin::graph::Endpoint;

use super::choice::Choice;

/// Names of topics or services, with the nodes that have them.
type Nodes = BTreeMap<String, BTreeSet<String>>;

/// Adds the nodes of these ends.
fn add(nodes: &mut Nodes, ends: Vec<Endpoint>) {
    for end in ends {
        if let Some(node) = end.node {
            nodes.entry(end.name).or_default().insert(node);
        }
    }
}

/// Returns the graph that a node sees.
pub(super) fn of_node(node: &Node, choice: &Choice) -> ConnectionGraph {
    let mut published = Nodes::new();
    let mut subscribed = Nodes::new();
    let mut served = Nodes::new();
    add(&mut published, node.publishers_info());
    for topic in node.topic_names_and_types().keys() {
        add(&mut subscribed, node.subscriptions_info_by_topic(topic).unwrap_or_default());
    }
    for service in node.service_names_and_types().keys() {
        add(&mut served, node.servers_info_by_service(service).unwrap_or_default());
    }
    let mut graph = ConnectionGraph::new();
    for (topic, nodes) in published.into_iter().filter(|(topic, _)| choice.takes_topic(topic)) {
        graph.set_published_topic(topic, nodes);
    }
    for (topic, nodes) in subscribed.into_iter().filter(|(topic, _)| choice.takes_topic(topic)) {
        graph.set_subscribed_topic(topic, nodes);
    }
    for (service, nodes) in served.into_iter().filter(|(service, _)| choice.takes_service(service)) {
        graph.set_advertised_service(service, nodes);
    }
    graph
}
