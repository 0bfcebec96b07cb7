//! The interface between the suite and a middleware's tests.

use std::time::Duration;

use rospin_engine::{Context, ExecutorHandle};
use rospin_node::Ros;

/// A network for one case, and the way to join it.
///
/// It lives as long as the case, so it owns what the network needs, such as a router or a reserved domain number.
pub trait Fixture: Sized + Send + Sync + 'static {
    /// True if a case's two nodes are in processes of their own, as far as the middleware can tell: each of them
    /// [joins](Self::join). Otherwise they share one membership.
    const APART: bool;

    /// Maximum duration of anything before it counts as stuck. It is long, because a busy machine is not a failure; a
    /// case that passes does not wait for it.
    const PATIENCE: Duration = Duration::from_secs(40);

    /// Returns the reason why the middleware cannot pass the case with this function name, if its adapter cannot help
    /// it; `None` if it can pass. The case is skipped and prints the reason. Users of the adapter must find it
    /// documented, too.
    #[must_use]
    fn deviation(_case: &str) -> Option<&'static str> {
        None
    }

    /// Creates a network that no other case uses.
    fn new() -> Self;

    /// Joins the network, as a process does. Entities of the middleware belong on `executor`, which spins whenever a
    /// case waits for something.
    fn join(&self, context: &Context, executor: &ExecutorHandle) -> Ros;
}

/// Runs a case, unless it is a [known deviation](Fixture::deviation) of the middleware.
#[doc(hidden)]
#[expect(clippy::print_stderr, reason = "it says that the case is skipped")]
pub fn run<F: Fixture>(name: &str, case: fn()) {
    match F::deviation(name) {
        Some(why) => eprintln!("SKIPPED {name}: {why}"),
        None => case(),
    }
}
