//! Runs scripts: in callbacks, on outside threads, and between rounds.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use rospin_engine::{Barrier, ClockKind, Instant, LossCause, Payload, SpinEnd, SpinError, SpinOptions};

use super::channel::Parcel;
use super::create::create;
use super::model::{Change, Event, SpinResult};
use super::operations::{does, does_all};
use super::program::{Action, Clock, DuePlan, Kind, Ms, SpinPlan, Until};
use super::publish::{create_queue, drop_queue, judge_ends, look_at_kept, publish, set_waker, take_from_queue};
use super::wait::{Own, Waiting, await_service, await_subscription, call, call_within, on, sleep, sleep_until};
use super::world::{Group, Handle, Load, World};

pub(crate) const fn us(us: u64) -> Duration {
    Duration::from_micros(us)
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
        Action::Publish(topic, way) => publish(world, topic, way, run.is_some()),
        Action::Burst(topic, count) => {
            (0..count).for_each(|_| publish(world, topic, super::program::Way::Plain, run.is_some()));
        }
        Action::LookAtKept(topic) => {
            judge_ends(world, topic);
            look_at_kept(world, topic);
        }
        Action::CreateQueue(queue) => create_queue(world, queue),
        Action::DropQueue(queue) => drop_queue(world, queue),
        Action::TakeFromQueue(queue) => take_from_queue(world, queue),
        Action::SetWaker(queue, panics) => set_waker(world, queue, panics),
        Action::Call(service) => return call(world, service),
        Action::CallAndForget(service) => drop(call(world, service)),
        Action::CallWithin(service, executor, limit) => return call_within(world, service, executor, limit),
        Action::AwaitService(service) if run.is_some() || !world.is_finishing() => {
            return Some(await_service(world, service));
        }
        Action::AwaitSubscription(topic) if run.is_some() || !world.is_finishing() => {
            return Some(await_subscription(world, topic));
        }
        Action::SleepUntil(executor, clock, until) => return sleep_until(world, executor, clock, until),
        Action::Send(channel) if world.spend() => send(world, channel),
        Action::CloseChannel(channel) => world.channels[channel].change(None, true, false),
        Action::Poison(channel) => world.channels[channel].change(None, false, true),
        Action::Create(entity) if world.spend() => create(world, entity),
        Action::Drop(entity) => drop_entity(world, entity, false),
        Action::Detach(entity) => drop_entity(world, entity, true),
        Action::Cancel(entity) => change(world, entity, Change::Cancel),
        Action::Reset(entity) => change(world, entity, Change::Reset),
        Action::SetPeriod(entity, period) => change(world, entity, Change::Period(period)),
        Action::SetDue(entity, due, by_setter) if world.spend() => set_due(world, entity, due, by_setter),
        Action::CancelBySetter(entity) => cancel_by_setter(world, entity),
        Action::Ask(entity) => ask(world, entity),
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
        Action::HaltAll => halt_all(world),
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
    let (mut touched, mut own) = (0, Own::default());
    for action in actions {
        match own.act(world, action).unwrap_or_else(|| act(world, Some(run), action)) {
            Some(Waiting::Barrier(barrier)) => {
                does_all(&["Barrier::is_over", "Barrier::wait"]);
                let _is_over = barrier.is_over();
                let _outcome = barrier.wait();
            }
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
        let mut own = Own::default();
        for action in actions.iter() {
            if *action == Action::Touch
                && let Some(payload) = &payload
            {
                does("Payload::with");
                payload.with(|load| load.touched += 1);
            }
            if let Some(waiting) = own.act(&world, action).unwrap_or_else(|| act(&world, Some(run), action)) {
                let on = on(&waiting);
                world.note(|model, task| model.waits(task, run, on));
                own.finish(&world, waiting).await;
                world.note(|model, _| model.waited(run));
            }
        }
    };
    Segments { script: Box::pin(script), world: &world, run, is_new: true, is_over: false }.await;
}

/// Runs the script of a thread that belongs to no executor.
pub(crate) fn block_on_script(world: &Arc<World>, actions: &[Action]) {
    let mut own = Own::default();
    for action in actions {
        let Some(waiting) = own.act(world, action).unwrap_or_else(|| act(world, None, action)) else {
            continue;
        };
        let on = on(&waiting);
        if let Waiting::Yield = waiting {
            shuttle::thread::yield_now();
            continue;
        }
        world.note(|model, task| model.blocks(task, on, None));
        shuttle::future::block_on(own.finish(world, waiting));
        world.note(|model, task| model.unblocks(task, None));
    }
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

fn send(world: &Arc<World>, channel: usize) {
    does("Clock::now");
    // It is told late that the item has arrived.
    let arrival = (world.context.clock().now().as_nanos() / 1_000_000).saturating_sub(2);
    let told = Arc::<AtomicUsize>::default();
    let sending = world.note(|model, _| model.now());
    let parcel = Parcel { _token: world.token(), arrival, sending, told: Arc::clone(&told) };
    world.channels[channel].change(Some(parcel), false, false);
    let at = world.note(|model, task| model.note(task, Event::Did("sent an item through a channel")));
    told.store(at, Ordering::Relaxed);
}

/// Asks an entity for all that its handle tells. Only what a handle alone can tell wrongly is judged.
fn ask(world: &Arc<World>, entity: usize) {
    let handle = world.tables().entities.get(entity).and_then(|lives| lives.last().cloned());
    let Some((life, handle)) = handle else {
        return;
    };
    does_all(&["handle!::name", "handle!::lost", "handle!::missed_deadlines", "handle!::account"]);
    let (name, lost) = (handle.name().to_owned(), handle.lost(LossCause::QueueFull));
    world.note(|model, _| model.judge_handle(life, &name, lost));
    if let Handle::Timer(timer) = &*handle {
        does_all(&[
            "Timer::is_canceled",
            "Timer::period",
            "Timer::time_until_next_call",
            "Timer::is_ready",
            "Timer::skips",
            "Skips::count",
        ]);
        let since = world.note(|model, task| model.note(task, Event::Did("asks a timer")));
        let canceled = timer.is_canceled();
        let period = timer.period().map(|period| period.as_millis() as Ms);
        let left = timer.time_until_next_call().map(|left| left.as_millis() as Ms);
        let _told = (timer.is_ready(), timer.skips().count());
        world.note(|model, _| model.judge_timer_asked(life, since, canceled, period, left));
    }
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
        does("handle!::detach");
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
            Change::Cancel => {
                does("Timer::cancel");
                timer.cancel();
            }
            Change::Reset => {
                does("Timer::reset");
                timer.reset();
            }
            Change::Period(period) => {
                does("Timer::set_period");
                timer.set_period(ms(period));
            }
            Change::Due(due) => {
                does("Timer::set_due");
                timer.set_due(Instant::from_millis(due));
            }
        }
        world.note(|model, task| model.changed(task, life));
    }
}

/// Sets the next due time of the timer that the entity's last handle has, or of the one that its last setter is for.
fn set_due(world: &Arc<World>, entity: usize, plan: DuePlan, by_setter: bool) {
    let Some(Kind::Timer { clock, wait, .. }) = world.program.entity(entity).map(|plan| plan.kind) else {
        return;
    };
    let now = world.context.clock().read(kind(clock)).as_nanos() / 1_000_000;
    let due = match plan {
        DuePlan::At(at) => at,
        DuePlan::In(wait) => now + wait,
        DuePlan::Same => {
            let handle = world.tables().entities.get(entity).and_then(|lives| lives.last().cloned());
            let Some(Handle::Timer(timer)) = handle.as_ref().map(|(_, handle)| &**handle) else {
                return;
            };
            now + timer.time_until_next_call().map_or(wait, |left| left.as_millis() as Ms)
        }
    };
    if !by_setter {
        change(world, entity, Change::Due(due));
        return;
    }
    let setter = world.tables().setters.get(&entity).cloned();
    if let Some((life, setter)) = setter {
        world.note(|model, task| model.changes(task, life, Change::Due(due)));
        does("DueSetter::set");
        setter.set(Instant::from_millis(due));
        world.note(|model, task| model.changed(task, life));
    }
}

fn cancel_by_setter(world: &Arc<World>, entity: usize) {
    let setter = world.tables().setters.get(&entity).cloned();
    if let Some((life, setter)) = setter {
        world.note(|model, task| model.changes(task, life, Change::Cancel));
        does("DueSetter::cancel");
        setter.cancel();
        world.note(|model, task| model.changed(task, life));
    }
}

pub(crate) fn halt(world: &Arc<World>, executor: usize) {
    let handle = world.tables().executors.get(executor).cloned().flatten();
    if let Some(handle) = handle {
        does_all(&["ExecutorHandle::halt", "ExecutorHandle::name"]);
        let name = handle.name().to_owned();
        world.note(|model, _| model.judge_name(executor, &name));
        world.note(|model, task| model.halts(task, executor));
        handle.halt();
        world.note(|model, task| model.halted(task, executor));
    }
}

/// Halts all executors at once.
fn halt_all(world: &Arc<World>) {
    does("Context::halt_all");
    let there = world.tables().executors.clone();
    let there: Vec<usize> = there.iter().enumerate().filter_map(|(id, handle)| handle.as_ref().map(|_| id)).collect();
    for executor in &there {
        world.note(|model, task| model.halts(task, *executor));
    }
    world.context.halt_all();
    for executor in there {
        world.note(|model, task| model.halted(task, executor));
    }
}

fn set_ros(world: &Arc<World>, time: Option<Ms>, active: Option<bool>) -> Barrier {
    world.note(|model, task| model.asks_ros(task, time, active));
    let barrier = match (time, active) {
        (Some(time), _) => {
            does("RosTime::set");
            world.ros.set(rospin_engine::Time::from_millis(time))
        }
        (None, active) => {
            does("RosTime::set_active");
            world.ros.set_active(active.unwrap_or(true))
        }
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
    does("common_methods!::remove");
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
        does("Executor::spin");
        let result = result_of(spare.spin(options(plan)));
        world.note(|model, task| model.spin_ended(task, executor, result));
    }
}

pub(crate) fn options(plan: SpinPlan) -> SpinOptions {
    let options = match plan.until {
        Until::Halted => {
            does("SpinOptions::new");
            SpinOptions::new()
        }
        Until::Once => {
            does("SpinOptions::spin_once");
            SpinOptions::spin_once()
        }
        Until::Some => {
            does("SpinOptions::spin_some");
            SpinOptions::spin_some()
        }
        Until::All => {
            does("SpinOptions::spin_all");
            SpinOptions::spin_all()
        }
    };
    match plan.timeout {
        Some(timeout) => {
            does("SpinOptions::timeout");
            options.timeout(ms(timeout))
        }
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
