//! The conformance suite over DDS with the local path for all topics: in one participant, and between two that share
//! memory and the network, as two processes do.

mod common;

use common::OwnDomain;
use rospin_engine::{Context, ExecutorHandle};
use rospin_local::LocalOptions;
use rospin_node::Ros;
use rospin_testkit::conformance::Fixture;

/// A domain id of its own. Whoever joins twice is two processes, as far as Cyclone DDS and the local path can tell.
struct Loopback<const APART: bool>(OwnDomain);

impl<const APART: bool> Fixture for Loopback<APART> {
    const APART: bool = APART;

    fn new() -> Self {
        Self(OwnDomain::new())
    }

    fn join(&self, context: &Context, _executor: &ExecutorHandle) -> Ros {
        common::join(self.0.id, LocalOptions::new().with_all_types()).ros(context)
    }
}

mod in_one_process {
    rospin_testkit::conformance!(crate::Loopback<false>);
}

mod in_two_processes {
    rospin_testkit::conformance!(crate::Loopback<true>);
}
