//! Topics of a recording. A topic has one name, whatever its processes and the forms of their messages call it.

use std::collections::{BTreeMap, BTreeSet};

use rospin_trace::Model;

/// A topic: its name, and its process if topics of the engine in several processes have this name. Such a topic does
/// not leave its process.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Topic {
    pub(crate) name: String,
    process: Option<usize>,
}

/// Translation from names of topics in recordings to the topics.
#[derive(Default)]
pub(crate) struct Topics {
    /// Names of the engine's topics that occur in several processes.
    ambiguous: BTreeSet<String>,
}

impl Topics {
    /// Collects the names that stand for several topics of a model.
    pub(crate) fn of(model: &Model) -> Self {
        let mut processes: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        for queue in &model.queues {
            if of_node(&queue.topic).is_none() {
                processes.entry(&queue.topic).or_default().insert(queue.process);
            }
        }
        let several = processes.into_iter().filter(|(_, processes)| processes.len() > 1);
        Self { ambiguous: several.map(|(name, _)| name.to_owned()).collect() }
    }

    /// Returns the topic that is called `recorded` in the recording of the process.
    pub(crate) fn topic(&self, recorded: &str, process: usize) -> Topic {
        let name = of_node(recorded).unwrap_or(recorded).to_owned();
        let process = if self.ambiguous.contains(recorded) { Some(process) } else { None };
        Topic { name, process }
    }
}

/// Returns the name of a node's topic, which begins with `/`; `None` for other topics of the engine. The engine's topic
/// for a node's has the type of its messages behind the name, and perhaps `timed` and a number before it. Where a
/// recording has the topic of a publisher, it has the name alone.
fn of_node(recorded: &str) -> Option<&str> {
    let untimed = recorded.strip_prefix("timed ").and_then(|rest| rest.split_once(' '));
    let name = untimed.map_or(recorded, |(_, name)| name);
    let name = name.split_once(' ').map_or(name, |(name, _)| name);
    if name.starts_with('/') { Some(name) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_of_nodes_have_one_name_in_all_forms() {
        assert_eq!(of_node("/scan std_msgs/msg/String TypeId(7) "), Some("/scan"));
        assert_eq!(of_node("timed 3 /scan std_msgs/msg/String TypeId(7) "), Some("/scan"));
        assert_eq!(of_node("/scan"), Some("/scan"));
        assert_eq!(of_node("timed laps"), None);
        assert_eq!(of_node("scan"), None);
    }
}
