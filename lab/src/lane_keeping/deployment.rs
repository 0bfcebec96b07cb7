//! The deployment files: threads and priorities as in Table 3 of the paper, and one thread a process as in rclcpp.

use rospin_engine::Deployment;
use rospin_scenario::ScenarioError;

use super::order::{Executors, Part};

/// Threads and priorities as in Table 3, and the chain that is measured. The planner has a thread of its own below the
/// timer's, so that the timer keeps its period.
pub(crate) const AS_IN_TABLE_3: &str = r#"# One file for three processes.
elsewhere = ["vehicle/*", "keeper/*", "visualiser/*"]

[[executor]]
name = "vehicle"
scheduling = { fifo = 10 }

[[executor]]
name = "subscribers"
scheduling = { fifo = 10 }

[[executor]]
name = "control"
scheduling = { fifo = 5 }

[[executor]]
name = "planner"
scheduling = { fifo = 4 }

[[executor]]
name = "visualiser"
scheduling = { fifo = 10 }

[[chain]]
name = "odometry"
criticality = 1
deadline = "1 ms"
callbacks = ["vehicle/odometry", "keeper/odometry", "visualiser/odometry"]

# The middleware's threads.
[[thread]]
name = "*"
scheduling = { fifo = 20 }
"#;

/// One executor a process, at the priority of Table 3's subscribers.
pub(crate) const ONE_THREAD: &str = r#"[[executor]]
name = "vehicle"
policy = "wait-set-e2"
scheduling = { fifo = 10 }

[[executor]]
name = "keeper"
policy = "wait-set-e2"
scheduling = { fifo = 10 }

[[executor]]
name = "visualiser"
policy = "wait-set-e2"
scheduling = { fifo = 10 }

# The middleware's threads.
[[thread]]
name = "*"
scheduling = { fifo = 20 }
"#;

/// Returns the text of the deployment file of these executors.
pub(crate) const fn text(executors: Executors) -> &'static str {
    match executors {
        Executors::Priority => AS_IN_TABLE_3,
        Executors::WaitSetSingle => ONE_THREAD,
    }
}

/// Returns the deployment of a process that has these parts.
///
/// # Errors
/// If the file is invalid, which is a mistake of this experiment.
pub(crate) fn deployment(executors: Executors, parts: &[Part]) -> Result<Deployment, ScenarioError> {
    let mut deployment = Deployment::parse(text(executors))?;
    // An executor of the file that the program lacks would be added.
    let has = |name: &str| parts.iter().any(|part| executors.of(*part).contains(&name));
    deployment.executors.retain(|executor| has(&executor.name));
    Ok(deployment)
}

#[cfg(test)]
mod tests {
    use rospin_engine::policy;

    use super::*;

    #[test]
    fn the_files_have_every_executor_of_the_program() {
        for executors in Executors::ALL {
            let deployment = deployment(executors, &Part::ALL).unwrap();
            let names: Vec<&str> = deployment.executors.iter().map(|executor| executor.name.as_str()).collect();
            let own: Vec<&str> = Part::ALL.iter().flat_map(|part| executors.of(*part)).copied().collect();
            assert_eq!(names, own);
            assert!(deployment.thread("recv").is_some(), "the middleware's threads");
            for policy in deployment.executors.iter().filter_map(|executor| executor.policy.as_ref()) {
                assert!(policy::by_name(policy).is_ok(), "{policy}");
            }
        }
    }

    #[test]
    fn a_process_has_only_its_own_executors() {
        let deployment = deployment(Executors::Priority, &[Part::Keeper]).unwrap();
        assert_eq!(deployment.executors.len(), 3);
    }
}
