//! The callback groups of the graph with their states, for any executor.

use std::sync::Arc;

use super::graph::{self, GroupSpec, Port};
use super::kpi::Recorder;
use super::message::Message;
use super::node::{Activation, Node};

/// One callback group: its description in the graph, its state, and the recorder of its messages.
#[derive(Debug)]
pub(crate) struct Group {
    /// The group's description in the graph.
    pub(crate) spec: GroupSpec,
    node: Node,
    recorder: Arc<Recorder>,
}

/// Returns all groups in order of registration. They report to `recorder`.
pub(crate) fn build(recorder: &Arc<Recorder>) -> Vec<Group> {
    let groups = graph::groups().into_iter();
    groups.map(|spec| Group { node: Node::new(&spec), spec, recorder: Arc::clone(recorder) }).collect()
}

impl Group {
    /// Runs the callback of `port` and returns the message to publish on the group's output, if there is one.
    ///
    /// `message` is the sample that the subscription took; `None` for a timer.
    pub(crate) fn run(
        &mut self,
        port: Port,
        message: Option<Arc<Message>>,
        activation: Activation<'_>,
    ) -> Option<Message> {
        if self.spec.output.is_none()
            && let Some(message) = &message
        {
            self.recorder.commanded(message);
        }
        let due_ns = activation.due_ns;
        let output = self.node.run(port, message, activation);
        if let Some(output) = &output {
            self.recorder.published(output);
            if let Some(due_ns) = due_ns {
                self.recorder.was_due(output, due_ns);
            }
        }
        output
    }
}
