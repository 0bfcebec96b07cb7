//! Runs each executor in a process of its own.

use serde::{Deserialize, Serialize};

use crate::children;

use super::runner::{RunError, RunResult, Runner, Settings, Variant};

/// What a child is told.
#[derive(Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Order {
    /// The executor.
    pub(crate) variant: Variant,
    /// How to run it.
    pub(crate) settings: Settings,
}

/// Runs an executor in a child process.
pub(crate) struct ChildProcess;

impl Runner for ChildProcess {
    fn run(&self, variant: Variant, settings: &Settings, progress: &dyn Fn(f64)) -> Result<RunResult, RunError> {
        let order = Order { variant, settings: *settings };
        let answers = children::run("reference-system", &[order], settings.duration, progress);
        let mut answers = answers.map_err(|reason| RunError::Child { executor: variant.name(), reason })?;
        Ok(answers.remove(0))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn order_and_result_survive_the_pipe() {
        let order = Order { variant: Variant::FifoSingle, settings: testing::settings() };
        let bytes = serde_json::to_vec(&order).unwrap();
        assert_eq!(children::read_order::<Order>(bytes.as_slice()).unwrap(), order);

        let result = testing::results().remove(0);
        let mut bytes = Vec::new();
        children::write_answer(&mut bytes, &result).unwrap();
        assert_eq!(serde_json::from_slice::<RunResult>(&bytes).unwrap(), result);
    }
}
