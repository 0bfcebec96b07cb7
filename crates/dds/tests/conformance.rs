//! The conformance suite over DDS, on the loopback interface: in one participant, and between two that share nothing
//! but the network.

mod common;

use common::OwnDomain;
use rospin_dds::{Domain, Ros};
use rospin_engine::{Context, ExecutorHandle};
use rospin_testkit::conformance::Fixture;

/// A domain id of its own. Whoever joins twice is two processes, as far as Cyclone DDS can tell.
struct Loopback<const APART: bool>(OwnDomain);

impl<const APART: bool> Fixture for Loopback<APART> {
    const APART: bool = APART;

    fn new() -> Self {
        Self(OwnDomain::new())
    }

    fn join(&self, context: &Context, _executor: &ExecutorHandle) -> Ros {
        Domain::join(common::options(self.0.id)).expect("a participant").ros(context)
    }
}

mod in_one_process {
    rospin_testkit::conformance!(crate::Loopback<false>);
}

mod in_two_processes {
    rospin_testkit::conformance!(crate::Loopback<true>);
}
