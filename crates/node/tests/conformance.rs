//! The conformance suite, in process.

use rospin_engine::{Context, ExecutorHandle};
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
