//! The waiting part of actions, for scripts that can wait.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, SystemTime};

use rospin_engine::{Barrier, Call, CallError, Instant, Rate, Sleep, Time, TimeoutError};

use super::model::{At, Event, Place, Rule, Tick, Ticks, WaitOn};
use super::operations::{does, does_all};
use super::program::{Action, Clock, Ms};
use super::script::{kind, ms};
use super::world::{Request, Response, World};

type Outcome = Result<Response, CallError>;

/// The waiting part of an action.
pub(crate) enum Waiting {
    Sleep(Sleep, WaitOn, At),
    Call(Call<Response>, usize),
    /// A call that ends after some time.
    Within(Pin<Box<dyn Future<Output = Result<Outcome, TimeoutError>> + Send>>, WaitOn),
    /// A wait until a service or a subscription is there.
    There(Pin<Box<dyn Future<Output = ()> + Send>>, WaitOn, At),
    Tick(Box<Beat>, WaitOn, Tick, At),
    Barrier(Barrier),
    Yield,
}

/// A rate of a script, with the executor that it belongs to.
pub(crate) struct Beat {
    rate: Rate,
    ticks: Ticks,
    of: (usize, Clock, Ms),
}

/// Things that belong to one run of a script.
#[derive(Default)]
pub(crate) struct Own {
    beats: Vec<Beat>,
    /// True if the next waker panics.
    panics: bool,
}

impl Own {
    /// Does an action that concerns the script alone. Returns `None` if it is any other action.
    pub(crate) fn act(&mut self, world: &Arc<World>, action: &Action) -> Option<Option<Waiting>> {
        match *action {
            Action::PanicWaker => self.panics = true,
            Action::ResetRates => {
                for beat in &mut self.beats {
                    does("Rate::reset");
                    beat.ticks = world.note(|model, _| model.rate_begins(beat.of.1, beat.of.2));
                    beat.rate.reset();
                    world.note(|model, _| model.rate_began(&mut beat.ticks));
                }
            }
            Action::Tick(executor, clock, period) => return Some(self.tick(world, (executor, clock, period))),
            _ => return None,
        }
        Some(None)
    }

    fn tick(&mut self, world: &Arc<World>, of: (usize, Clock, Ms)) -> Option<Waiting> {
        let (executor, clock, period) = of;
        let at = self.beats.iter().position(|beat| beat.of == of);
        let beat = match at {
            Some(at) => Box::new(self.beats.swap_remove(at)),
            None => {
                let handle = world.tables().executors.get(executor)?.clone()?;
                does("ExecutorHandle::create_rate");
                let mut ticks = world.note(|model, _| model.rate_begins(clock, period));
                let rate = handle.create_rate(kind(clock), ms(period)).expect("its period is not zero");
                world.note(|model, _| model.rate_began(&mut ticks));
                Box::new(Beat { rate, ticks, of })
            }
        };
        does("Rate::period");
        if beat.rate.period() != ms(period) {
            world.note(|model, _| model.broken(Rule::Engine, "a rate has another period".to_owned()));
        }
        let (on, tick) = world.note(|model, _| model.tick_on(&beat.ticks, executor));
        let since = world.note(|model, task| model.note(task, Event::Did("waits for a tick")));
        Some(Waiting::Tick(beat, on, tick, since))
    }

    /// Waits as the script does.
    pub(crate) async fn finish(&mut self, world: &Arc<World>, waiting: Waiting) {
        // A script that wakes itself would panic itself.
        let panics = !matches!(waiting, Waiting::Yield) && std::mem::take(&mut self.panics);
        // Other futures than sleeps drop wakers where user code drops the future.
        let drops = matches!(waiting, Waiting::Sleep(..));
        let end = finish(world, waiting);
        let beat = if panics { Touchy { end: Box::pin(end), drops }.await } else { end.await };
        self.beats.extend(beat.map(|beat| *beat));
    }
}

pub(crate) const fn on(waiting: &Waiting) -> WaitOn {
    match waiting {
        Waiting::Sleep(_, on, _) | Waiting::Within(_, on) | Waiting::There(_, on, _) | Waiting::Tick(_, on, ..) => *on,
        Waiting::Call(_, item) => WaitOn::Call { item: *item },
        Waiting::Barrier(_) => WaitOn::Barrier,
        Waiting::Yield => WaitOn::Itself,
    }
}

/// Waits, and returns the rate that it used.
pub(crate) async fn finish(world: &Arc<World>, waiting: Waiting) -> Option<Box<Beat>> {
    match waiting {
        Waiting::Sleep(sleep, on, since) => {
            let slept = sleep.await;
            world.note(|model, task| model.slept(task, on, since, slept.is_ok()));
        }
        Waiting::Call(call, item) => answered(world, item, call.await),
        Waiting::Within(call, on) => {
            let WaitOn::Within { item, .. } = on else {
                unreachable!("it waits for a response");
            };
            match call.await {
                Err(TimeoutError::Elapsed(_)) | Ok(Err(CallError::Timeout { .. })) => {
                    world.note(|model, task| model.timed_out(task, on));
                }
                Ok(outcome) => answered(world, item, outcome),
                Err(error) => world.note(|model, task| model.answered(task, item, error.to_string())),
            }
        }
        Waiting::There(there, on, since) => {
            // Once the rounds are over, nobody comes any more.
            let came = world.gate.unless_over(there).await;
            if came {
                world.note(|model, task| model.came(task, on, since));
            }
        }
        Waiting::Tick(mut beat, on, mut tick, since) => {
            let ticks = beat.ticks.clone();
            let ticked = {
                let mut next = pin!(beat.rate.tick());
                does("Rate::tick");
                let mut is_first = true;
                std::future::poll_fn(|cx| {
                    let polled = next.as_mut().poll(cx);
                    if std::mem::take(&mut is_first) {
                        world.note(|model, task| model.tick_polled(task, &ticks, &mut tick));
                    }
                    polled
                })
                .await
            };
            world.note(|model, task| model.slept(task, on, since, ticked.is_ok()));
            if let Ok(in_time) = ticked {
                world.note(|model, _| model.ticked(&mut beat.ticks, tick, in_time));
            }
            return Some(beat);
        }
        Waiting::Barrier(barrier) => {
            let outcome = format!("{:?}", barrier.await);
            world.note(|model, task| model.note(task, Event::RosMoved { outcome }));
        }
        Waiting::Yield => yield_once().await,
    }
    None
}

fn answered(world: &Arc<World>, item: usize, outcome: Outcome) {
    let outcome = match outcome {
        Ok(response) => {
            drop(response.token);
            "a response".to_owned()
        }
        Err(error) => error.to_string(),
    };
    world.note(|model, task| model.answered(task, item, outcome));
}

/// Wakes itself and lets other callbacks go first.
pub(crate) async fn yield_once() {
    let mut is_first = true;
    std::future::poll_fn(|cx| {
        if std::mem::take(&mut is_first) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    })
    .await;
}

pub(crate) fn call(world: &Arc<World>, service: usize) -> Option<Waiting> {
    let (call, item) = send_request(world, service)?;
    Some(Waiting::Call(call, item))
}

fn send_request(world: &Arc<World>, service: usize) -> Option<(Call<Response>, usize)> {
    if !world.spend() {
        return None;
    }
    does_all(&["Client::call", "Client::service_is_ready"]);
    let item = world.note(|model, task| model.sends(task, Place::Service(service)));
    let call = world.clients[service].call(Request { item, _token: world.token() });
    world.note(|model, task| model.called(task, item));
    Some((call, item))
}

/// Calls with a limit, which the executor measures, or whoever waits for the call.
pub(crate) fn call_within(world: &Arc<World>, service: usize, executor: Option<usize>, limit: Ms) -> Option<Waiting> {
    let handle = match executor {
        Some(executor) => Some(world.tables().executors.get(executor)?.clone()?),
        None => None,
    };
    let (call, item) = send_request(world, service)?;
    let on = world.note(|model, _| model.within(item, executor, limit));
    let future: Pin<Box<dyn Future<Output = _> + Send>> = match handle {
        Some(handle) => {
            does("ExecutorHandle::timeout");
            Box::pin(handle.timeout(kind(Clock::Steady), ms(limit), call))
        }
        None => {
            does("Call::timeout");
            let call = call.timeout(ms(limit));
            Box::pin(async { Ok(call.await) })
        }
    };
    let on = world.note(|model, _| model.within_made(on, limit));
    Some(Waiting::Within(future, on))
}

pub(crate) fn sleep(world: &Arc<World>, executor: usize, clock: Clock, duration: Ms) -> Option<Waiting> {
    let handle = world.tables().executors.get(executor)?.clone()?;
    does("ExecutorHandle::sleep");
    let since = world.note(|model, task| model.note(task, Event::Did("makes a sleep")));
    let on = world.note(|model, _| model.sleep_on(executor, clock, duration));
    let sleep = handle.sleep(kind(clock), ms(duration));
    let on = world.note(|model, _| model.sleep_made(on, duration));
    Some(Waiting::Sleep(sleep, on, since))
}

pub(crate) fn sleep_until(world: &Arc<World>, executor: usize, clock: Clock, until: Ms) -> Option<Waiting> {
    let handle = world.tables().executors.get(executor)?.clone()?;
    does("ExecutorHandle::sleep_until");
    let since = world.note(|model, task| model.note(task, Event::Did("makes a sleep until a time")));
    let sleep = match clock {
        Clock::Steady => handle.sleep_until(Instant::from_millis(until)),
        Clock::System => handle.sleep_until(SystemTime::UNIX_EPOCH + Duration::from_millis(until)),
        Clock::Ros => handle.sleep_until(Time::from_millis(until)),
    };
    let on = WaitOn::Sleep { executor, clock, not_before: until, due_by: until };
    Some(Waiting::Sleep(sleep, on, since))
}

pub(crate) fn await_service(world: &Arc<World>, name: usize) -> Waiting {
    does("Client::wait_for_service");
    let since = world.note(|model, task| model.note(task, Event::Did("waits for a service")));
    let client = world.clients[name].clone();
    Waiting::There(Box::pin(async move { client.wait_for_service().await }), WaitOn::Service { name }, since)
}

pub(crate) fn await_subscription(world: &Arc<World>, topic: usize) -> Waiting {
    does_all(&["TopicEnds::wait_for_subscription", "TopicEnds::wait_for_publisher"]);
    let since = world.note(|model, task| model.note(task, Event::Did("waits for a subscription")));
    let ends = world.publishers[topic].ends();
    let (publisher, subscription) = (ends.wait_for_publisher(), ends.wait_for_subscription());
    let both = async {
        publisher.await;
        subscription.await;
    };
    Waiting::There(Box::pin(both), WaitOn::Subscription { topic }, since)
}

/// A future whose wakers panic: when they are called, or, with `drops`, when they are dropped.
struct Touchy<F> {
    end: Pin<Box<F>>,
    drops: bool,
}

impl<F: Future> Future for Touchy<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let waker = Waker::from(Arc::new(TouchyWaker { waker: cx.waker().clone(), drops: self.drops }));
        let polled = self.end.as_mut().poll(&mut Context::from_waker(&waker));
        // This may be the last one of the waker.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(waker)));
        polled
    }
}

struct TouchyWaker {
    waker: Waker,
    drops: bool,
}

impl Wake for TouchyWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.waker.wake_by_ref();
        assert!(self.drops, "a waker panics, as it was asked to");
    }
}

impl Drop for TouchyWaker {
    fn drop(&mut self) {
        assert!(!self.drops || std::thread::panicking(), "the drop of a waker panics, as it was asked to");
    }
}
