//! Local services: services of a context, no ROS services. A callback answers requests, and clients await the
//! responses.

use crate::sync::{Mutex, MutexGuard};
use std::fmt;
use std::sync::Arc;

use rospin_core::Instant;

use crate::call::{Call, CallError, Reply, Sent};
use crate::clock::Clock;
use crate::context::Context;
use crate::error::{DepthTooLarge, GroupGone};
use crate::lock_free::depth::Depth;
use crate::lock_free::ring::{Consumer, Producer, ring};
use crate::loss::{LossCause, LossCounters};
use crate::options::ServiceOptions;
use crate::panics::contain_and_log;
use crate::registry::{Name, TypeMismatch};
use crate::source::{Notifier, Pending, Source, TakeError};
use crate::waiters::Waiters;
use crate::waits::{GroupKey, Waits};

/// Errors of creating a service or a client.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// The service has other request and response types.
    #[error(transparent)]
    TypeMismatch(#[from] TypeMismatch),
    /// The group was removed, or its executor dropped.
    #[error(transparent)]
    GroupGone(#[from] GroupGone),
    /// The service keeps more requests than a queue may.
    #[error(transparent)]
    DepthTooLarge(#[from] DepthTooLarge),
    /// Another service of that name exists.
    #[error("service `{service}` exists already; drop the other one first")]
    Duplicate {
        /// The name of the service.
        service: String,
    },
}

/// A request on its way, with the sender of its response.
pub(crate) struct Request<Req, Resp> {
    request: Req,
    reply: Reply<Resp>,
}

impl<Req, Resp> Request<Req, Resp> {
    /// Ends the call with that outcome, or unanswered. Drops the request, which runs user code.
    fn refuse(self, outcome: Option<CallError>) {
        let (request, reply) = self.open();
        contain_and_log("a request that was dropped", || drop(request));
        match outcome {
            Some(error) => reply.finish(Err(error)),
            None => drop(reply),
        }
    }

    /// Returns the request and the sender of its response.
    pub(crate) fn open(self) -> (Req, Reply<Resp>) {
        (self.request, self.reply)
    }
}

/// Endpoint at which a service and its clients find each other.
struct Endpoint<Req, Resp> {
    name: Name,
    state: Mutex<EndpointState<Req, Resp>>,
}

struct EndpointState<Req, Resp> {
    server: Option<Server<Req, Resp>>,
    /// The number of services of this name so far.
    servers: u64,
    /// Tasks that wait until the service exists.
    waiters: Waiters,
}

struct Server<Req, Resp> {
    id: u64,
    producer: Producer<Box<Request<Req, Resp>>>,
    notifier: Option<Notifier>,
    losses: Arc<LossCounters>,
    /// The group whose callbacks exclude the service's callback; `None` if the service is in a reentrant group, or has
    /// no callback.
    needs_group: Option<GroupKey>,
}

impl<Req: Send + 'static, Resp: Send + 'static> Endpoint<Req, Resp> {
    fn find(context: &Context, name: &str) -> Result<Arc<Self>, TypeMismatch> {
        context.services().get_or_insert::<Self, fn(Req) -> Resp>(name, |name| Self {
            name,
            state: Mutex::new(EndpointState { server: None, servers: 0, waiters: Waiters::new() }),
        })
    }

    fn lock(&self) -> MutexGuard<'_, EndpointState<Req, Resp>> {
        self.state.lock()
    }

    /// Ends the service that has the number `id`, if it has not ended yet.
    fn close(&self, id: u64) {
        let server = self.lock().server.take_if(|server| server.id == id);
        drop(server);
    }

    fn displaced(&self) -> CallError {
        CallError::QueueFull { service: self.name.to_owned() }
    }
}

/// A client of a local service: a service of its context, no ROS service. Cheap to clone.
///
/// ```
/// use rospin_engine::{Context, ContextOptions, ExecutorOptions, SpinOptions};
///
/// let context = Context::new(ContextOptions::new());
/// let executor = context.create_executor(ExecutorOptions::new("main"));
/// let adder = executor.create_group("adder", ());
/// let _service = adder.create_local_service("add", |_, (a, b): (i64, i64)| a + b)?;
/// let client = context.create_local_client::<(i64, i64), i64>("add")?;
///
/// let sum = executor.spin_until(client.call((40, 2)), SpinOptions::new())??;
/// assert_eq!(sum, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Client<Req: Send + 'static, Resp: Send + 'static> {
    endpoint: Arc<Endpoint<Req, Resp>>,
    clock: Clock,
    waits: Arc<Waits>,
}

impl Context {
    /// Creates a client of the local service called `service`, which need not exist yet. A local service is one of this
    /// context, no ROS service.
    ///
    /// # Errors
    /// If the service has other types.
    pub fn create_local_client<Req: Send + 'static, Resp: Send + 'static>(
        &self,
        service: &str,
    ) -> Result<Client<Req, Resp>, ServiceError> {
        Client::new(self, service)
    }
}

impl<Req: Send + 'static, Resp: Send + 'static> Client<Req, Resp> {
    pub(crate) fn new(context: &Context, service: &str) -> Result<Self, ServiceError> {
        let endpoint = Endpoint::find(context, service)?;
        Ok(Self { endpoint, clock: context.clock().clone(), waits: context.shared() })
    }

    /// Sends a request at once, and returns a future of the response. The service answers even if nobody awaits the
    /// future.
    ///
    /// The future may be awaited anywhere, also in asynchronous callbacks. It waits as long as the service takes: give
    /// it a [timeout](Call::timeout) if that may be too long.
    ///
    /// A call that could never end returns an error when it is awaited: if the caller [holds](CallError::SameGroup) the
    /// group that the service needs, if the call closes a [cycle](CallError::Cycle), or if a synchronous callback
    /// [blocks](CallError::InCallback) the service.
    ///
    /// May wait for another client of the same service, never for the service. Allocates.
    ///
    /// Cancel safe: a future that is dropped early loses the response, and nothing else. The request stays with the
    /// service.
    pub fn call(&self, request: Req) -> Call<Resp> {
        let service = self.endpoint.name.to_owned();
        let (sent, reply) = Sent::new(&self.clock, &self.waits);
        let stamp = self.clock.now();
        let mut state = self.endpoint.lock();
        let Some(server) = &mut state.server else {
            return Call::failed(CallError::Unavailable { service });
        };
        let needs_group = server.needs_group;
        let displaced = server.producer.push(Box::new(Request { request, reply }), stamp.as_nanos());
        if displaced.is_some() {
            server.losses.add(LossCause::QueueFull, 1);
        }
        let notifier = server.notifier.clone();
        drop(state);
        let executor = notifier.as_ref().map(|notifier| Arc::clone(notifier.executor()));
        if let Some(notifier) = notifier {
            notifier.notify_at(stamp);
        }
        if let Some(displaced) = displaced {
            displaced.message.refuse(Some(self.endpoint.displaced()));
        }
        sent.to(service, needs_group, executor)
    }

    /// Returns true if the service exists at this moment.
    #[must_use]
    pub fn service_is_ready(&self) -> bool {
        self.endpoint.lock().server.is_some()
    }

    /// Waits until the service exists, for as long as that takes.
    ///
    /// Locks for a moment when it is polled, and allocates. A synchronous callback that blocks on it waits for ever if
    /// its own thread is the one that would create the service.
    ///
    /// Cancel safe: a future that is dropped early has no effect.
    pub async fn wait_for_service(&self) {
        loop {
            let available = {
                let mut state = self.endpoint.lock();
                if state.server.is_some() {
                    return;
                }
                state.waiters.wait()
            };
            available.await;
        }
    }
}

impl<Req: Send + 'static, Resp: Send + 'static> Clone for Client<Req, Resp> {
    fn clone(&self) -> Self {
        let endpoint = Arc::clone(&self.endpoint);
        let clock = self.clock.clone();
        let waits = Arc::clone(&self.waits);
        Self { endpoint, clock, waits }
    }
}

impl<Req: Send + 'static, Resp: Send + 'static> fmt::Debug for Client<Req, Resp> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("service", &&*self.endpoint.name).finish_non_exhaustive()
    }
}

/// The service's end of an [`Endpoint`], from which its requests are taken.
pub(crate) struct ServiceSource<Req: Send + 'static, Resp: Send + 'static> {
    endpoint: Arc<Endpoint<Req, Resp>>,
    id: u64,
    consumer: Consumer<Box<Request<Req, Resp>>>,
    losses: Arc<LossCounters>,
}

impl<Req: Send + 'static, Resp: Send + 'static> ServiceSource<Req, Resp> {
    /// Creates the service. From now on requests are queued.
    pub(crate) fn serve(
        context: &Context,
        (options, depth): (&ServiceOptions, Depth),
        losses: Arc<LossCounters>,
        needs_group: Option<GroupKey>,
    ) -> Result<Self, ServiceError> {
        let endpoint = Endpoint::find(context, &options.service)?;
        let (producer, consumer) = ring(depth, ());
        let mut state = endpoint.lock();
        if state.server.is_some() {
            return Err(ServiceError::Duplicate { service: options.service.clone() });
        }
        state.servers += 1;
        let id = state.servers;
        state.server = Some(Server { id, producer, notifier: None, losses: Arc::clone(&losses), needs_group });
        let waiters = state.waiters.take();
        drop(state);
        waiters.wake();
        Ok(Self { endpoint, id, consumer, losses })
    }

    /// Returns a function that ends the service at once, although its callback may still be running.
    pub(crate) fn closer(&self) -> impl Fn() + Send + Sync + 'static {
        let endpoint = Arc::clone(&self.endpoint);
        let id = self.id;
        move || endpoint.close(id)
    }
}

impl<Req: Send + 'static, Resp: Send + 'static> ServiceSource<Req, Resp> {
    /// Takes the oldest request, with the sender of its response. From now on any thread may send the response.
    pub(crate) fn take(&mut self) -> Option<(Req, Reply<Resp>)> {
        let (request, reply) = self.consumer.pop()?.open();
        reply.leaves();
        Some((request, reply))
    }

    /// Sets the counters that count losses from now on.
    pub(crate) fn set_losses(&mut self, losses: Arc<LossCounters>) {
        if let Some(server) = self.endpoint.lock().server.as_mut().filter(|server| server.id == self.id) {
            server.losses = Arc::clone(&losses);
        }
        self.losses = losses;
    }
}

impl<Req: Send + 'static, Resp: Send + 'static> Source for ServiceSource<Req, Resp> {
    type Item = Request<Req, Resp>;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        if let Some(server) = self.endpoint.lock().server.as_mut().filter(|server| server.id == self.id) {
            server.notifier = Some(notifier);
        }
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<Self::Item>, TakeError> {
        Ok(self.consumer.pop().map(|request| *request))
    }

    fn pending(&self) -> Pending {
        self.consumer.oldest_stamp().map_or(Pending::Empty, |nanos| Pending::Since(Instant::from_nanos(nanos)))
    }
}

impl<Req: Send + 'static, Resp: Send + 'static> Drop for ServiceSource<Req, Resp> {
    fn drop(&mut self) {
        self.endpoint.close(self.id);
        let mut unanswered = 0;
        while let Some(request) = self.consumer.pop() {
            request.refuse(None);
            unanswered += 1;
        }
        self.losses.add(LossCause::EntityDropped, unanswered);
    }
}
