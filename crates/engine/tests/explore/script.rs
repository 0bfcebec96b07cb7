//! Runs scripts: in callbacks, on outside threads, and between rounds.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rospin_engine::{Barrier, Call, ClockKind, Payload, Sleep, SpinEnd, SpinError, SpinOptions};

use super::create::create;
use super::model::{At, Change, Event, Place, SpinResult, WaitOn};
use super::program::{Action, Clock, Ms, SpinPlan, Until};
use super::world::{Group, Handle, Load, Request, Response, World};

/// The waiting part of an action, for scripts that can wait.
pub(crate) enum Waiting {
    Sleep(Sleep, WaitOn, At),
    Call(Call<Response>, usize),
    Barrier(Barrier),
    Yield,
}

pub(crate) const fn ms(ms: Ms) -> Duration {
    Duration::from_millis(ms)
}

pub(crate) const fn kind(clock: Clock) -> ClockKind {
    match clock {
        Clock::Steady => ClockKind::Steady,
        Clock::System => ClockKind::System,
        Clock::Ros => ClockKind::Ros,
    }
}

/// Does the part of an action that needs no waiting, and returns the rest, if there is one. `run` is the activation
/// whose callback does it; `None` outside of callbacks.
pub(crate) fn act(world: &Arc<World>, run: Option<usize>, action: &Action) -> Option<Waiting> {
    match *action {
        Action::Publish(topic) => publish(world, topic),
        Action::Call(service) => return call(world, service),
        Action::CallAndForget(service) => drop(call(world, service)),
        Action::Send(channel) if world.spend() => world.channels[channel].change(Some(world.token()), false, false),
        Action::CloseChannel(channel) => world.channels[channel].change(None, true, false),
        Action::Poison(channel) => world.channels[channel].change(None, false, true),
        Action::Create(entity) if world.spend() => create(world, entity),
        Action::Drop(entity) => drop_entity(world, entity, false),
        Action::Detach(entity) => drop_entity(world, entity, true),
        Action::Cancel(entity) => change(world, entity, Change::Cancel),
        Action::Reset(entity) => change(world, entity, Change::Reset),
        Action::SetPeriod(entity, period) => change(world, entity, Change::Period(period)),
        Action::Sleep(executor, clock, duration) => return sleep(world, executor, clock, duration),
        Action::SleepAndForget(executor, clock, duration) => drop(sleep(world, executor, clock, duration)),
        Action::Yield => return Some(Waiting::Yield),
        Action::Gate if run.is_some() && !world.is_finishing() => world.pass_gate(None),
        Action::Panic => {
            if let Some(run) = run {
                world.note(|model, task| model.panics(task, run));
                panic!("a callback panics, as it was asked to");
            }
        }
        Action::Halt(executor) => halt(world, executor),
        Action::SetRos(to) if world.spend() => drop(set_ros(world, Some(to), None)),
        Action::ActivateRos(active) if world.spend() => drop(set_ros(world, None, Some(active))),
        Action::AwaitRos(to) if world.spend() => return Some(Waiting::Barrier(set_ros(world, Some(to), None))),
        Action::RemoveGroup(group) => remove_group(world, group),
        Action::Spin(executor, plan) => spin_spare(world, executor, plan),
        // `Touch` needs the payload, so the caller handles it. What needs the budget does nothing once that is spent.
        _ => {}
    }
    None
}

/// Runs the script of a synchronous callback, which drops at once what it would have to wait for. For a move of ROS
/// time it asks to wait first, which the engine must refuse unless time has moved already.
pub(crate) fn run_script(world: &Arc<World>, run: usize, actions: &[Action], payload: Option<&mut Load>) {
    let mut touched = 0;
    for action in actions {
        match act(world, Some(run), action) {
            Some(Waiting::Barrier(barrier)) => drop(barrier.wait()),
            waiting => drop(waiting),
        }
        touched += usize::from(*action == Action::Touch);
    }
    if let Some(load) = payload {
        load.touched += touched;
    }
    world.note(|model, task| model.ends(task, run));
}

/// Runs the script of an asynchronous callback, from its beginning to its end.
pub(crate) async fn await_script(
    world: Arc<World>,
    run: usize,
    actions: Arc<[Action]>,
    payload: Option<Payload<Load>>,
) {
    let script = async {
        for action in actions.iter() {
            if *action == Action::Touch
                && let Some(payload) = &payload
            {
                payload.with(|load| load.touched += 1);
            }
            if let Some(waiting) = act(&world, Some(run), action) {
                let on = on(&waiting);
                world.note(|model, task| model.waits(task, run, on));
                finish(&world, waiting).await;
                world.note(|model, _| model.waited(run));
            }
        }
    };
    Segments { script: Box::pin(script), world: &world, run, is_new: true, is_over: false }.await;
}

/// Runs the script of a thread that belongs to no executor.
pub(crate) fn block_on_script(world: &Arc<World>, actions: &[Action]) {
    for action in actions {
        let Some(waiting) = act(world, None, action) else {
            continue;
        };
        let on = on(&waiting);
        if let Waiting::Yield = waiting {
            shuttle::thread::yield_now();
            continue;
        }
        world.note(|model, task| model.blocks(task, on, None));
        shuttle::future::block_on(finish(world, waiting));
        world.note(|model, task| model.unblocks(task, None));
    }
}

pub(crate) const fn on(waiting: &Waiting) -> WaitOn {
    match waiting {
        Waiting::Sleep(_, on, _) => *on,
        Waiting::Call(_, item) => WaitOn::Call { item: *item },
        Waiting::Barrier(_) => WaitOn::Barrier,
        Waiting::Yield => WaitOn::Itself,
    }
}

pub(crate) async fn finish(world: &Arc<World>, waiting: Waiting) {
    match waiting {
        Waiting::Sleep(sleep, on, since) => {
            let slept = sleep.await;
            world.note(|model, task| model.slept(task, on, since, slept.is_ok()));
        }
        Waiting::Call(call, item) => {
            let outcome = match call.await {
                Ok(response) => {
                    drop(response.token);
                    "a response".to_owned()
                }
                Err(error) => error.to_string(),
            };
            world.note(|model, task| model.answered(task, item, outcome));
        }
        Waiting::Barrier(barrier) => {
            let outcome = format!("{:?}", barrier.await);
            world.note(|model, task| model.note(task, Event::RosMoved { outcome }));
        }
        Waiting::Yield => yield_once().await,
    }
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

/// A future that notes each poll of the callback and its outcome.
struct Segments<'a, F> {
    script: Pin<Box<F>>,
    world: &'a Arc<World>,
    run: usize,
    is_new: bool,
    is_over: bool,
}

impl<F: Future<Output = ()>> Future for Segments<'_, F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let (world, run) = (self.world, self.run);
        if !std::mem::take(&mut self.is_new) {
            world.note(|model, task| model.goes_on(task, run));
        }
        let polled = pin!(&mut self.script).poll(cx);
        self.is_over = polled.is_ready();
        let is_over = self.is_over;
        world.note(|model, task| if is_over { model.ends(task, run) } else { model.suspends(task, run) });
        polled
    }
}

impl<F> Drop for Segments<'_, F> {
    fn drop(&mut self) {
        if !self.is_over {
            let run = self.run;
            self.world.note(|model, task| model.abandoned(task, run));
        }
    }
}

fn publish(world: &Arc<World>, topic: usize) {
    if !world.spend() {
        return;
    }
    let item = world.note(|model, task| model.sends(task, Place::Topic(topic)));
    let delivery = world.publishers[topic].publish(super::world::Message { item, _token: world.token() });
    world.note(|model, task| model.published(task, item, delivery.queued, delivery.displaced));
}

pub(crate) fn call(world: &Arc<World>, service: usize) -> Option<Waiting> {
    if !world.spend() {
        return None;
    }
    let item = world.note(|model, task| model.sends(task, Place::Service(service)));
    let call = world.clients[service].call(Request { item, _token: world.token() });
    world.note(|model, task| model.called(task, item));
    Some(Waiting::Call(call, item))
}

pub(crate) fn sleep(world: &Arc<World>, executor: usize, clock: Clock, duration: Ms) -> Option<Waiting> {
    let handle = world.tables().executors.get(executor)?.clone()?;
    let since = world.note(|model, task| model.note(task, Event::Did("makes a sleep")));
    let on = world.note(|model, _| model.sleep_on(executor, clock, duration));
    let sleep = handle.sleep(kind(clock), ms(duration));
    let on = world.note(|model, _| model.sleep_made(on, duration));
    Some(Waiting::Sleep(sleep, on, since))
}

fn drop_entity(world: &Arc<World>, entity: usize, detach: bool) {
    let handle = world.tables().entities.get_mut(entity).and_then(Vec::pop);
    let Some((life, handle)) = handle else {
        return;
    };
    let handle = match Arc::try_unwrap(handle) {
        Ok(handle) => handle,
        Err(in_use) => {
            world.tables().entities[entity].push((life, in_use));
            return;
        }
    };
    if detach {
        handle.detach();
        world.note(|model, task| model.note(task, Event::Detached { life }));
        return;
    }
    world.note(|model, task| model.drops(task, life));
    drop(handle);
    world.note(|model, task| model.dropped(task, life));
}

fn change(world: &Arc<World>, entity: usize, change: Change) {
    let handle = world.tables().entities.get(entity).and_then(|lives| lives.last().cloned());
    let Some((life, handle)) = handle else {
        return;
    };
    if let Handle::Timer(timer) = &*handle {
        world.note(|model, task| model.changes(task, life, change));
        match change {
            Change::Cancel => timer.cancel(),
            Change::Reset => timer.reset(),
            Change::Period(period) => timer.set_period(ms(period)),
        }
        world.note(|model, task| model.changed(task, life));
    }
}

pub(crate) fn halt(world: &Arc<World>, executor: usize) {
    let handle = world.tables().executors.get(executor).cloned().flatten();
    if let Some(handle) = handle {
        world.note(|model, task| model.halts(task, executor));
        handle.halt();
        world.note(|model, task| model.halted(task, executor));
    }
}

fn set_ros(world: &Arc<World>, time: Option<Ms>, active: Option<bool>) -> Barrier {
    world.note(|model, task| model.asks_ros(task, time, active));
    let barrier = match (time, active) {
        (Some(time), _) => world.ros.set(rospin_engine::Time::from_millis(time)),
        (None, active) => world.ros.set_active(active.unwrap_or(true)),
    };
    world.note(|model, task| model.asked_ros(task));
    barrier
}

fn remove_group(world: &Arc<World>, group: usize) {
    let handle = world.tables().groups.get_mut(group).and_then(Option::take);
    let Some(handle) = handle else {
        return;
    };
    world.note(|model, task| model.removes_group(task, group));
    match handle {
        Group::Exclusive(handle) => handle.remove(),
        Group::Reentrant(handle) => handle.remove(),
    }
    world.note(|model, task| model.removed_group(task, group));
}

fn spin_spare(world: &Arc<World>, executor: usize, plan: SpinPlan) {
    let spare = world.tables().spares.get(executor).cloned().flatten();
    if let Some(spare) = spare.filter(|_| !world.is_finishing()) {
        world.note(|model, task| model.spin_begins(task, executor, plan));
        let result = result_of(spare.spin(options(plan)));
        world.note(|model, task| model.spin_ended(task, executor, result));
    }
}

pub(crate) fn options(plan: SpinPlan) -> SpinOptions {
    let options = match plan.until {
        Until::Halted => SpinOptions::new(),
        Until::Once => SpinOptions::spin_once(),
        Until::All => SpinOptions::spin_all(),
    };
    match plan.timeout {
        Some(timeout) => options.timeout(ms(timeout)),
        None => options,
    }
}

pub(crate) fn result_of(spun: Result<SpinEnd, SpinError>) -> SpinResult {
    match spun {
        Ok(SpinEnd::Done) => SpinResult::Done,
        Ok(SpinEnd::Halted) => SpinResult::Halted,
        Ok(other) => SpinResult::Other(format!("{other:?}")),
        Err(error) => failure(&error),
    }
}

pub(crate) fn failure(error: &SpinError) -> SpinResult {
    match error {
        SpinError::Halted => SpinResult::Unresolved,
        SpinError::Timeout => SpinResult::Timeout,
        SpinError::Panicked(_) => SpinResult::Panicked,
        SpinError::AlreadySpinning { .. } => SpinResult::AlreadySpinning,
        other => SpinResult::Other(other.to_string()),
    }
}
