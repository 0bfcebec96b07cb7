//! Matches: the other ends that one end of a topic or service is connected with.

use std::pin::Pin;

/// A future that a middleware returns.
pub type Awaited<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The other ends that a subscription, a publisher or a client is matched with.
pub trait Matches: Send + Sync + 'static {
    /// Returns their number, as far as it is known at this moment.
    fn count(&self) -> usize;

    /// Waits until there is at least one.
    fn wait(&self) -> Awaited<()>;
}
