//! The conformance suite, in process, and between two hosts of the harness's simulated network.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rospin::testing::{LinkOptions, SimulatedNetwork};
use rospin_engine::{Context, ExecutorHandle, Instant};
use rospin_node::Ros;
use rospin_testkit::conformance::Fixture;

/// Fixture whose network is the test's own context.
struct OfContext;

impl Fixture for OfContext {
    const APART: bool = false;

    fn new() -> Self {
        Self
    }

    fn join(&self, context: &Context, _executor: &ExecutorHandle) -> Ros {
        Ros::in_process(context)
    }
}

rospin_testkit::conformance!(crate::OfContext);

/// A simulated network, whose time a thread moves on.
struct Simulated {
    network: SimulatedNetwork,
    is_over: Arc<AtomicBool>,
}

impl Fixture for Simulated {
    const APART: bool = true;

    fn deviation(case: &str) -> Option<&'static str> {
        let is_manual =
            matches!(case, "a_silent_publisher_is_not_alive" | "a_publisher_that_asserts_to_be_alive_is_alive");
        is_manual.then_some("manual liveliness is not simulated")
    }

    fn new() -> Self {
        let network = SimulatedNetwork::new(1);
        network.set_links(LinkOptions::new().delay(Duration::ZERO, Duration::from_millis(1)));
        let is_over = Arc::<AtomicBool>::default();
        let (driven, is_over_now) = (network.clone(), Arc::clone(&is_over));
        thread::spawn(move || {
            let mut now = Instant::ZERO;
            while !is_over_now.load(Ordering::Relaxed) {
                now += Duration::from_millis(10);
                driven.advance_to(now);
                thread::park_timeout(Duration::from_micros(500));
            }
        });
        Self { network, is_over }
    }

    fn join(&self, context: &Context, _executor: &ExecutorHandle) -> Ros {
        self.network.join(context, "host")
    }
}

impl Drop for Simulated {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

mod on_a_simulated_network {
    rospin_testkit::conformance!(crate::Simulated);
}
