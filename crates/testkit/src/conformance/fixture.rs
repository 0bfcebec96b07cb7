//! What a middleware's tests supply.

use std::time::Duration;

use rospin::{Context, ExecutorHandle};
use rospin_node::Middleware;

/// A network that only one case uses, and the way into it.
///
/// It lives as long as the case: what has to be there for the network goes into it, a router, say, or the reservation of a
/// number.
pub trait Fixture: Sized + Send + Sync + 'static {
    /// The middleware under test.
    type Middleware: Middleware;

    /// Whether a case's two nodes are in processes of their own, as far as the middleware can tell: each then
    /// [joins](Self::join) by itself. Otherwise they share what was joined once.
    const APART: bool;

    /// How long anything may take before it counts as stuck. Long, since a busy machine is no failure; what goes well does
    /// not wait for it.
    const PATIENCE: Duration = Duration::from_secs(40);

    /// A network that nobody else is on.
    fn new() -> Self;

    /// Joins it, as a process does. What the middleware has to run on an executor belongs on `executor`, which spins whenever
    /// a case waits for anything.
    fn join(&self, context: &Context, executor: &ExecutorHandle) -> Self::Middleware;
}
