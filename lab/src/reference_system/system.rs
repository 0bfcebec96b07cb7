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

/// Runs the whole graph in virtual time, on one thread, first in, first out.
#[cfg(test)]
mod tests {
    use std::collections::{HashMap, VecDeque};

    use rospin_measure::stats::Summary;

    use super::super::kpi::Kpis;
    use super::*;

    struct Simulation {
        groups: Vec<Group>,
        /// Group and port of each callback that is ready, in the order in which they became ready.
        queue: VecDeque<(usize, Port)>,
        /// Samples that each subscription keeps.
        waiting: HashMap<(usize, Port), VecDeque<Arc<Message>>>,
        /// Next due time of each timer, with its group.
        due_ns: Vec<(u64, usize)>,
        now_ns: u64,
        /// Number of times that a node worked.
        crunched: u64,
    }

    impl Simulation {
        fn run(crunch_ns: u64, end_ns: u64) -> (Kpis, u64) {
            let recorder = Arc::new(Recorder::new());
            let groups = build(&recorder);
            let timers = groups.iter().enumerate().filter(|(_, g)| g.spec.period.is_some());
            let due_ns = timers.map(|(index, _)| (0, index)).collect();
            let mut simulation =
                Self { groups, queue: VecDeque::new(), waiting: HashMap::new(), due_ns, now_ns: 0, crunched: 0 };
            while simulation.now_ns < end_ns {
                simulation.step(crunch_ns);
            }
            (recorder.recording().kpis(end_ns), simulation.crunched)
        }

        fn step(&mut self, crunch_ns: u64) {
            for (due_ns, index) in &mut self.due_ns {
                if *due_ns <= self.now_ns {
                    *due_ns += self.groups[*index].spec.period.unwrap().as_nanos() as u64;
                    self.queue.push_back((*index, Port::Timer));
                }
            }
            let Some((index, port)) = self.queue.pop_front() else {
                self.now_ns = self.due_ns.iter().map(|(due_ns, _)| *due_ns).min().unwrap();
                return;
            };
            let message = match port {
                Port::Timer => None,
                Port::Input(_) => match self.waiting.get_mut(&(index, port)).unwrap().pop_front() {
                    // The sample was overwritten after it was announced.
                    None => return,
                    taken => taken,
                },
            };
            let (start_ns, mut work) = (self.now_ns, 0);
            let mut crunch = || work += 1;
            let activation = Activation { start_ns, due_ns: None, crunch: &mut crunch };
            let output = self.groups[index].run(port, message, activation);
            self.crunched += work;
            self.now_ns += work * crunch_ns;
            if let Some(message) = output {
                self.publish(index, Arc::new(message));
            }
        }

        fn publish(&mut self, from: usize, message: Arc<Message>) {
            let topic = self.groups[from].spec.output.unwrap();
            for (index, group) in self.groups.iter().enumerate() {
                for (input, _) in group.spec.inputs.iter().enumerate().filter(|(_, t)| **t == topic) {
                    let key = (index, Port::Input(input));
                    let waiting = self.waiting.entry(key).or_default();
                    if waiting.len() == group.spec.depth {
                        waiting.pop_front();
                    }
                    waiting.push_back(Arc::clone(&message));
                    self.queue.push_back(key);
                }
            }
        }
    }

    #[test]
    fn without_load_everything_arrives_and_nothing_waits() {
        let (kpis, crunched) = Simulation::run(10_000, 11_000_000_000);
        assert!(kpis.hot_path_latency_ms.len() >= 98, "{}", kpis.hot_path_latency_ms.len());
        // Alone on one thread the path has its own four nodes to wait for, the second transformer, and
        // at most what was released with it.
        let latency = Summary::of(kpis.hot_path_latency_ms.iter().copied()).unwrap();
        assert!(latency.min >= 0.04 && latency.max < 0.15, "{latency:?}");
        assert!(kpis.hot_path_drops.iter().all(|drops| *drops == 0));
        assert_eq!(kpis.missed_front_lidar, 0);
        assert!(kpis.front_lidar_counted >= 98);
        assert!(kpis.planner_periods.iter().all(|p| (p.period_ms - 100.0).abs() < 0.2));
        // The load that makes 5 ms of work just fit one core.
        let per_second = crunched as f64 / 11.0;
        assert!((per_second - 190.0).abs() < 4.0, "{per_second}");
    }

    #[test]
    fn overload_misses_lidar_samples_and_drops() {
        let (kpis, _) = Simulation::run(7_000_000, 21_000_000_000);
        assert!(kpis.missed_front_lidar > 0);
        assert!(kpis.hot_path_drops.iter().any(|drops| *drops > 0));
        let latency = Summary::of(kpis.hot_path_latency_ms.iter().copied()).unwrap();
        assert!(latency.mean > 100.0, "{latency:?}");
    }
}
