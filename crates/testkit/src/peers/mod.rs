//! Peers and networks for the tests of the adapters, and helpers whose patience ends.

pub mod matrix;
pub mod network;
mod ours;
pub mod python;
pub mod rclpy;
pub mod ros2;
pub mod ticks;
pub mod two_hosts;
pub mod wire;

pub use ours::Ours;

use std::ops::{Deref, DerefMut};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rospin_engine::{
    ClockKind, Context, ContextOptions, Executor, ExecutorOptions, Incident, IncidentKind, SpinOptions,
};

use crate::conformance::messages::Text;

/// Longest time that a test waits for anything. Discovery on a loaded machine may take seconds; nothing takes that long
/// unless it is stuck.
pub const PATIENCE: Duration = Duration::from_secs(40);

/// Returns a command that runs one test of this program in a process of its own. `module` is the `module_path!()` of
/// the test's file.
///
/// # Panics
/// If the operating system does not know the program's file.
#[must_use]
pub fn process_of(module: &str, test: &str) -> Command {
    // The names of tests leave out the name of the program.
    let name = module.split_once("::").map_or_else(|| test.to_owned(), |(_, path)| format!("{path}::{test}"));
    let mut command = Command::new(std::env::current_exe().expect("this program's file"));
    command.args(["--exact", &name, "--nocapture"]);
    command
}

/// A process that is killed when this value is dropped: it cannot tell others that it ends.
#[derive(Debug)]
pub struct KilledChild(pub Child);

impl Deref for KilledChild {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for KilledChild {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for KilledChild {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns a string message with that text.
#[must_use]
pub fn text(data: impl Into<String>) -> Text {
    Text { data: data.into() }
}

/// Returns a context, and the list to which it adds its incidents.
#[must_use]
pub fn context() -> (Context, Arc<Mutex<Vec<Incident>>>) {
    let incidents = Arc::<Mutex<Vec<Incident>>>::default();
    let kept = Arc::clone(&incidents);
    let report = move |incident: &Incident| {
        kept.lock().unwrap_or_else(PoisonError::into_inner).push(incident.clone());
    };
    (Context::new(ContextOptions::new().on_incident(report)), incidents)
}

/// Returns the number of incidents, all of which must be items that could not be taken.
///
/// # Panics
/// If anything else went wrong.
#[must_use]
pub fn take_failures(incidents: &Mutex<Vec<Incident>>) -> usize {
    let incidents = incidents.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(incidents.iter().all(|incident| matches!(incident.kind, IncidentKind::TakeFailed(_))), "{incidents:?}");
    incidents.len()
}

/// Creates an executor with one thread.
#[must_use]
pub fn executor(context: &Context, name: &str) -> Executor {
    context.create_executor(ExecutorOptions::new(name))
}

/// Spins until the future resolves. `what` ends the sentence of the panic: "waiting until" `what`.
///
/// # Panics
/// If that takes too long.
pub fn wait<F: Future>(executor: &Executor, what: &str, future: F) -> F::Output {
    match executor.spin_until(future, SpinOptions::new().timeout(PATIENCE)) {
        Ok(output) => output,
        Err(error) => panic!("waiting until {what}: {error}"),
    }
}

/// Spins until `is_so` returns true, which is called every millisecond. `what` is that of [`wait`].
///
/// # Panics
/// If that takes too long.
pub fn wait_until(executor: &Executor, what: &str, mut is_so: impl FnMut() -> bool) {
    wait(executor, what, async {
        while !is_so() {
            let _ = executor.handle().sleep(ClockKind::Steady, Duration::from_millis(1)).await;
        }
    });
}

/// Spins until a callback halted the executor. `what` is that of [`wait`].
///
/// # Panics
/// If that takes too long.
pub fn spin(executor: &Executor, what: &str) {
    if let Err(error) = executor.spin(SpinOptions::new().timeout(PATIENCE)) {
        panic!("waiting until {what}: {error}");
    }
}
