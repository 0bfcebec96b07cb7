//! Services without a callback.

use std::fmt;
use std::sync::Arc;

use crate::call::Reply;
use crate::context::Context;
use crate::error::depth_of;
use crate::options::ServiceOptions;
use crate::service::{ServiceError, ServiceSource};
use crate::source::{Closer, Notifier, Pending, Source, TakeError};

/// A local service without a callback. Its owner takes the requests and answers them, in any order, on any thread.
///
/// It is a [`Source`], for code that builds entities of its own. Services with a callback are created on a
/// [group](crate::CallbackGroup::create_local_service).
///
/// ```
/// use rospin_engine::{Context, ContextOptions, ExecutorOptions, SpinOptions};
///
/// let context = Context::new(ContextOptions::new());
/// let executor = context.create_executor(ExecutorOptions::new("main"));
/// let mut requests = context.create_local_request_queue::<u32, u32>("double")?;
/// let client = context.create_local_client::<u32, u32>("double")?;
/// let call = client.call(21);
///
/// let (request, reply) = requests.try_take().unwrap();
/// reply.send(2 * request);
/// assert_eq!(executor.spin_until(call, SpinOptions::new())??, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RequestQueue<Req: Send + 'static, Resp: Send + 'static>(ServiceSource<Req, Resp>);

impl Context {
    /// Creates a local service without a callback; a plain `&str` is its name. The owner of the queue takes the
    /// requests and answers them.
    ///
    /// # Errors
    /// If the service exists already, or has other types, or if the depth is above [`DEPTH_MAX`](crate::DEPTH_MAX).
    pub fn create_local_request_queue<Req: Send + 'static, Resp: Send + 'static>(
        &self,
        options: impl Into<ServiceOptions>,
    ) -> Result<RequestQueue<Req, Resp>, ServiceError> {
        RequestQueue::new(self, &options.into())
    }
}

impl<Req: Send + 'static, Resp: Send + 'static> RequestQueue<Req, Resp> {
    pub(crate) fn new(context: &Context, options: &ServiceOptions) -> Result<Self, ServiceError> {
        let name = options.common.name.as_deref().unwrap_or(&options.service);
        let depth = depth_of(name, options.depth)?;
        let losses = context.open_counters(name, name);
        Ok(Self(ServiceSource::serve(context, (options, depth), losses, None)?))
    }

    /// Takes the oldest request, with the sender of its response. Neither blocks nor allocates.
    pub fn try_take(&mut self) -> Option<(Req, Reply<Resp>)> {
        self.0.take()
    }
}

/// A queue can become the source of an entity. From then on its losses count as the entity's.
impl<Req: Send + 'static, Resp: Send + 'static> Source for RequestQueue<Req, Resp> {
    type Item = (Req, Reply<Resp>);
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        if let Some(losses) = notifier.losses() {
            self.0.set_losses(Arc::clone(losses));
        }
        self.0.attach(notifier)
    }

    fn try_take(&mut self) -> Result<Option<Self::Item>, TakeError> {
        Ok(self.0.take())
    }

    fn pending(&self) -> Pending {
        self.0.pending()
    }

    fn closer(&self) -> Option<Closer> {
        Some(Box::new(self.0.closer()))
    }
}

impl<Req: Send + 'static, Resp: Send + 'static> fmt::Debug for RequestQueue<Req, Resp> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestQueue").finish_non_exhaustive()
    }
}
