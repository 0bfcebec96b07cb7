//! The conformance suite over DDS, on the loopback interface: in one process, and in two as far as DDS can tell.

mod common;

use common::OwnDomain;
use rospin_engine::{Context, ExecutorHandle};
use rospin_ros2_client::{Domain, Ros};
use rospin_testkit::conformance::Fixture;

/// A domain id of its own; two participants either way, which know of each other only if they share a [`Domain`].
struct Loopback<const APART: bool>(OwnDomain);

impl<const APART: bool> Fixture for Loopback<APART> {
    const APART: bool = APART;

    fn deviation(case: &str) -> Option<&'static str> {
        match case {
            "no_more_is_latched_than_the_depth_says" => {
                Some("RustDDS tidies the history of a writer every six seconds, and not before a reader has come")
            }
            "what_was_latched_is_only_for_who_asks" => {
                Some("RustDDS sends the history of a latched writer to every reliable reader")
            }
            _ => None,
        }
    }

    fn new() -> Self {
        Self(OwnDomain::new())
    }

    fn join(&self, _context: &Context, executor: &ExecutorHandle) -> Ros {
        Domain::join(executor, common::options(self.0.id)).expect("a participant").ros()
    }
}

mod in_one_process {
    rospin_testkit::conformance!(crate::Loopback<false>);
}

mod in_two_processes {
    rospin_testkit::conformance!(crate::Loopback<true>);
}
