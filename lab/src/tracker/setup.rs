//! The tracker as a scenario, which the engine and the simulator run.
//!
//! Each robot sends its state as a message, and subscriptions of the tracker take it. A timer's callback, the "list",
//! sends the list of all robots. The experiment measures its period.

use std::time::Duration;

use rospin_engine::EntityKind;
use rospin_scenario::{Callback, ExecutionTime, Executor, Group, Pattern, Release, Scenario};

/// Period at which the list should be sent.
pub(crate) const PERIOD: Duration = Duration::from_millis(1);
/// Period at which each robot sends its state. It is that of the list, so that every topic of an overloaded tracker
/// always has a message: the paper's periods follow from that. The paper does not give this period.
pub(crate) const ROBOT_PERIOD: Duration = PERIOD;
/// Index of the timer that sends the list, among the scenario's callbacks.
pub(crate) const LIST: usize = 0;

/// Contender of the experiment: a policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Contender {
    /// The policy's name.
    pub(crate) policy: &'static str,
    /// Description of the policy.
    pub(crate) about: &'static str,
}

/// All contenders, in the order of the tables.
pub(crate) const CONTENDERS: [Contender; 3] = [
    Contender {
        policy: "wait-set-e2",
        about: "rclcpp from Eloquent to Humble: the timer waits for the next ready set",
    },
    Contender { policy: "fifo", about: "rospin, first in, first out: the timer waits for older messages" },
    Contender { policy: "fixed-priority", about: "rospin, timer more urgent: it waits for the running callback only" },
];

/// Number of robots that share a topic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PerTopic {
    /// This number of robots shares a topic.
    Robots(usize),
    /// All robots share one topic.
    All,
}

impl PerTopic {
    /// The numbers in the order of the rows of the paper's Table VI.
    pub(crate) const ROWS: [Self; 5] = [Self::Robots(1), Self::Robots(2), Self::Robots(5), Self::Robots(10), Self::All];

    /// Returns the number of robots that share a topic if there are `robots` of them.
    pub(crate) const fn of(self, robots: usize) -> usize {
        match self {
            Self::Robots(count) => count,
            Self::All => robots,
        }
    }

    /// Returns the number as text, as the paper's table has it.
    pub(crate) fn label(self) -> String {
        match self {
            Self::Robots(count) => count.to_string(),
            Self::All => "all".to_owned(),
        }
    }
}

/// Cell of a table: a number of robots, and the number of them that share a topic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cell {
    pub(crate) robots: usize,
    pub(crate) per_topic: PerTopic,
}

impl Cell {
    /// Returns the number of topics.
    pub(crate) fn topics(self) -> usize {
        self.robots.div_ceil(self.per_topic.of(self.robots))
    }

    /// Returns the paper's mean period in ms; `None` for a number of robots or a row that the paper does not have. The
    /// paper's cell for 10 robots on one topic is empty; the text says that 10 robots are always on time.
    pub(crate) fn paper_ms(self) -> Option<f64> {
        const ROBOTS: [usize; 4] = [10, 30, 50, 70];
        const PERIODS_MS: [[f64; 4]; 5] = [
            [1.0, 1.14, 2.16, 4.18],
            [1.0, 1.0, 1.78, 3.08],
            [1.0, 1.0, 1.42, 2.92],
            [1.0, 1.0, 1.32, 2.78],
            [1.0, 1.0, 1.27, 2.26],
        ];
        let row = PerTopic::ROWS.iter().position(|row| *row == self.per_topic)?;
        let column = ROBOTS.iter().position(|robots| *robots == self.robots)?;
        Some(PERIODS_MS[row][column])
    }
}

/// Execution times of callbacks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Times {
    /// Time for a robot's message.
    pub(crate) message: Duration,
    /// Time for the list of all robots.
    pub(crate) list: Duration,
}

impl Times {
    /// Returns the share of a core that the list alone needs.
    pub(crate) fn list_utilization(self) -> f64 {
        self.list.as_secs_f64() / PERIOD.as_secs_f64()
    }

    /// Returns the share of a core that the list and all messages need together.
    pub(crate) fn utilization(self, robots: usize) -> f64 {
        self.list_utilization() + robots as f64 * self.message.as_secs_f64() / ROBOT_PERIOD.as_secs_f64()
    }

    /// Returns the longest time between two lists if every topic always has messages: that of a list and of the
    /// messages that the policy runs between two lists, and at least the period.
    pub(crate) fn round(self, contender: Contender, cell: Cell) -> Duration {
        let messages = match contender.policy {
            "fixed-priority" => 1,
            "fifo" => cell.robots,
            _ => cell.topics(),
        };
        PERIOD.max(self.list + self.message * messages as u32)
    }
}

/// Returns the tracker under a policy, as a scenario that lasts `duration`.
pub(crate) fn scenario(contender: Contender, cell: Cell, times: Times, duration: Duration) -> Scenario {
    let mut scenario = Scenario::default();
    scenario.name = format!("tracker, {} robots, {} a topic", cell.robots, cell.per_topic.label());
    scenario.duration = duration;
    let mut executor = Executor::new("tracker");
    contender.policy.clone_into(&mut executor.policy);
    scenario.executors.push(executor);
    scenario.groups.push(Group::new("tracker", "tracker"));

    let mut list = Callback::new("list", EntityKind::Timer, "tracker");
    list.period = Some(PERIOD);
    list.priority = Some(1);
    list.execution = ExecutionTime::Fixed(times.list);
    scenario.callbacks.push(list);
    let per_topic = cell.per_topic.of(cell.robots);
    for number in 0..cell.topics() {
        let topic = format!("/state{number}");
        let mut state = Callback::new(format!("state{number}"), EntityKind::Subscription, "tracker");
        state.subscribes = Some(topic.clone());
        // The queue has room for the last two states of each of its robots.
        state.depth = 2 * per_topic as u32;
        state.execution = ExecutionTime::Fixed(times.message);
        scenario.callbacks.push(state);
        scenario.topics.push(topic);
    }
    let to = (0..cell.robots).map(|robot| format!("/state{}", robot / per_topic));
    let pattern = Pattern::Periodic { period: ROBOT_PERIOD, offset: Duration::ZERO, jitter: Duration::ZERO };
    scenario.releases.push(Release::new(to, pattern));
    scenario
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: Times = Times { message: Duration::from_micros(25), list: Duration::from_micros(400) };

    #[test]
    fn every_scenario_makes_sense_and_has_every_robot() {
        for contender in CONTENDERS {
            for per_topic in PerTopic::ROWS {
                let cell = Cell { robots: 7, per_topic };
                let scenario = scenario(contender, cell, TIMES, PERIOD * 10);
                scenario.check().unwrap();
                assert_eq!(scenario.releases[0].to.len(), 7);
                assert_eq!(scenario.callbacks.len(), 1 + cell.topics());
                assert_eq!(scenario.callbacks[LIST].kind, EntityKind::Timer);
            }
        }
    }

    #[test]
    fn papers_values_are_found_by_robots_and_topics() {
        let paper = |robots, per_topic| Cell { robots, per_topic }.paper_ms();
        assert_eq!(paper(70, PerTopic::Robots(1)), Some(4.18));
        assert_eq!(paper(50, PerTopic::All), Some(1.27));
        assert_eq!(paper(30, PerTopic::Robots(10)), Some(1.0));
        assert_eq!(paper(20, PerTopic::Robots(1)), None);
    }

    #[test]
    fn utilization_counts_the_list_and_the_messages() {
        assert!((TIMES.list_utilization() - 0.4).abs() < 1e-9);
        assert!((TIMES.utilization(30) - 1.15).abs() < 1e-9);
    }
}
