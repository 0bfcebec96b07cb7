//! Two groups that a deployment file puts on two executors, without a change to this program:
//!
//! ```sh
//! cargo run -p rospin-engine --example deployment
//! ROSPIN_DEPLOYMENT=crates/engine/examples/deployment.toml cargo run -p rospin-engine --example deployment
//! ```

#![expect(clippy::print_stdout, reason = "it shows where they run")]

use std::time::Duration;

use rospin_engine::os::{CoreSet, ThreadId, scheduling_of};
use rospin_engine::{Context, ContextOptions, ExecutorOptions, GroupOptions, SpinError, SpinOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let context = Context::new(ContextOptions::from_env()?);
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let mut kept = Vec::new();
    for name in ["control", "map"] {
        let group = executor.create_group(GroupOptions::new(name).node("robot"), ());
        kept.push(group.create_timer(Duration::from_millis(20), move |(), _| {
            let thread = ThreadId::current();
            match (scheduling_of(thread), CoreSet::of_current_thread()) {
                (Ok(scheduling), Ok(cores)) => println!("{name:7} thread {thread}, {scheduling}, cores {cores}"),
                (Err(error), _) | (_, Err(error)) => println!("{name:7} thread {thread}: {error}"),
            }
        })?);
    }
    match executor.spin(SpinOptions::new().timeout(Duration::from_millis(50))) {
        Err(SpinError::Timeout) => Ok(()),
        other => other.map(|_| ()).map_err(Into::into),
    }
}
