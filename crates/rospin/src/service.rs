//! In-process services: requests to a callback, replies that can be awaited.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as TaskContext, Poll};

use futures_channel::oneshot;
use rospin_core::Instant;

use crate::body::{GroupKey, holds};
use crate::clock::Clock;
use crate::context::Context;
use crate::group_core::GroupGone;
use crate::lock_free::ring::{Consumer, Producer, ring};
use crate::loss::{LossCause, LossCounters};
use crate::options::ServiceOptions;
use crate::registry::TypeMismatch;
use crate::source::{Notifier, Pending, Source, TakeError};
use crate::waiters::Waiters;

/// Why a service or a client could not be created.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// The service has other request and response types.
    #[error(transparent)]
    TypeMismatch(#[from] TypeMismatch),
    /// The group was removed, or its executor dropped.
    #[error(transparent)]
    GroupGone(#[from] GroupGone),
    /// Somebody else answers these requests.
    #[error("service `{service}` exists already; drop the other one first")]
    Duplicate {
        /// The service.
        service: String,
    },
}

/// Why a call has no response.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// There is no such service at this moment.
    #[error("there is no service `{service}`; await `Client::wait_for_service` first")]
    Unavailable {
        /// The service.
        service: String,
    },
    /// The request was displaced by newer ones before the service could take it.
    #[error("service `{service}` has too many requests waiting; this one was dropped")]
    QueueFull {
        /// The service.
        service: String,
    },
    /// The service was dropped, or its callback panicked, before it answered.
    #[error("service `{service}` ended without an answer")]
    Unanswered {
        /// The service.
        service: String,
    },
    /// Whoever awaits the call holds the mutually exclusive group that the service needs, and would wait for ever. The
    /// request was sent nevertheless.
    ///
    /// Only the direct case is seen: if A waits for B while B waits for A's group, both wait.
    #[error(
        "service `{service}` is in the group that its caller holds; put it into another group, or register the caller with \
         releases_group_at_await"
    )]
    SameGroup {
        /// The service.
        service: String,
    },
}

/// A request on its way, and where its answer goes.
pub(crate) struct Request<Req, Resp> {
    request: Req,
    reply: oneshot::Sender<Result<Resp, CallError>>,
}

impl<Req, Resp> Request<Req, Resp> {
    /// The request, and where to send the response.
    pub(crate) fn open(self) -> (Req, Reply<Resp>) {
        (self.request, Reply(self.reply))
    }
}

/// Where the response to a request goes. If it is dropped, the call ends [unanswered](CallError::Unanswered).
#[must_use = "the call ends unanswered if it is dropped"]
pub struct Reply<Resp>(oneshot::Sender<Result<Resp, CallError>>);

impl<Resp> fmt::Debug for Reply<Resp> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply").finish_non_exhaustive()
    }
}

impl<Resp> Reply<Resp> {
    /// Answers. Allocates nothing; wakes whoever awaits the call.
    pub fn send(self, response: Resp) {
        // A caller that lost interest does not mind.
        let _ = self.0.send(Ok(response));
    }
}

/// The meeting point of a service and its clients.
struct Endpoint<Req, Resp> {
    name: String,
    state: Mutex<EndpointState<Req, Resp>>,
}

struct EndpointState<Req, Resp> {
    server: Option<Server<Req, Resp>>,
    /// Counts services of this name, one after the other.
    servers: u64,
    /// Clients that wait for a service.
    waiters: Waiters,
}

struct Server<Req, Resp> {
    id: u64,
    producer: Producer<Box<Request<Req, Resp>>>,
    notifier: Option<Notifier>,
    losses: Arc<LossCounters>,
    /// The group that the callback needs, unless it is reentrant.
    needs_group: Option<GroupKey>,
}

impl<Req: Send + 'static, Resp: Send + 'static> Endpoint<Req, Resp> {
    fn find(context: &Context, name: &str) -> Result<Arc<Self>, TypeMismatch> {
        context.services().get_or_insert::<Self, fn(Req) -> Resp>(name, || Self {
            name: name.to_owned(),
            state: Mutex::new(EndpointState { server: None, servers: 0, waiters: Waiters::new() }),
        })
    }

    fn lock(&self) -> MutexGuard<'_, EndpointState<Req, Resp>> {
        // No user code runs under the lock, so a panic left nothing half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the service with that number, if it has not ended.
    fn close(&self, id: u64) {
        let server = self.lock().server.take_if(|server| server.id == id);
        drop(server);
    }

    fn displaced(&self) -> CallError {
        CallError::QueueFull { service: self.name.clone() }
    }
}

/// Calls a service. Cheap to clone.
///
/// ```
/// use rospin::{Context, ContextOptions, ExecutorOptions, SpinOptions};
///
/// let context = Context::new(ContextOptions::new());
/// let executor = context.create_executor(ExecutorOptions::new("main"));
/// let adder = executor.create_group("adder", ());
/// let _service = adder.create_service("add", |_, (a, b): (i64, i64)| a + b)?;
/// let client = context.create_client::<(i64, i64), i64>("add")?;
///
/// let sum = executor.spin_until(client.call((40, 2)), SpinOptions::new())??;
/// assert_eq!(sum, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Client<Req: Send + 'static, Resp: Send + 'static> {
    endpoint: Arc<Endpoint<Req, Resp>>,
    clock: Clock,
}

impl<Req: Send + 'static, Resp: Send + 'static> Client<Req, Resp> {
    pub(crate) fn new(context: &Context, service: &str) -> Result<Self, ServiceError> {
        Ok(Self { endpoint: Endpoint::find(context, service)?, clock: context.clock().clone() })
    }

    /// Sends a request now; the response can be awaited anywhere, inside callbacks, too. A call that nobody awaits is
    /// answered nevertheless.
    ///
    /// May wait for another client of the same service, never for the service. Allocates.
    pub fn call(&self, request: Req) -> Call<Resp> {
        let (reply, receiver) = oneshot::channel();
        let service = self.endpoint.name.clone();
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
        if let Some(notifier) = notifier {
            notifier.notify_at(stamp);
        }
        if let Some(displaced) = displaced {
            let _ = displaced.reply.send(Err(self.endpoint.displaced()));
        }
        Call { service, needs_group, outcome: Outcome::Waiting(receiver) }
    }

    /// Whether somebody answers calls at this moment.
    #[must_use]
    pub fn service_is_ready(&self) -> bool {
        self.endpoint.lock().server.is_some()
    }

    /// Waits until somebody answers calls.
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
        Self { endpoint: Arc::clone(&self.endpoint), clock: self.clock.clone() }
    }
}

impl<Req: Send + 'static, Resp: Send + 'static> fmt::Debug for Client<Req, Resp> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("service", &self.endpoint.name).finish_non_exhaustive()
    }
}

/// A call that was sent: a future of its response.
#[must_use = "the response is lost unless the call is awaited"]
pub struct Call<Resp> {
    service: String,
    needs_group: Option<GroupKey>,
    outcome: Outcome<Resp>,
}

enum Outcome<Resp> {
    Failed(CallError),
    Waiting(oneshot::Receiver<Result<Resp, CallError>>),
}

impl<Resp> Call<Resp> {
    const fn failed(error: CallError) -> Self {
        Self { service: String::new(), needs_group: None, outcome: Outcome::Failed(error) }
    }
}

impl<Resp> Future for Call<Resp> {
    type Output = Result<Resp, CallError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        match &mut self.outcome {
            Outcome::Failed(error) => Poll::Ready(Err(error.clone())),
            Outcome::Waiting(receiver) => match Pin::new(receiver).poll(cx) {
                Poll::Ready(Ok(response)) => Poll::Ready(response),
                Poll::Ready(Err(_)) => {
                    Poll::Ready(Err(CallError::Unanswered { service: std::mem::take(&mut self.service) }))
                }
                Poll::Pending if holds(self.needs_group) => {
                    Poll::Ready(Err(CallError::SameGroup { service: std::mem::take(&mut self.service) }))
                }
                Poll::Pending => Poll::Pending,
            },
        }
    }
}

impl<Resp> fmt::Debug for Call<Resp> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("service", &self.service).finish_non_exhaustive()
    }
}

/// A service's end of its endpoint.
pub(crate) struct ServiceSource<Req: Send + 'static, Resp: Send + 'static> {
    endpoint: Arc<Endpoint<Req, Resp>>,
    id: u64,
    consumer: Consumer<Box<Request<Req, Resp>>>,
    losses: Arc<LossCounters>,
}

impl<Req: Send + 'static, Resp: Send + 'static> ServiceSource<Req, Resp> {
    /// From here on requests are queued.
    pub(crate) fn serve(
        context: &Context,
        options: &ServiceOptions,
        losses: Arc<LossCounters>,
        needs_group: Option<GroupKey>,
    ) -> Result<Self, ServiceError> {
        let endpoint = Endpoint::find(context, &options.service)?;
        let (producer, consumer) = ring(options.depth);
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

    /// What ends the service at once, while its callback may still be running.
    pub(crate) fn closer(&self) -> impl Fn() + Send + Sync + 'static {
        let (endpoint, id) = (Arc::clone(&self.endpoint), self.id);
        move || endpoint.close(id)
    }
}

impl<Req: Send + 'static, Resp: Send + 'static> ServiceSource<Req, Resp> {
    /// Takes the oldest request, and where its response goes.
    pub(crate) fn take(&mut self) -> Option<(Req, Reply<Resp>)> {
        self.consumer.pop().map(|request| request.open())
    }

    /// Counts what is lost from now on there.
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
        // Their callers are told by the reply that is dropped.
        let unanswered = std::iter::from_fn(|| self.consumer.pop()).count();
        self.losses.add(LossCause::EntityDropped, unanswered as u64);
    }
}
