//! The conformance suite, in process.

use rospin::{Context, ExecutorHandle};
use rospin_node::InProcess;
use rospin_testkit::conformance::Fixture;

/// The case's own context is the network.
struct OfContext;

impl Fixture for OfContext {
    type Middleware = InProcess;
    const APART: bool = false;

    fn new() -> Self {
        Self
    }

    fn join(&self, context: &Context, _executor: &ExecutorHandle) -> InProcess {
        InProcess::new(context)
    }
}

rospin_testkit::conformance!(crate::OfContext);
