//! What a middleware's tests supply.

use std::time::Duration;

use rospin_engine::{Context, ExecutorHandle};
use rospin_node::Ros;

/// A network that only one case uses, and the way into it.
///
/// It lives as long as the case: what has to be there for the network goes into it, a router, say, or the reservation of a
/// number.
pub trait Fixture: Sized + Send + Sync + 'static {
    /// Whether a case's two nodes are in processes of their own, as far as the middleware can tell: each then
    /// [joins](Self::join) by itself. Otherwise they share what was joined once.
    const APART: bool;

    /// How long anything may take before it counts as stuck. Long, since a busy machine is no failure; what goes well does
    /// not wait for it.
    const PATIENCE: Duration = Duration::from_secs(40);

    /// Why the middleware cannot do what that case asks for, where it cannot and its adapter cannot help it: the case is
    /// skipped, and says so. To be documented where users of the adapter see it, too.
    #[must_use]
    fn deviation(_case: &str) -> Option<&'static str> {
        None
    }

    /// A network that nobody else is on.
    fn new() -> Self;

    /// Joins it, as a process does. What the middleware has to run on an executor belongs on `executor`, which spins whenever
    /// a case waits for anything.
    fn join(&self, context: &Context, executor: &ExecutorHandle) -> Ros;
}

/// Runs a case, unless the middleware is [known](Fixture::deviation) not to do what it asks for.
#[doc(hidden)]
#[expect(clippy::print_stderr, reason = "it says that the case is skipped")]
pub fn run<F: Fixture>(name: &str, case: fn()) {
    match F::deviation(name) {
        Some(why) => eprintln!("SKIPPED {name}: {why}"),
        None => case(),
    }
}
