//! Cases: four experiments, each under several policies.

use std::time::Duration;

use rospin_engine::EntityKind;
use rospin_scenario::{Pattern, Scenario};

/// Policy that emulates rclcpp up to Dashing: timers are outside the ready set.
pub(super) const E1: &str = "wait-set-e1";
/// Policy that emulates rclcpp from Eloquent to Iron: timers are part of the ready set.
pub(super) const E2: &str = "wait-set-e2";
/// Names of rospin's own policies.
pub(super) const OWN: [&str; 3] = ["fifo", "fixed-priority", "edf"];

/// An experiment of the paper.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Published {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// Policies of the executors that the paper shows in this experiment: E1, E2 or both.
    pub(super) executors: &'static [&'static str],
    /// Scenario, as TOML.
    text: &'static str,
}

/// The experiments, in the paper's order.
pub(super) static EXPERIMENTS: [Published; 4] = [
    Published {
        name: "exp1",
        title: "Exp1: one-shot timers, one thread",
        executors: &[E1, E2],
        text: rospin_scenario::examples::EXP1,
    },
    Published {
        name: "exp2",
        title: "Exp2: periodic timer, one thread",
        executors: &[E1, E2],
        text: rospin_scenario::examples::EXP2,
    },
    Published {
        name: "exp3",
        title: "Exp3: two threads, one mutually exclusive group",
        executors: &[E2],
        text: rospin_scenario::examples::EXP3,
    },
    Published {
        name: "exp4",
        title: "Exp4: two threads, the timer in a group of its own",
        executors: &[E2],
        text: rospin_scenario::examples::EXP4,
    },
];

/// Case of a run: an experiment under a policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Case {
    pub(super) experiment: &'static Published,
    pub(super) policy: &'static str,
}

impl Case {
    /// Returns every case, by experiment: first under the paper's executors, then under rospin's policies.
    pub(super) fn all() -> Vec<Self> {
        let policies = |experiment: &'static Published| experiment.executors.iter().chain(&OWN);
        let case = |experiment| policies(experiment).map(move |policy| Self { experiment, policy });
        EXPERIMENTS.iter().flat_map(case).collect()
    }

    /// Returns true if the paper shows this case.
    pub(super) fn is_published(self) -> bool {
        self.experiment.executors.contains(&self.policy)
    }

    /// Returns the names of experiment and policy, such as `exp1 fifo`.
    pub(super) fn label(self) -> String {
        format!("{} {}", self.experiment.name, self.policy)
    }

    /// Returns the scenario of this case, for real time with `real`, or else for virtual time.
    pub(super) fn scenario(self, real: bool) -> Scenario {
        let mut scenario = Scenario::parse(self.experiment.text).expect("a test reads all of them");
        for executor in &mut scenario.executors {
            self.policy.clone_into(&mut executor.policy);
        }
        if self.policy == "fixed-priority" {
            prioritize(&mut scenario);
        }
        if real {
            release_ahead(&mut scenario);
            if self.experiment.name == "exp2" && [E2, "fifo"].contains(&self.policy) {
                make_due_behind(&mut scenario);
            }
        }
        scenario
    }
}

/// Sets priorities in the order in which the wait set serves a ready set: timers, subscriptions, services, each by
/// registration.
fn prioritize(scenario: &mut Scenario) {
    let class = |kind| match kind {
        EntityKind::Timer => 0,
        EntityKind::Subscription => 1,
        _ => 2,
    };
    let mut order: Vec<usize> = (0..scenario.callbacks.len()).collect();
    order.sort_by_key(|number| class(scenario.callbacks[*number].kind));
    for (priority, number) in (1..).zip(order.into_iter().rev()) {
        scenario.callbacks[number].priority = Some(priority);
    }
}

/// Time by which some messages are released earlier in real time than in virtual time, see [`release_ahead`].
pub(super) const AHEAD: Duration = Duration::from_millis(100);

/// Releases the messages of 3.0 s earlier by [`AHEAD`], for a run in real time. In virtual time, they are released at
/// the very instant of a polling point, and the paper has them in that ready set. In real time, a race of microseconds
/// would decide which of the two comes first.
fn release_ahead(scenario: &mut Scenario) {
    for release in &mut scenario.releases {
        if let Pattern::List(times) = &mut release.pattern {
            for time in times.iter_mut().filter(|time| time.as_millis() == 3000) {
                *time -= AHEAD;
            }
        }
    }
}

/// Time by which some timers are due later in real time than in virtual time, see [`make_due_behind`].
pub(super) const BEHIND: Duration = Duration::from_millis(100);

/// Makes the timer of Exp2 due later by [`BEHIND`], for a run in real time. Under policies that keep it waiting, its
/// instance of 5.2 s starts at 6.5 s, the instant at which it is due again. In real time it would start some
/// microseconds after 6.5 s. Then it would have missed a due time, which a timer does not make up for.
fn make_due_behind(scenario: &mut Scenario) {
    for timer in scenario.callbacks.iter_mut().filter(|callback| callback.kind == EntityKind::Timer) {
        timer.offset = Some(timer.first_due() + BEHIND);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_a_scenario() {
        assert_eq!(Case::all().len(), 18);
        for case in Case::all() {
            for real in [false, true] {
                case.scenario(real).check().unwrap();
            }
        }
    }

    #[test]
    fn priorities_are_the_order_of_a_ready_set() {
        let case = Case { experiment: &EXPERIMENTS[1], policy: "fixed-priority" };
        let mut callbacks = case.scenario(false).callbacks;
        callbacks.sort_by_key(|callback| std::cmp::Reverse(callback.priority));
        let names: Vec<_> = callbacks.iter().map(|callback| callback.name.as_str()).collect();
        assert_eq!(names, ["T0", "H", "M", "L", "SH", "SM", "SL"]);
    }
}
