//! Creates entities of all kinds from their plans.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rospin_engine::{
    CallbackGroup, EntityKind, EntityOptions, JumpThreshold, Overrun, Payload, Priority, ReentrantGroup,
    ServiceOptions, SubscriptionOptions, TimerOptions,
};

use super::program::{Action, EntityPlan, Kind, OverrunPlan};
use super::script::{await_script, kind, ms, run_script};
use super::world::{
    Bomb, ChannelSource, ChannelStream, Group, Handle, Load, Message, Request, Response, Slow, Token, World,
};

/// The data that the callbacks of one entity share.
struct Callback {
    world: Arc<World>,
    life: usize,
    script: Arc<[Action]>,
    _token: Token,
    _bomb: Option<Bomb>,
    _slow: Option<Slow>,
}

impl Callback {
    /// Runs a synchronous activation.
    fn run(&self, item: Option<usize>, load: Option<&mut Load>) {
        let life = self.life;
        let run = self.world.note(|model, task| model.starts(task, life, item));
        run_script(&self.world, run, &self.script, load);
    }

    /// Begins an asynchronous activation, and returns its future.
    fn begin(&self, item: Option<usize>, payload: Option<Payload<Load>>) -> impl Future<Output = ()> + Send + use<> {
        let life = self.life;
        let run = self.world.note(|model, task| model.starts(task, life, item));
        let (world, script) = (Arc::clone(&self.world), Arc::clone(&self.script));
        await_script(world, run, script, payload)
    }

    fn response(&self) -> Response {
        Response { token: self.world.token() }
    }
}

/// Creates the entity with that number, if its group exists.
pub(crate) fn create(world: &Arc<World>, entity: usize) {
    let program = Arc::clone(&world.program);
    let Some(plan) = program.entity(entity).filter(|plan| program.group(plan.group).is_some()) else {
        return;
    };
    let group = world.tables().groups.get(plan.group).cloned().flatten();
    let Some(group) = group else {
        return;
    };
    let life = world.note(|model, task| model.creates(task, entity));
    let callback = Callback {
        world: Arc::clone(world),
        life,
        script: plan.script.clone().into(),
        _token: world.token(),
        _bomb: plan.bomb.then(|| Bomb { _token: world.token() }),
        _slow: plan.slow.then(|| {
            let executor = program.group(plan.group).map_or(0, |group| program.runs(group));
            Slow { world: Arc::clone(world), executor }
        }),
    };
    let make = || match &group {
        Group::Exclusive(group) => exclusive(world, group, plan, callback),
        Group::Reentrant(group) => reentrant(world, group, plan, callback),
    };
    // If the entity cannot be created, its callback is dropped here, which may panic.
    let created = catch_unwind(AssertUnwindSafe(make)).unwrap_or_else(|_| Err("a destructor panicked".to_owned()));
    match created {
        Ok(handle) => {
            world.note(|model, task| model.created(task, life, None));
            world.tables().entities[entity].push((life, Arc::new(handle)));
        }
        Err(error) => world.note(|model, task| model.created(task, life, Some(error))),
    }
}

/// Sets the options that all kinds share.
macro_rules! common {
    ($plan:expr, $options:expr) => {{
        let plan: &EntityPlan = $plan;
        let mut options = $options.name(format!("e{}", plan.id)).priority(Priority(plan.priority));
        if let Some(deadline) = plan.deadline {
            options = options.deadline(ms(deadline));
        }
        if let Some(count) = plan.max_in_flight {
            options = options.max_in_flight(count);
        }
        if plan.releases_group {
            options = options.releases_group_at_await();
        }
        options
    }};
}

fn timer_options(plan: &EntityPlan) -> TimerOptions {
    let Kind::Timer { clock, wait, periodic, overrun } = plan.kind else {
        unreachable!("asked for timers only");
    };
    let options = if periodic { TimerOptions::periodic(ms(wait)) } else { TimerOptions::one_shot(ms(wait)) };
    let overrun = match overrun {
        OverrunPlan::Skip => Overrun::Skip,
        OverrunPlan::CatchUp(count) => Overrun::CatchUp(count),
        OverrunPlan::ShiftPhase => Overrun::ShiftPhase,
    };
    common!(plan, options.clock(kind(clock)).overrun(overrun))
}

fn threshold(all: bool) -> JumpThreshold {
    let any = Some(std::time::Duration::from_nanos(1));
    JumpThreshold { min_forward: any.filter(|_| all), min_backward: any, on_clock_change: all }
}

fn stream(world: &Arc<World>, channel: usize, life: usize) -> ChannelStream {
    ChannelStream { world: Arc::clone(world), channel: Arc::clone(&world.channels[channel]), life, has_ended: false }
}

fn exclusive(
    world: &Arc<World>,
    group: &CallbackGroup<Load>,
    plan: &EntityPlan,
    this: Callback,
) -> Result<Handle, String> {
    let text = |error: &dyn std::error::Error| error.to_string();
    let waits = plan.asynchronous;
    match plan.kind {
        Kind::Timer { .. } if waits => group
            .create_timer_async(timer_options(plan), move |load, _| this.begin(None, Some(load)))
            .map(Handle::Timer)
            .map_err(|error| text(&error)),
        Kind::Timer { .. } => group
            .create_timer(timer_options(plan), move |load, _| this.run(None, Some(load)))
            .map(Handle::Timer)
            .map_err(|error| text(&error)),
        Kind::Subscription { topic, depth } => {
            let options = common!(plan, SubscriptionOptions::new(format!("t{topic}")).keep_last(depth));
            let created = if waits {
                group.create_local_subscription_async(options, move |load, message: Arc<Message>| {
                    this.begin(Some(message.item), Some(load))
                })
            } else {
                group.create_local_subscription(options, move |load, message: Arc<Message>| {
                    this.run(Some(message.item), Some(load));
                })
            };
            created.map(Handle::Subscription).map_err(|error| text(&error))
        }
        Kind::Service { name, depth } => {
            let options = common!(plan, ServiceOptions::new(format!("s{name}")).keep_last(depth));
            let created = if waits {
                group.create_local_service_async(options, move |load, request: Request| {
                    let (script, response) = (this.begin(Some(request.item), Some(load)), this.response());
                    async move {
                        script.await;
                        response
                    }
                })
            } else {
                group.create_local_service(options, move |load, request: Request| {
                    this.run(Some(request.item), Some(load));
                    this.response()
                })
            };
            created.map(Handle::Service).map_err(|error| text(&error))
        }
        Kind::Stream { channel } => {
            let options = common!(plan, EntityOptions::new(""));
            let stream = stream(world, channel, this.life);
            let created = if waits {
                group.create_stream_async(options, stream, move |load, _: Token| this.begin(None, Some(load)))
            } else {
                group.create_stream(options, stream, move |load, _: Token| this.run(None, Some(load)))
            };
            created.map(Handle::Entity).map_err(|error| text(&error))
        }
        Kind::Source { channel } => {
            let options = common!(plan, EntityOptions::new(""));
            let source = ChannelSource(Arc::clone(&world.channels[channel]));
            let run = move |load: &mut Load, _: Token| this.run(None, Some(load));
            group
                .create_source(EntityKind::Waitable, options, source, run)
                .map(Handle::Entity)
                .map_err(|error| text(&error))
        }
        Kind::Jump { all } => group
            .create_jump_callback(threshold(all), move |load, _| this.run(None, Some(load)))
            .map(Handle::Jump)
            .map_err(|error| text(&error)),
    }
}

fn reentrant(world: &Arc<World>, group: &ReentrantGroup, plan: &EntityPlan, this: Callback) -> Result<Handle, String> {
    let text = |error: &dyn std::error::Error| error.to_string();
    let waits = plan.asynchronous;
    match plan.kind {
        Kind::Timer { .. } if waits => group
            .create_timer_async(timer_options(plan), move |_| this.begin(None, None))
            .map(Handle::Timer)
            .map_err(|error| text(&error)),
        Kind::Timer { .. } => group
            .create_timer(timer_options(plan), move |_| this.run(None, None))
            .map(Handle::Timer)
            .map_err(|error| text(&error)),
        Kind::Subscription { topic, depth } => {
            let options = common!(plan, SubscriptionOptions::new(format!("t{topic}")).keep_last(depth));
            let created = if waits {
                group.create_local_subscription_async(options, move |message: Arc<Message>| {
                    this.begin(Some(message.item), None)
                })
            } else {
                group
                    .create_local_subscription(options, move |message: Arc<Message>| this.run(Some(message.item), None))
            };
            created.map(Handle::Subscription).map_err(|error| text(&error))
        }
        Kind::Service { name, depth } => {
            let options = common!(plan, ServiceOptions::new(format!("s{name}")).keep_last(depth));
            let created = if waits {
                group.create_local_service_async(options, move |request: Request| {
                    let (script, response) = (this.begin(Some(request.item), None), this.response());
                    async move {
                        script.await;
                        response
                    }
                })
            } else {
                group.create_local_service(options, move |request: Request| {
                    this.run(Some(request.item), None);
                    this.response()
                })
            };
            created.map(Handle::Service).map_err(|error| text(&error))
        }
        Kind::Stream { channel } => {
            let options = common!(plan, EntityOptions::new(""));
            let stream = stream(world, channel, this.life);
            let created = if waits {
                group.create_stream_async(options, stream, move |_: Token| this.begin(None, None))
            } else {
                group.create_stream(options, stream, move |_: Token| this.run(None, None))
            };
            created.map(Handle::Entity).map_err(|error| text(&error))
        }
        Kind::Source { channel } => {
            let options = common!(plan, EntityOptions::new(""));
            let source = ChannelSource(Arc::clone(&world.channels[channel]));
            let run = move |_: Token| this.run(None, None);
            group
                .create_source(EntityKind::Waitable, options, source, run)
                .map(Handle::Entity)
                .map_err(|error| text(&error))
        }
        Kind::Jump { all } => group
            .create_jump_callback(threshold(all), move |_| this.run(None, None))
            .map(Handle::Jump)
            .map_err(|error| text(&error)),
    }
}
