//! Definitions of the numbers in events, as JSON messages of the channel of names.

use std::time::Duration;

use rospin_core::EntityKind;
use rospin_core::recording::{Definition, Rules};
use rospin_scenario::deployment::names::is_of_executor;
use serde::{Deserialize, Serialize};

/// A message of the channel of names: the definition of a number that events use.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "define", rename_all = "snake_case")]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are those of `Definition`")]
pub enum Name {
    /// The process that was recorded, and its clocks.
    Process {
        /// The name of the program.
        name: String,
        /// The number of the process in the kernel.
        process: u32,
        /// The name of the machine.
        host: String,
        /// Time of the system clock minus that of the steady clock when the recording began, in nanoseconds.
        system_offset_ns: i64,
    },
    /// An executor.
    Executor { executor: u16, name: String, policy: String, threads: u16 },
    /// A thread.
    Thread { thread: u32, kernel_id: u32, name: String },
    /// An entity.
    Entity {
        executor: u16,
        entity: u64,
        account: u64,
        name: String,
        group: String,
        excludes: bool,
        kind: String,
        priority: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline_ns: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        period_ns: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none", with = "rules")]
        rules: Option<Rules>,
    },
    /// A queue of a subscription.
    Queue { queue: u64, account: u64, topic: String, depth: u64 },
    /// A chain of a monitor.
    Chain { chain: u32, name: String },
    /// A publisher of a node; its id in hexadecimal digits.
    Publisher { publisher: String, topic: String },
}

impl Name {
    /// Returns the definition as a message; `None` if it is of a kind that this version does not know.
    #[must_use]
    pub fn of(definition: &Definition) -> Option<Self> {
        let ns = |duration: &Option<Duration>| duration.and_then(|duration| u64::try_from(duration.as_nanos()).ok());
        Some(match definition.clone() {
            Definition::Executor { executor, name, policy, threads } => {
                Self::Executor { executor, name, policy, threads }
            }
            Definition::Thread { thread, kernel_id, name } => Self::Thread { thread, kernel_id, name },
            Definition::Entity {
                executor,
                entity,
                account,
                name,
                group,
                excludes,
                kind,
                priority,
                deadline,
                period,
                rules,
            } => Self::Entity {
                executor,
                entity,
                account,
                name,
                group,
                excludes,
                kind: kind.as_str().to_owned(),
                priority,
                deadline_ns: ns(&deadline),
                period_ns: ns(&period),
                rules,
            },
            Definition::Queue { queue, account, topic, depth } => Self::Queue { queue, account, topic, depth },
            Definition::Chain { chain, name } => Self::Chain { chain, name },
            Definition::Publisher { publisher, topic } => Self::Publisher { publisher: hexadecimal(&publisher), topic },
            _ => return None,
        })
    }

    /// Returns the definition of executors, threads, entities, queues and chains; `None` for other names.
    #[must_use]
    pub fn definition(&self) -> Option<Definition> {
        let duration = |ns: Option<u64>| ns.map(Duration::from_nanos);
        Some(match self.clone() {
            Self::Executor { executor, name, policy, threads } => {
                Definition::Executor { executor, name, policy, threads }
            }
            Self::Thread { thread, kernel_id, name } => Definition::Thread { thread, kernel_id, name },
            Self::Entity {
                executor,
                entity,
                account,
                name,
                group,
                excludes,
                kind,
                priority,
                deadline_ns,
                period_ns,
                rules,
            } => Definition::Entity {
                executor,
                entity,
                account,
                name,
                group,
                excludes,
                kind: kind_named(&kind),
                priority,
                deadline: duration(deadline_ns),
                period: duration(period_ns),
                rules,
            },
            Self::Queue { queue, account, topic, depth } => Definition::Queue { queue, account, topic, depth },
            Self::Chain { chain, name } => Definition::Chain { chain, name },
            Self::Process { .. } | Self::Publisher { .. } => return None,
        })
    }

    /// Returns the message as JSON.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        // Neither a map with other keys than text nor a failing writer is involved.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// Conversion of the rules of an entity to a list of five numbers in JSON, and back.
mod rules {
    use rospin_core::recording::Rules;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    // The signature is the one that serde asks for.
    #[expect(clippy::ref_option)]
    pub(super) fn serialize<S: Serializer>(rules: &Option<Rules>, serializer: S) -> Result<S::Ok, S::Error> {
        let numbers = rules.map(|Rules { group, registration, max_in_flight, frees_group, precedes_all }| {
            [group, registration, max_in_flight.into(), frees_group.into(), precedes_all.into()]
        });
        numbers.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Rules>, D::Error> {
        let numbers = Option::<[u64; 5]>::deserialize(deserializer)?;
        Ok(numbers.map(|[group, registration, max_in_flight, frees_group, precedes_all]| Rules {
            group,
            registration,
            max_in_flight: u32::try_from(max_in_flight).unwrap_or(u32::MAX),
            frees_group: frees_group != 0,
            precedes_all: precedes_all != 0,
        }))
    }
}

/// Returns the bytes as hexadecimal digits.
#[must_use]
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the name of a node's topic, which begins with `/`; `None` for other topics of the engine. The engine's topic
/// for a node's has the type of its messages behind the name, and perhaps `timed` and a number before it. Where a
/// recording has the topic of a publisher, it has the name alone.
#[must_use]
pub fn topic_of_node(recorded: &str) -> Option<&str> {
    let untimed = recorded.strip_prefix("timed ").and_then(|rest| rest.split_once(' '));
    let name = untimed.map_or(recorded, |(_, name)| name);
    let name = name.split_once(' ').map_or(name, |(name, _)| name);
    if name.starts_with('/') { Some(name) } else { None }
}

/// Services that rclcpp gives every node, and those of containers of components.
const OF_NODES: [&str; 12] = [
    "/get_type_description",
    "/get_logger_levels",
    "/set_logger_levels",
    "/describe_parameters",
    "/get_parameter_types",
    "/get_parameters",
    "/list_parameters",
    "/set_parameters",
    "/set_parameters_atomically",
    "/_container/load_node",
    "/_container/unload_node",
    "/_container/list_nodes",
];

/// Returns true if every node has the callback of this name and kind: those of its parameters and its log. Also if it
/// is an executor's own, or loads components. A client that calls such a service is not internal.
#[must_use]
pub fn is_internal(name: &str, kind: EntityKind) -> bool {
    let is_of_node = match kind {
        EntityKind::Service => OF_NODES.iter().any(|service| name.ends_with(service)),
        EntityKind::Subscription => name.ends_with("/parameter_events"),
        _ => false,
    };
    is_of_node || is_of_executor(name) || name.contains("/parameters/") || name.ends_with("/rosout/records")
}

/// Returns the kind of entity with that name; a waitable if the name is unknown.
#[must_use]
pub fn kind_named(name: &str) -> EntityKind {
    let kinds = [EntityKind::Timer, EntityKind::Subscription, EntityKind::Service, EntityKind::Client];
    kinds.into_iter().find(|kind| kind.as_str() == name).unwrap_or(EntityKind::Waitable)
}

/// JSON schema of the channel of names.
pub(crate) const SCHEMA: &str = r#"{
  "$schema": "http://json-schema.org/draft-07/schema#",
  "title": "rospin.Name",
  "description": "What the numbers in the events of a rospin recording stand for",
  "type": "object",
  "required": ["define"],
  "properties": {
    "define": {"enum": ["process", "executor", "thread", "entity", "queue", "publisher", "chain"]},
    "name": {"type": "string"}, "process": {"type": "integer"}, "host": {"type": "string"},
    "system_offset_ns": {"type": "integer"}, "executor": {"type": "integer"}, "policy": {"type": "string"},
    "threads": {"type": "integer"}, "thread": {"type": "integer"}, "kernel_id": {"type": "integer"},
    "entity": {"type": "integer"}, "account": {"type": "integer"}, "group": {"type": "string"},
    "excludes": {"type": "boolean"},
    "kind": {"enum": ["timer", "subscription", "service", "client", "waitable"]}, "priority": {"type": "integer"},
    "deadline_ns": {"type": "integer"}, "period_ns": {"type": "integer"}, "queue": {"type": "integer"},
    "rules": {"type": "array", "items": {"type": "integer"},
      "description": "group, registration, max_in_flight, frees_group, precedes_all"},
    "topic": {"type": "string"}, "depth": {"type": "integer"}, "publisher": {"type": "string"},
    "chain": {"type": "integer"}
  }
}"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_of_nodes_have_one_name_in_all_forms() {
        assert_eq!(topic_of_node("/scan std_msgs/msg/String TypeId(7) "), Some("/scan"));
        assert_eq!(topic_of_node("timed 3 /scan std_msgs/msg/String TypeId(7) "), Some("/scan"));
        assert_eq!(topic_of_node("/scan"), Some("/scan"));
        assert_eq!(topic_of_node("timed laps"), None);
        assert_eq!(topic_of_node("scan"), None);
    }

    #[test]
    fn callbacks_of_every_node_and_of_executors_are_internal() {
        for (name, kind) in [
            ("planner/parameters/set", EntityKind::Service),
            ("planner/rosout/records", EntityKind::Waitable),
            ("robot/planner/set_parameters", EntityKind::Service),
            ("planner/parameter_events", EntityKind::Subscription),
            ("_rospin/main", EntityKind::Waitable),
            ("ComponentManager/_container/load_node", EntityKind::Service),
        ] {
            assert!(is_internal(name, kind), "{name}");
        }
        for (name, kind) in [
            ("planner/scan", EntityKind::Subscription),
            ("rospin/scan", EntityKind::Subscription),
            ("planner/timer0", EntityKind::Timer),
            ("set_parameters", EntityKind::Service),
            ("tuner/planner/set_parameters", EntityKind::Client),
            ("planner/set_parameters", EntityKind::Subscription),
            ("depot/_container/full", EntityKind::Service),
        ] {
            assert!(!is_internal(name, kind), "{name}");
        }
    }
}
