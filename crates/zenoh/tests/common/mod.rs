//! Helpers of all tests: messages, sessions that meet no others, and waiting with a limit.

#![allow(dead_code, reason = "no test uses all of it")]

#[path = "../../../ros2-client/tests/common/network.rs"]
pub(crate) mod network;
#[path = "../../../ros2-client/tests/common/ticks.rs"]
pub(crate) mod ticks;

use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rospin_engine::{
    ClockKind, Context, ContextOptions, Executor, ExecutorOptions, Incident, IncidentKind, SpinOptions,
};
#[allow(unused_imports, reason = "no test uses all of it")]
pub(crate) use rospin_testkit::conformance::messages::{AddTwoInts, Sum as AddResponse, Summands as AddRequest, Text};
use rospin_zenoh::{History, Qos, Session, SessionOptions};

/// Discovery on a loaded machine may take seconds; nothing here takes that long unless it is stuck.
pub(crate) const PATIENCE: Duration = Duration::from_secs(40);

pub(crate) fn text(data: impl Into<String>) -> Text {
    Text { data: data.into() }
}

/// The addresses at which the sessions of a test meet.
pub(crate) struct Place {
    pub(crate) endpoint: String,
}

impl Place {
    /// Returns a place at which no other session is at the moment.
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        Self { endpoint: format!("tcp/127.0.0.1:{port}") }
    }

    /// A session that the others find.
    pub(crate) fn host(&self) -> Session {
        Session::open(isolated().listen([self.endpoint.as_str()])).expect("a session")
    }

    /// A session that finds the host, now or when it comes.
    pub(crate) fn guest(&self) -> Session {
        Session::open(guest_options(&self.endpoint)).expect("a session")
    }

    pub(crate) fn both(&self) -> (Session, Session) {
        (self.host(), self.guest())
    }
}

/// Returns the quality of service with which a publisher waits for room instead of dropping messages.
pub(crate) fn keep_all() -> Qos {
    let mut qos = Qos::default();
    qos.history = History::KeepAll;
    qos
}

/// Settings by which a session waits long for room on a connection before it drops a message: a machine that is too busy
/// to send within a millisecond is no failure.
pub(crate) const PATIENT: [(&str, &str); 2] = [
    ("transport/link/tx/queue/congestion_control/drop/wait_before_drop", "1000000"),
    ("transport/link/tx/queue/congestion_control/drop/max_wait_before_drop_fragments", "1000000"),
];

/// A session that meets nobody by itself, and drops nothing for want of time.
pub(crate) fn isolated() -> SessionOptions {
    let options = SessionOptions::new().connect([]).listen([]);
    PATIENT.iter().fold(options, |options, (key, value)| options.setting(*key, *value))
}

pub(crate) fn guest_options(endpoint: &str) -> SessionOptions {
    let retry = "{ period_init_ms: 50, period_max_ms: 50, period_increase_factor: 1 }";
    isolated().connect([endpoint]).setting("connect/retry", retry)
}

/// A context that keeps its incidents.
pub(crate) fn context() -> (Context, Arc<Mutex<Vec<Incident>>>) {
    let incidents = Arc::<Mutex<Vec<Incident>>>::default();
    let kept = Arc::clone(&incidents);
    let report = move |incident: &Incident| {
        kept.lock().unwrap_or_else(PoisonError::into_inner).push(incident.clone());
    };
    (Context::new(ContextOptions::new().on_incident(report)), incidents)
}

/// Returns how many items could not be taken.
pub(crate) fn take_failures(incidents: &Mutex<Vec<Incident>>) -> usize {
    let incidents = incidents.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(incidents.iter().all(|incident| matches!(incident.kind, IncidentKind::TakeFailed(_))), "{incidents:?}");
    incidents.len()
}

pub(crate) fn executor(context: &Context, name: &str) -> Executor {
    context.create_executor(ExecutorOptions::new(name))
}

/// Spins until the future resolves.
pub(crate) fn wait<F: Future>(executor: &Executor, what: &str, future: F) -> F::Output {
    match executor.spin_until(future, SpinOptions::new().timeout(PATIENCE)) {
        Ok(output) => output,
        Err(error) => panic!("waiting until {what}: {error}"),
    }
}

/// Spins until that is so.
pub(crate) fn wait_until(executor: &Executor, what: &str, mut is_so: impl FnMut() -> bool) {
    wait(executor, what, async {
        while !is_so() {
            let _ = executor.handle().sleep(ClockKind::Steady, Duration::from_millis(1)).await;
        }
    });
}

/// Spins until a callback halted the executor.
pub(crate) fn spin(executor: &Executor, what: &str) {
    if let Err(error) = executor.spin(SpinOptions::new().timeout(PATIENCE)) {
        panic!("waiting until {what}: {error}");
    }
}
