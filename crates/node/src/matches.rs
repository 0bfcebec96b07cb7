//! Matches: the other ends that one end of a topic or service is connected with.

use std::pin::Pin;

use crate::info::Gid;

/// A boxed future, as the methods of a middleware return it.
pub type Awaited<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Matches of a subscription, a publisher or a client: the ends that it is connected with. The trait of the end says if
/// ends of this process are among them.
pub trait Matches: Send + Sync + 'static {
    /// Returns the number of matches that are known at this moment.
    fn count(&self) -> usize;

    /// Returns a future that resolves once there is at least one match.
    fn wait(&self) -> Awaited<()>;

    /// Returns the id of a subscription's end, by which a publisher of the same middleware [tells](
    /// crate::PublisherEnd::is_heard_besides) it from others. The default is `None`: it cannot.
    fn id(&self) -> Option<Gid> {
        None
    }
}
