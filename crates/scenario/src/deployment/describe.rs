//! The deployment that corresponds to a scenario.

use rospin_core::{EntityKind, OsScheduling};

use super::model::{CallbackPlan, Deployment, ExecutorPlan, GroupPlan};
use crate::callback::Callback;
use crate::model::{Executor, Priorities, Scenario};

impl Deployment {
    /// Returns the deployment of a program that corresponds to the scenario: its executors under `SCHED_FIFO` with
    /// their priorities and cores, the groups on them, and the settings of its callbacks. Its chains are part of it
    /// only if the scenario's priorities follow from them.
    #[must_use]
    pub fn describe(scenario: &Scenario) -> Self {
        let mut deployment = Self::default();
        deployment.executors.extend(scenario.executors.iter().map(executor));
        let group = |group: &crate::model::Group| GroupPlan::new(&group.name, &group.executor);
        deployment.groups.extend(scenario.groups.iter().map(group));
        deployment.callbacks.extend(scenario.callbacks.iter().map(callback));
        if scenario.priorities == Priorities::Picas {
            deployment.chains.clone_from(&scenario.chains);
        }
        deployment
    }
}

fn executor(executor: &Executor) -> ExecutorPlan {
    ExecutorPlan {
        policy: Some(executor.policy.clone()),
        threads: Some(executor.threads),
        scheduling: Some(OsScheduling::Fifo { priority: executor.os_priority }),
        cores: executor.cores.clone(),
        ..ExecutorPlan::new(&executor.name)
    }
}

fn callback(callback: &Callback) -> CallbackPlan {
    CallbackPlan {
        priority: callback.priority,
        deadline: callback.deadline,
        depth: if callback.kind != EntityKind::Timer { Some(callback.depth) } else { None },
        ..CallbackPlan::new(&callback.name)
    }
}
