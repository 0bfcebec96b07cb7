//! Helpers of all tests: messages, sessions that meet no others, and waiting with a limit.

#![allow(dead_code, reason = "no test uses all of it")]

use std::net::{Ipv4Addr, TcpListener};

#[allow(unused_imports, reason = "no test uses all of it")]
pub(crate) use rospin_testkit::conformance::messages::{AddTwoInts, Sum as AddResponse, Summands as AddRequest, Text};
#[allow(unused_imports, reason = "no test uses all of it")]
pub(crate) use rospin_testkit::peers::{
    PATIENCE, context, executor, network, process_of, spin, take_failures, text, ticks, wait, wait_until,
};
use rospin_zenoh::{History, Qos, Session, SessionOptions};

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

    /// Returns a session that others can connect to.
    pub(crate) fn host(&self) -> Session {
        Session::open(isolated().listen([self.endpoint.as_str()])).expect("a session")
    }

    /// Returns a session that finds the host, now or when it comes.
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

/// Settings by which a session waits long for room on a connection before it drops a message: a machine that is too
/// busy to send within a millisecond is no failure.
pub(crate) const PATIENT: [(&str, &str); 2] = [
    ("transport/link/tx/queue/congestion_control/drop/wait_before_drop", "1000000"),
    ("transport/link/tx/queue/congestion_control/drop/max_wait_before_drop_fragments", "1000000"),
];

/// Returns the options of a session that meets nobody by itself, and drops nothing for want of time.
pub(crate) fn isolated() -> SessionOptions {
    let options = SessionOptions::new().connect([]).listen([]);
    PATIENT.iter().fold(options, |options, (key, value)| options.setting(*key, *value))
}

/// Returns the options of a session that connects to `endpoint`, and tries again until the host is there.
pub(crate) fn guest_options(endpoint: &str) -> SessionOptions {
    let retry = "{ period_init_ms: 50, period_max_ms: 50, period_increase_factor: 1 }";
    isolated().connect([endpoint]).setting("connect/retry", retry)
}
