//! Calls of services: futures of responses, and the reasons why a call ends without one.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use futures_channel::oneshot;
use rospin_core::{ClockKind, Instant};

use crate::clock::Clock;
use crate::current::{self, Running, SpinningThread, holds};
use crate::panics::contain_and_log;
use crate::shared::Shared;
use crate::sleep::{Sleep, SleepError};
use crate::waits::{Answered, GroupKey, Progress, Wait, Waits};

/// Reasons why a call ends without a response.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// No service of that name exists at this moment.
    #[error("there is no service `{service}`; await `Client::wait_for_service` first")]
    Unavailable {
        /// The name of the service.
        service: String,
    },
    /// The request was displaced by newer ones before the service could take it.
    #[error("service `{service}` has too many requests waiting; this one was dropped")]
    QueueFull {
        /// The name of the service.
        service: String,
    },
    /// The service was dropped, or its callback panicked, before it answered.
    #[error("service `{service}` ended without an answer")]
    Unanswered {
        /// The name of the service.
        service: String,
    },
    /// The response did not come [in time](Call::timeout).
    #[error("service `{service}` did not answer within {after:?}")]
    Timeout {
        /// The name of the service.
        service: String,
        /// The time that was set with [`Call::timeout`].
        after: Duration,
    },
    /// The callback that awaits the call holds the mutually exclusive group that the service needs, so it would wait
    /// for ever. The request was sent nevertheless.
    #[error(
        "service `{service}` is in the group that its caller holds; put it into another group, or register the caller with \
         releases_group_at_await"
    )]
    SameGroup {
        /// The name of the service.
        service: String,
    },
    /// A synchronous callback waits for the call, and the service cannot run before the callback returns. Either both
    /// are in one group, or the callback blocks the only thread of the service's executor. The request was sent
    /// nevertheless.
    #[error(
        "service `{service}` cannot run before the synchronous callback that waits for it returns; make the callback asynchronous \
         and await the call, or put the service on another executor"
    )]
    InCallback {
        /// The name of the service.
        service: String,
    },
    /// The call would close a cycle of callbacks that wait for each other: the service needs a group whose callback
    /// waits, directly or through others, for the group that the caller holds. The request was sent nevertheless.
    ///
    /// Cycles are found among calls that are awaited while a mutually exclusive group is held, over all executors of a
    /// context. Calls with a [timeout](Call::timeout) do not count, since they end by themselves. Nor do calls of
    /// callbacks that hold no group meanwhile. A callback that may give up its call by other means (a `select!`) counts
    /// as waiting until it does.
    #[error(
        "the call of service `{service}` would close a cycle of callbacks that wait for each other, by calls of {}; register one \
         of them with releases_group_at_await, or put it into a group of its own",
        list(cycle)
    )]
    Cycle {
        /// The name of the service.
        service: String,
        /// The services that are called on the cycle, this one first. Each is called by a callback that holds the group
        /// of the service before it.
        cycle: Vec<String>,
    },
}

fn list(services: &[String]) -> String {
    let quoted: Vec<_> = services.iter().map(|service| format!("`{service}`")).collect();
    quoted.join(", ")
}

/// Sender of the response to a request. If it is dropped unused, the call ends [unanswered](CallError::Unanswered).
#[must_use = "the call ends unanswered if it is dropped"]
pub struct Reply<Resp> {
    /// The parts of the reply; `None` once it was sent.
    parts: Option<Parts<Resp>>,
}

struct Parts<Resp> {
    answered: Answered,
    sender: oneshot::Sender<Result<Resp, CallError>>,
}

impl<Resp> Parts<Resp> {
    /// Ends the call, with that outcome or unanswered. The caller's waker is foreign code, and so is the drop of a
    /// response that nobody awaits.
    fn end(self, outcome: Option<Result<Resp, CallError>>) {
        let Self { answered, sender } = self;
        // Dropped before the caller is told: one that has its response must not count as waiting.
        drop(answered);
        contain_and_log("the caller of a service, when it was told,", || match outcome {
            // Fails if the call was dropped.
            Some(outcome) => drop(sender.send(outcome)),
            None => drop(sender),
        });
    }
}

impl<Resp> Reply<Resp> {
    /// Sends the response and wakes the task that awaits the call. If the call was dropped or has timed out, the
    /// response is dropped. Allocates nothing.
    pub fn send(self, response: Resp) {
        self.finish(Ok(response));
    }

    /// Notes that the response may come from any thread, and not only from a callback of the service's executor.
    pub(crate) fn leaves(&self) {
        if let Some(parts) = &self.parts {
            parts.answered.leaves();
        }
    }

    pub(crate) fn finish(mut self, outcome: Result<Resp, CallError>) {
        if let Some(parts) = self.parts.take() {
            parts.end(Some(outcome));
        }
    }
}

impl<Resp> Drop for Reply<Resp> {
    fn drop(&mut self) {
        if let Some(parts) = self.parts.take() {
            parts.end(None);
        }
    }
}

impl<Resp> fmt::Debug for Reply<Resp> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply").finish_non_exhaustive()
    }
}

/// A future of the response to a request.
///
/// Any task or thread may await it, inside of callbacks or outside. It ends with the response, or with an error that
/// says why no response will come, for example because the service was dropped. It waits as long as the service is busy
/// or its executor does not spin, unless it has a [timeout](Self::timeout).
///
/// Cancel safe: dropped early, it loses the response, and nothing else.
///
/// # Errors
/// See [`CallError`].
#[must_use = "the response is lost unless the call is awaited"]
pub struct Call<Resp> {
    service: String,
    outcome: Outcome<Resp>,
}

enum Outcome<Resp> {
    Failed(CallError),
    Waiting(Sent<Resp>),
}

/// A request that was sent, with the group and the executor of the service that answers it.
pub(crate) struct Sent<Resp> {
    receiver: oneshot::Receiver<Result<Resp, CallError>>,
    progress: Arc<Progress>,
    /// The group whose callbacks exclude the service's callback; `None` if the service is in a reentrant group, or has
    /// no callback.
    needs_group: Option<GroupKey>,
    /// The executor that runs the service, if one does.
    executor: Option<Arc<Shared>>,
    clock: Clock,
    waits: Arc<Waits>,
    /// The wait of the caller's group for the service's group, while there is one.
    wait: Option<Arc<Wait>>,
    limit: Option<Box<Limit>>,
}

/// The timeout of a call, and the sleep that ends when it has passed.
struct Limit {
    after: Duration,
    due: Instant,
    sleep: Option<Sleep>,
}

impl<Resp> Call<Resp> {
    pub(crate) const fn failed(error: CallError) -> Self {
        Self { service: String::new(), outcome: Outcome::Failed(error) }
    }

    /// Sets the time from now, on the steady clock, after which the call ends with [`CallError::Timeout`]. The service
    /// runs nevertheless, and its late response is dropped.
    ///
    /// The executor whose thread polls the call watches the time. If no executor polls it, the service's executor does.
    /// While that executor does not spin, the timeout does not pass. A call has no timeout if no executor polls it and
    /// the service is a [`RequestQueue`](crate::RequestQueue) outside of executors.
    ///
    /// Reads the clock and allocates; neither blocks nor locks.
    ///
    /// ```
    /// use std::time::Duration;
    /// use rospin_engine::{CallError, Context, ContextOptions, ExecutorOptions, SpinOptions};
    ///
    /// let context = Context::new(ContextOptions::new());
    /// let executor = context.create_executor(ExecutorOptions::new("main"));
    /// let asleep = context.create_executor(ExecutorOptions::new("does not spin"));
    /// let _service = asleep.create_group("adder", ()).create_local_service("add", |_, (a, b): (i64, i64)| a + b)?;
    /// let client = context.create_local_client::<(i64, i64), i64>("add")?;
    ///
    /// let call = client.call((40, 2)).timeout(Duration::from_millis(10));
    /// let sum = executor.spin_until(call, SpinOptions::new())?;
    /// assert!(matches!(sum, Err(CallError::Timeout { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn timeout(mut self, after: Duration) -> Self {
        if let Outcome::Waiting(sent) = &mut self.outcome {
            sent.limit = Some(Box::new(Limit { after, due: sent.clock.now() + after, sleep: None }));
        }
        self
    }
}

impl<Resp> Sent<Resp> {
    /// Creates the future of a request that is about to be sent, and the sender of its response.
    pub(crate) fn new(clock: &Clock, waits: &Arc<Waits>) -> (Self, Reply<Resp>) {
        let (sender, receiver) = oneshot::channel();
        let progress = Arc::<Progress>::default();
        let reply = Reply { parts: Some(Parts { answered: Answered::new(&progress), sender }) };
        let clock = clock.clone();
        let waits = Arc::clone(waits);
        let sent =
            Self { receiver, progress, needs_group: None, executor: None, clock, waits, wait: None, limit: None };
        (sent, reply)
    }

    /// Returns the call, after the request was sent to a service that needs that group and runs on that executor.
    pub(crate) fn to(
        mut self,
        service: String,
        needs_group: Option<GroupKey>,
        executor: Option<Arc<Shared>>,
    ) -> Call<Resp> {
        (self.needs_group, self.executor) = (needs_group, executor);
        Call { service, outcome: Outcome::Waiting(self) }
    }

    /// Returns the reason why the call can never end, or has timed out; `None` while a response may still come.
    fn hopeless(&mut self, service: &str, cx: &mut TaskContext<'_>) -> Option<CallError> {
        let service = || service.to_owned();
        let running = Running::here();
        if holds(self.needs_group) {
            let service = service();
            let is_blocking = running.is_synchronous();
            return Some(if is_blocking {
                CallError::InCallback { service }
            } else {
                CallError::SameGroup { service }
            });
        }
        if running.is_synchronous() && self.needs_this_thread() {
            return Some(CallError::InCallback { service: service() });
        }
        if let Some(limit) = &mut self.limit {
            return match limit.poll(self.executor.as_ref(), cx) {
                Poll::Ready(Ok(())) => Some(CallError::Timeout { service: service(), after: limit.after }),
                Poll::Ready(Err(SleepError::InCallback { .. })) => Some(CallError::InCallback { service: service() }),
                // The executor that watches the time is gone. If it is the service's, the call ends unanswered.
                Poll::Ready(Err(_)) | Poll::Pending => None,
            };
        }
        // A call with a timeout has returned above: it ends by itself, so it closes no cycle.
        self.wait_for_group(running, &service()).err().map(|cycle| CallError::Cycle { service: service(), cycle })
    }

    /// Returns true if only this thread can run the service.
    fn needs_this_thread(&self) -> bool {
        let is_its = |executor: &Arc<Shared>, spinning: &SpinningThread| {
            Arc::ptr_eq(executor, &spinning.executor) && spinning.is_busy()
        };
        !self.progress.is_out()
            && self
                .executor
                .as_ref()
                .zip(SpinningThread::here())
                .is_some_and(|(executor, spinning)| is_its(executor, &spinning))
    }

    /// Notes that the group that the callback holds waits for the service's group. Notes nothing if the callback holds
    /// none.
    ///
    /// # Errors
    /// If the wait would close a cycle. The error has the services that are called on it.
    fn wait_for_group(&mut self, running: Running, service: &str) -> Result<(), Vec<String>> {
        let holder = running.group();
        if self.wait.as_ref().is_some_and(|wait| holder.is_some_and(|holder| wait.is_by(holder))) {
            return Ok(());
        }
        self.forget_wait();
        if let (Some(holder), Some(needs)) = (holder, self.needs_group) {
            let wait = self.waits.add(Wait::new(holder, needs, service, &self.progress))?;
            current::note_wait(Arc::clone(&wait));
            self.wait = Some(wait);
        }
        Ok(())
    }

    fn forget_wait(&mut self) {
        if let Some(wait) = self.wait.take() {
            self.waits.remove(&wait);
        }
    }
}

impl<Resp> Drop for Sent<Resp> {
    fn drop(&mut self) {
        self.forget_wait();
    }
}

impl Limit {
    /// Polls the sleep. If no executor polls it, `service_on`, the service's executor, watches the time. Pending for
    /// ever if there is no executor at all.
    fn poll(&mut self, service_on: Option<&Arc<Shared>>, cx: &mut TaskContext<'_>) -> Poll<Result<(), SleepError>> {
        let due = self.due;
        let sleep = match &mut self.sleep {
            Some(sleep) => sleep,
            None => match service_on.cloned().or_else(|| SpinningThread::here().map(|spinning| spinning.executor)) {
                Some(executor) => self.sleep.insert(Sleep::until(&executor, ClockKind::Steady, due)),
                None => return Poll::Pending,
            },
        };
        Pin::new(sleep).poll(cx)
    }
}

impl<Resp> Future for Call<Resp> {
    type Output = Result<Resp, CallError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let Self { service, outcome } = &mut *self;
        let sent = match outcome {
            Outcome::Failed(error) => return Poll::Ready(Err(error.clone())),
            Outcome::Waiting(sent) => sent,
        };
        let polled = Pin::new(&mut sent.receiver).poll(cx);
        let unanswered = |_| CallError::Unanswered { service: service.clone() };
        if let Poll::Ready(answer) = polled {
            sent.forget_wait();
            return Poll::Ready(answer.map_err(unanswered).flatten());
        }
        match sent.hopeless(service, cx) {
            Some(error) => {
                *outcome = Outcome::Failed(error.clone());
                Poll::Ready(Err(error))
            }
            None => Poll::Pending,
        }
    }
}

impl<Resp> fmt::Debug for Call<Resp> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("service", &self.service).finish_non_exhaustive()
    }
}
