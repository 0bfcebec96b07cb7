//! Behaviour of the nodes, as state machines without clock, thread or transport.
//!
//! A callback gets the time of its start and a function that burns processor time. It returns the message to publish,
//! if there is one.

use std::sync::Arc;

use super::graph::{GroupSpec, Kind, NODES, NodeIndex, Port};
use super::message::{Message, Stat};

/// Arguments of a callback besides its input.
pub(crate) struct Activation<'a> {
    /// Start of the callback in nanoseconds since the run began.
    pub(crate) start_ns: u64,
    /// Due time for which the timer fired, as that; `None` for a subscription.
    pub(crate) due_ns: Option<u64>,
    /// Function that burns the processor time that a node takes for its work.
    pub(crate) crunch: &'a mut dyn FnMut(),
}

/// Kind and state of one callback group of a node: of the whole node, or of one connection of an intersection.
#[derive(Debug)]
pub(crate) enum Node {
    /// Publishes when its timer runs, without work.
    Sensor(Output),
    /// Works on every sample and publishes the result: a transform, or one connection of an intersection.
    Transform(Input, Output),
    /// Works and publishes once it has a sample of each of its two inputs.
    Fusion([Input; 2], Output),
    /// Keeps the newest sample of each input until its timer runs, then works and publishes.
    Cyclic(Vec<Input>, Output),
    /// Takes samples and publishes nothing.
    Command,
}

impl Node {
    /// Returns the state of a group before its first callback.
    pub(crate) fn new(group: &GroupSpec) -> Self {
        let output = Output { node: group.node, sequence: 0 };
        match &NODES[usize::from(group.node)].kind {
            Kind::Sensor { .. } => Self::Sensor(output),
            Kind::Transform { .. } | Kind::Intersection { .. } => Self::Transform(Input::default(), output),
            Kind::Fusion { .. } => Self::Fusion(Default::default(), output),
            Kind::Cyclic { inputs, .. } => Self::Cyclic(inputs.iter().map(|_| Input::default()).collect(), output),
            Kind::Command { .. } => Self::Command,
        }
    }

    /// Runs the timer callback. Returns the message to publish; `None` if the node has no timer.
    pub(crate) fn on_timer(&mut self, activation: Activation<'_>) -> Option<Message> {
        match self {
            Self::Sensor(output) => Some(output.publish(activation.start_ns, [])),
            Self::Cyclic(inputs, output) => {
                (activation.crunch)();
                Some(output.publish(activation.start_ns, inputs))
            }
            Self::Transform(..) | Self::Fusion(..) | Self::Command => None,
        }
    }

    /// Runs the callback of subscription `index`. Returns the message to publish; `None` if the sample is only stored
    /// or recorded.
    pub(crate) fn on_input(
        &mut self,
        index: usize,
        message: Arc<Message>,
        activation: Activation<'_>,
    ) -> Option<Message> {
        match self {
            Self::Transform(input, output) => {
                input.cache = Some(message);
                (activation.crunch)();
                Some(output.publish(activation.start_ns, [input]))
            }
            Self::Fusion(inputs, output) => {
                inputs[index].cache = Some(message);
                if inputs.iter().any(|input| input.cache.is_none()) {
                    return None;
                }
                (activation.crunch)();
                Some(output.publish(activation.start_ns, inputs))
            }
            Self::Cyclic(inputs, _) => {
                inputs[index].cache = Some(message);
                None
            }
            Self::Sensor(_) | Self::Command => None,
        }
    }

    /// Runs the callback of `port`. `message` is the sample that its subscription took; `None` for a timer. Returns the
    /// message to publish, if there is one. Does nothing for a subscription without a sample.
    pub(crate) fn run(
        &mut self,
        port: Port,
        message: Option<Arc<Message>>,
        activation: Activation<'_>,
    ) -> Option<Message> {
        match (port, message) {
            (Port::Timer, _) => self.on_timer(activation),
            (Port::Input(index), Some(message)) => self.on_input(index, message, activation),
            (Port::Input(_), None) => None,
        }
    }
}

/// State of one subscription.
#[derive(Debug, Default)]
pub(crate) struct Input {
    /// Number of the last sample that was used; `None` before the first one.
    last_sequence: Option<u32>,
    /// Newest sample that waits for use.
    cache: Option<Arc<Message>>,
}

impl Input {
    /// Returns the number of samples between the last one that was used and `message`, and notes that `message` is used
    /// now.
    fn missed(&mut self, message: &Message) -> u32 {
        let sequence = message.last().map_or(0, |stat| stat.sequence);
        let expected = self.last_sequence.map_or(0, |last| last.saturating_add(1));
        self.last_sequence = Some(sequence);
        sequence.saturating_sub(expected)
    }
}

/// One publisher: its node, and the number of samples that it has published.
#[derive(Debug)]
pub(crate) struct Output {
    node: NodeIndex,
    sequence: u32,
}

impl Output {
    /// Returns the next sample to publish: the histories of all samples that wait in `inputs`, then a record of this
    /// node. Takes those samples out.
    fn publish<'a>(&mut self, start_ns: u64, inputs: impl IntoIterator<Item = &'a mut Input>) -> Message {
        let mut message = Message::new();
        let mut dropped = 0;
        for input in inputs {
            if let Some(cached) = input.cache.take() {
                dropped += input.missed(&cached);
                message.merge_history(&cached);
            }
        }
        message.set_sample(Stat { timestamp_ns: start_ns, sequence: self.sequence, dropped, node: self.node });
        self.sequence += 1;
        message
    }
}

#[cfg(test)]
mod tests {
    use super::super::graph::{groups, index_of};
    use super::*;

    fn node(group: &str) -> Node {
        Node::new(groups().iter().find(|spec| spec.name == group).unwrap())
    }

    fn sample(name: &str, sequence: u32) -> Arc<Message> {
        let mut message = Message::new();
        message.set_sample(Stat { node: index_of(name), sequence, ..Stat::default() });
        Arc::new(message)
    }

    /// Runs a callback; returns what it published and how often it crunched.
    fn run(node: &mut Node, port: Port, message: Option<Arc<Message>>) -> (Option<Message>, u32) {
        let mut crunched = 0;
        let mut crunch = || crunched += 1;
        let out = node.run(port, message, Activation { start_ns: 42, due_ns: None, crunch: &mut crunch });
        (out, crunched)
    }

    fn dropped(out: &Option<Message>) -> u32 {
        out.as_ref().unwrap().last().unwrap().dropped
    }

    #[test]
    fn sensor_publishes_without_work() {
        let mut sensor = node("FrontLidarDriver");
        for sequence in 0..3 {
            let (out, crunched) = run(&mut sensor, Port::Timer, None);
            let stat = *out.unwrap().last().unwrap();
            assert_eq!((stat.sequence, stat.timestamp_ns, stat.dropped), (sequence, 42, 0));
            assert_eq!(crunched, 0);
        }
    }

    #[test]
    fn transform_works_on_every_sample_and_counts_gaps() {
        let mut transform = node("PointsTransformerFront");
        let mut take = |sequence| run(&mut transform, Port::Input(0), Some(sample("FrontLidarDriver", sequence)));
        let (out, crunched) = take(0);
        assert_eq!((dropped(&out), crunched), (0, 1));
        let out = out.unwrap();
        assert_eq!(out.stats().len(), 2);
        assert_eq!(out.last().unwrap().node, index_of("PointsTransformerFront"));
        assert_eq!(dropped(&take(1).0), 0);
        assert_eq!(dropped(&take(5).0), 3);
        assert_eq!(dropped(&take(6).0), 0);
    }

    #[test]
    fn first_sample_counts_what_came_before_it() {
        let mut transform = node("PointsTransformerFront");
        let first = Some(sample("FrontLidarDriver", 2));
        assert_eq!(dropped(&run(&mut transform, Port::Input(0), first).0), 2);
    }

    #[test]
    fn fusion_waits_for_both_and_starts_over() {
        let mut fusion = node("PointCloudFusion");
        let front = |sequence| Some(sample("PointsTransformerFront", sequence));
        let rear = |sequence| Some(sample("PointsTransformerRear", sequence));
        let (out, crunched) = run(&mut fusion, Port::Input(0), front(0));
        assert!(out.is_none() && crunched == 0);
        let (out, crunched) = run(&mut fusion, Port::Input(1), rear(0));
        assert_eq!((dropped(&out), crunched), (0, 1));
        assert_eq!(out.unwrap().stats().len(), 3);
        // Both caches are empty again. A sample that is overwritten while it waits is dropped.
        assert!(run(&mut fusion, Port::Input(1), rear(1)).0.is_none());
        assert!(run(&mut fusion, Port::Input(1), rear(2)).0.is_none());
        assert_eq!(dropped(&run(&mut fusion, Port::Input(0), front(1)).0), 1);
    }

    #[test]
    fn cyclic_collects_until_its_timer_runs() {
        let mut planner = node("BehaviorPlanner");
        let input = Some(sample("ObjectCollisionEstimator", 0));
        let (out, crunched) = run(&mut planner, Port::Input(0), input);
        assert!(out.is_none() && crunched == 0);
        let (out, crunched) = run(&mut planner, Port::Timer, None);
        assert_eq!((out.unwrap().stats().len(), crunched), (2, 1));
        // The published samples are removed, and the timer publishes nevertheless.
        let (out, _) = run(&mut planner, Port::Timer, None);
        assert_eq!(out.unwrap().stats().len(), 1);
        let input = Some(sample("ObjectCollisionEstimator", 3));
        run(&mut planner, Port::Input(0), input);
        assert_eq!(dropped(&run(&mut planner, Port::Timer, None).0), 2);
    }

    #[test]
    fn connections_of_the_intersection_are_independent() {
        let mut detector = node("EuclideanClusterDetector");
        let mut settings = node("EuclideanIntersection");
        let filtered = Some(sample("RayGroundFilter", 0));
        let (out, crunched) = run(&mut detector, Port::Input(0), filtered.clone());
        assert_eq!((out.unwrap().last().unwrap().sequence, crunched), (0, 1));
        run(&mut detector, Port::Input(0), filtered);
        let input = Some(sample("EuclideanClusterSettings", 0));
        let (out, _) = run(&mut settings, Port::Input(0), input);
        let last = *out.unwrap().last().unwrap();
        assert_eq!((last.sequence, last.node), (0, index_of("EuclideanClusterDetector")));
    }

    #[test]
    fn command_neither_works_nor_publishes() {
        let mut command = node("VehicleDBWSystem");
        let input = Some(sample("VehicleInterface", 0));
        let (out, crunched) = run(&mut command, Port::Input(0), input);
        assert!(out.is_none() && crunched == 0);
    }
}
