//! The conformance suite, in process.

use rospin_engine::{Context, ExecutorHandle};
use rospin_node::Ros;
use rospin_testkit::conformance::Fixture;

/// Fixture whose network is the test's own context.
struct OfContext;

impl Fixture for OfContext {
    const APART: bool = false;

    fn deviation(case: &str) -> Option<&'static str> {
        let is_encoded = ["dynamic_and_typed_ends_hear_each_other", "what_is_not_of_the_dynamic_type_is_counted"];
        is_encoded.contains(&case).then_some("nothing is encoded in process, so Rust's types keep the ends apart")
    }

    fn new() -> Self {
        Self
    }

    fn join(&self, context: &Context, _executor: &ExecutorHandle) -> Ros {
        Ros::in_process(context)
    }
}

rospin_testkit::conformance!(crate::OfContext);
