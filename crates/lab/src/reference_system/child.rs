//! Runs each executor in a process of its own.

use std::env;
use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

use crate::child::{self, ChildError, OrderError};

use super::runner::{RunError, RunResult, Runner, Settings, Variant};

/// What a child is told.
#[derive(Debug, Deserialize, PartialEq, Serialize)]
struct Order {
    variant: Variant,
    settings: Settings,
}

/// Runs an executor in a child process.
pub(crate) struct ChildProcess;

impl Runner for ChildProcess {
    fn run(&self, variant: Variant, settings: &Settings, progress: &dyn Fn(f64)) -> Result<RunResult, RunError> {
        let failed = |reason| RunError::Child { executor: variant.name(), reason };
        let program = env::current_exe().map_err(|error| failed(ChildError::Process(error)))?;
        let order = Order { variant, settings: *settings };
        child::ask(&program, "reference-system", &order, settings.duration, progress).map_err(failed)
    }
}

/// The child's side: reads the order.
pub(crate) fn read_order(input: impl Read) -> Result<(Variant, Settings), OrderError> {
    let order: Order = child::read_order(input)?;
    Ok((order.variant, order.settings))
}

/// The child's side: writes the result.
pub(crate) fn write_result(out: &mut dyn Write, result: &RunResult) -> io::Result<()> {
    child::write_answer(out, result)
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn order_and_result_survive_the_pipe() {
        let order = Order { variant: Variant::FifoSingle, settings: testing::settings() };
        let bytes = serde_json::to_vec(&order).unwrap();
        let (variant, settings) = read_order(bytes.as_slice()).unwrap();
        assert_eq!(Order { variant, settings }, order);

        let result = testing::results().remove(0);
        let mut bytes = Vec::new();
        write_result(&mut bytes, &result).unwrap();
        assert_eq!(serde_json::from_slice::<RunResult>(&bytes).unwrap(), result);
    }
}
