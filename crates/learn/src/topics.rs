//! Topics of a recording. A topic has one name, whatever its processes and the forms of their messages call it.

use std::collections::{BTreeMap, BTreeSet};

use rospin_trace::Model;
use rospin_trace::names::topic_of_node;

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
            if topic_of_node(&queue.topic).is_none() {
                processes.entry(&queue.topic).or_default().insert(queue.process);
            }
        }
        let several = processes.into_iter().filter(|(_, processes)| processes.len() > 1);
        Self { ambiguous: several.map(|(name, _)| name.to_owned()).collect() }
    }

    /// Returns the topic that is called `recorded` in the recording of the process.
    pub(crate) fn topic(&self, recorded: &str, process: usize) -> Topic {
        let name = topic_of_node(recorded).unwrap_or(recorded).to_owned();
        let process = if self.ambiguous.contains(recorded) { Some(process) } else { None };
        Topic { name, process }
    }
}
