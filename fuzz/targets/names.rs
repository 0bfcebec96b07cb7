//! Names of nodes, topics and types are accepted or refused. A resolved name resolves to itself, also under remapping.
//!
//! The input has a line each for namespace, name, topic, another topic and a type.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use rospin_engine::{Context, ContextOptions};
use rospin_node::{NodeName, NodeOptions, Ros, TypeName};

static ROS: LazyLock<Ros> = LazyLock::new(|| Ros::in_process(&Context::new(ContextOptions::new())));

fuzz_target!(|text: &str| {
    let mut lines = text.split('\n');
    let [namespace, name, topic, other, type_name] = std::array::from_fn(|_| lines.next().unwrap_or_default());
    if let Ok(read) = TypeName::new(type_name) {
        assert_eq!(read.to_string(), type_name);
    }
    let Ok(node_name) = NodeName::new(namespace, name) else {
        assert!(ROS.create_node(NodeOptions::new(name).namespace(namespace)).is_err());
        return;
    };
    assert!(node_name.to_string().ends_with(&format!("/{name}")));
    let resolved = [topic, other].map(|topic| node_name.resolve(topic));
    for full in resolved.iter().flatten() {
        assert!(full.as_str().starts_with('/') && !full.as_str().ends_with('/'));
        assert_eq!(node_name.resolve(full.as_str()).as_ref(), Ok(full));
    }
    let options = NodeOptions::new(name).namespace(namespace).remap(topic, other);
    match (ROS.create_node(options), &resolved) {
        (Ok(node), [Ok(from), Ok(to)]) => {
            assert_eq!(
                (node.resolve_topic(topic).as_ref(), node.resolve_topic(from.as_str()).as_ref()),
                (Ok(to), Ok(to))
            );
        }
        (Err(_), [Err(_), _] | [_, Err(_)]) => {}
        (node, _) => panic!("{:?}", node.err()),
    }
});
