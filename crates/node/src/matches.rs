//! Matches: the other ends that one end of a topic or service is connected with.

use std::pin::Pin;

/// A future that a middleware returns.
pub type Awaited<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Whom a subscription, a publisher or a client is matched with.
pub trait Matches: Send + Sync + 'static {
    /// Returns with how many, as far as it is known at this moment.
    fn count(&self) -> usize;

    /// Waits until it is matched with somebody.
    fn wait(&self) -> Awaited<()>;
}
