//! Creates entities of all kinds from their plans.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rospin_engine::{
    CallbackGroup, EntityOptions, JumpThreshold, Overrun, Payload, ReentrantGroup, Reply, ServiceOptions, TimerOptions,
};

use super::channel::{ChannelStream, Parcel};
use super::operations::{does, does_all};
use super::program::{Action, EntityPlan, Kind, OverrunPlan};
use super::publish::inbox_options;
use super::script::{await_script, kind, ms, run_script};
use super::sources::{Taken, create_of_source};
use super::world::{Bomb, Group, Handle, Load, Message, Request, Response, Slow, Token, World};

/// The number of lives that an entity may have at once.
pub(crate) const LIVES: usize = 3;

/// The data that the callbacks of one entity share.
pub(crate) struct Callback {
    pub(crate) world: Arc<World>,
    pub(crate) life: usize,
    script: Arc<[Action]>,
    _token: Token,
    _bomb: Option<Bomb>,
    _slow: Option<Slow>,
}

impl Callback {
    /// Notes that an activation starts with that item, and returns its number.
    fn start(&self, taken: &Taken) -> usize {
        let (life, item) = (self.life, taken.item);
        self.world.note(|model, task| {
            let run = model.starts(task, life, item);
            if let Some(arrival) = taken.arrival {
                model.arrived(task, run, arrival);
            }
            if let Some(count) = taken.losses {
                model.told_of_losses(task, life, count);
            }
            run
        })
    }

    /// Runs a synchronous activation.
    pub(crate) fn run(&self, taken: Taken, load: Option<&mut Load>) {
        let run = self.start(&taken);
        run_script(&self.world, run, &self.script, load);
        self.reply(taken.reply);
    }

    /// Begins an asynchronous activation, and returns its future.
    pub(crate) fn begin(
        &self,
        taken: Taken,
        payload: Option<Payload<Load>>,
    ) -> impl Future<Output = ()> + Send + use<> {
        let run = self.start(&taken);
        let (world, script) = (Arc::clone(&self.world), Arc::clone(&self.script));
        let answer = taken.reply.map(|reply| (reply, self.response()));
        let script = await_script(world, run, script, payload);
        async move {
            script.await;
            if let Some((reply, response)) = answer {
                does("Reply::send");
                reply.send(response);
            }
        }
    }

    fn reply(&self, reply: Option<Reply<Response>>) {
        if let Some(reply) = reply {
            does("Reply::send");
            reply.send(self.response());
        }
    }

    fn response(&self) -> Response {
        Response { token: self.world.token() }
    }
}

const NOTHING: Taken = Taken { item: None, arrival: None, losses: None, reply: None };

const fn item(item: usize) -> Taken {
    Taken { item: Some(item), ..NOTHING }
}

/// Creates the entity with that number, if its group exists.
pub(crate) fn create(world: &Arc<World>, entity: usize) {
    let program = Arc::clone(&world.program);
    let Some(plan) = program.entity(entity).filter(|plan| program.group(plan.group).is_some()) else {
        return;
    };
    // Many of them would only multiply what one message does.
    if world.tables().entities[entity].len() >= LIVES {
        return;
    }
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
    let make = || {
        let callback = match create_of_source(world, &group, plan, callback) {
            Ok(created) => return created,
            Err(callback) => callback,
        };
        does(operation(&group, plan));
        match &group {
            Group::Exclusive(group) => exclusive(world, group, plan, callback),
            Group::Reentrant(group) => reentrant(world, group, plan, callback),
        }
    };
    // If the entity cannot be created, its callback is dropped here, which may panic.
    let created = catch_unwind(AssertUnwindSafe(make)).unwrap_or_else(|_| Err("a destructor panicked".to_owned()));
    match created {
        Ok(handle) => {
            world.note(|model, task| model.created(task, life, None));
            if let Handle::Timer(timer) = &handle {
                does("Timer::due_setter");
                world.tables().setters.insert(entity, (life, timer.due_setter()));
            }
            world.tables().entities[entity].push((life, Arc::new(handle)));
        }
        Err(error) => world.note(|model, task| model.created(task, life, Some(error))),
    }
}

/// Returns the operation that creates an entity of that plan, unless it is made of a source.
const fn operation(group: &Group, plan: &EntityPlan) -> &'static str {
    let is_exclusive = matches!(group, Group::Exclusive(_));
    match (plan.kind, plan.asynchronous) {
        (Kind::Timer { .. }, false) if is_exclusive => "CallbackGroup::create_timer",
        (Kind::Timer { .. }, true) if is_exclusive => "CallbackGroup::create_timer_async",
        (Kind::Subscription { .. }, false) if is_exclusive => "CallbackGroup::create_local_subscription",
        (Kind::Subscription { .. }, true) if is_exclusive => "CallbackGroup::create_local_subscription_async",
        (Kind::Service { .. }, false) if is_exclusive => "CallbackGroup::create_local_service",
        (Kind::Service { .. }, true) if is_exclusive => "CallbackGroup::create_local_service_async",
        (Kind::Jump { .. }, _) if is_exclusive => "CallbackGroup::create_jump_callback",
        (_, false) if is_exclusive => "CallbackGroup::create_stream",
        (_, true) if is_exclusive => "CallbackGroup::create_stream_async",
        (Kind::Timer { .. }, false) => "ReentrantGroup::create_timer",
        (Kind::Timer { .. }, true) => "ReentrantGroup::create_timer_async",
        (Kind::Subscription { .. }, false) => "ReentrantGroup::create_local_subscription",
        (Kind::Subscription { .. }, true) => "ReentrantGroup::create_local_subscription_async",
        (Kind::Service { .. }, false) => "ReentrantGroup::create_local_service",
        (Kind::Service { .. }, true) => "ReentrantGroup::create_local_service_async",
        (Kind::Jump { .. }, _) => "ReentrantGroup::create_jump_callback",
        (_, false) => "ReentrantGroup::create_stream",
        (_, true) => "ReentrantGroup::create_stream_async",
    }
}

/// Sets the options that all kinds share.
macro_rules! common {
    ($plan:expr, $options:expr) => {{
        let plan: &EntityPlan = $plan;
        $crate::operations::does_all(&["common_setters!::name", "common_setters!::priority"]);
        let mut options = $options.name(format!("e{}", plan.id)).priority(rospin_engine::Priority(plan.priority));
        if let Some(deadline) = plan.deadline {
            $crate::operations::does("common_setters!::deadline");
            options = options.deadline($crate::script::ms(deadline));
        }
        if let Some(count) = plan.max_in_flight {
            $crate::operations::does("common_setters!::max_in_flight");
            options = options.max_in_flight(count);
        }
        if plan.releases_group && !plan.by_group {
            $crate::operations::does("common_setters!::releases_group_at_await");
            options = options.releases_group_at_await();
        }
        options
    }};
}

pub(crate) use common;

fn timer_options(plan: &EntityPlan) -> TimerOptions {
    let Kind::Timer { clock, wait, periodic, overrun } = plan.kind else {
        unreachable!("asked for timers only");
    };
    does_all(&["TimerOptions::clock", "TimerOptions::overrun"]);
    does(if periodic { "TimerOptions::periodic" } else { "TimerOptions::one_shot" });
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
            .create_timer_async(timer_options(plan), move |load, _| this.begin(NOTHING, Some(load)))
            .map(Handle::Timer)
            .map_err(|error| text(&error)),
        Kind::Timer { .. } => group
            .create_timer(timer_options(plan), move |load, _| this.run(NOTHING, Some(load)))
            .map(Handle::Timer)
            .map_err(|error| text(&error)),
        Kind::Subscription { inbox, .. } => {
            let options = common!(plan, inbox_options(inbox));
            let created = if waits {
                group.create_local_subscription_async(options, move |load, message: Arc<Message>| {
                    this.begin(item(message.item), Some(load))
                })
            } else {
                group.create_local_subscription(options, move |load, message: Arc<Message>| {
                    this.run(item(message.item), Some(load));
                })
            };
            created.map(Handle::Subscription).map_err(|error| text(&error))
        }
        Kind::Service { name, depth, .. } => {
            does_all(&["ServiceOptions::new", "ServiceOptions::keep_last"]);
            let options = common!(plan, ServiceOptions::new(format!("s{name}")).keep_last(depth));
            let created = if waits {
                group.create_local_service_async(options, move |load, request: Request| {
                    let (script, response) = (this.begin(item(request.item), Some(load)), this.response());
                    async move {
                        script.await;
                        response
                    }
                })
            } else {
                group.create_local_service(options, move |load, request: Request| {
                    this.run(item(request.item), Some(load));
                    this.response()
                })
            };
            created.map(Handle::Service).map_err(|error| text(&error))
        }
        Kind::Stream { channel } => {
            let options = common!(plan, EntityOptions::new(""));
            let stream = stream(world, channel, this.life);
            let created = if waits {
                group.create_stream_async(options, stream, move |load, _: Parcel| this.begin(NOTHING, Some(load)))
            } else {
                group.create_stream(options, stream, move |load, _: Parcel| this.run(NOTHING, Some(load)))
            };
            created.map(Handle::Entity).map_err(|error| text(&error))
        }
        Kind::Source { .. } | Kind::LossWatch { .. } => unreachable!("they are made of sources"),
        Kind::Jump { all } => group
            .create_jump_callback(threshold(all), move |load, _| this.run(NOTHING, Some(load)))
            .map(Handle::Jump)
            .map_err(|error| text(&error)),
    }
}

fn reentrant(world: &Arc<World>, group: &ReentrantGroup, plan: &EntityPlan, this: Callback) -> Result<Handle, String> {
    let text = |error: &dyn std::error::Error| error.to_string();
    let waits = plan.asynchronous;
    match plan.kind {
        Kind::Timer { .. } if waits => group
            .create_timer_async(timer_options(plan), move |_| this.begin(NOTHING, None))
            .map(Handle::Timer)
            .map_err(|error| text(&error)),
        Kind::Timer { .. } => group
            .create_timer(timer_options(plan), move |_| this.run(NOTHING, None))
            .map(Handle::Timer)
            .map_err(|error| text(&error)),
        Kind::Subscription { inbox, .. } => {
            let options = common!(plan, inbox_options(inbox));
            let created = if waits {
                group.create_local_subscription_async(options, move |message: Arc<Message>| {
                    this.begin(item(message.item), None)
                })
            } else {
                group
                    .create_local_subscription(options, move |message: Arc<Message>| this.run(item(message.item), None))
            };
            created.map(Handle::Subscription).map_err(|error| text(&error))
        }
        Kind::Service { name, depth, .. } => {
            does_all(&["ServiceOptions::new", "ServiceOptions::keep_last"]);
            let options = common!(plan, ServiceOptions::new(format!("s{name}")).keep_last(depth));
            let created = if waits {
                group.create_local_service_async(options, move |request: Request| {
                    let (script, response) = (this.begin(item(request.item), None), this.response());
                    async move {
                        script.await;
                        response
                    }
                })
            } else {
                group.create_local_service(options, move |request: Request| {
                    this.run(item(request.item), None);
                    this.response()
                })
            };
            created.map(Handle::Service).map_err(|error| text(&error))
        }
        Kind::Stream { channel } => {
            let options = common!(plan, EntityOptions::new(""));
            let stream = stream(world, channel, this.life);
            let created = if waits {
                group.create_stream_async(options, stream, move |_: Parcel| this.begin(NOTHING, None))
            } else {
                group.create_stream(options, stream, move |_: Parcel| this.run(NOTHING, None))
            };
            created.map(Handle::Entity).map_err(|error| text(&error))
        }
        Kind::Source { .. } | Kind::LossWatch { .. } => unreachable!("they are made of sources"),
        Kind::Jump { all } => group
            .create_jump_callback(threshold(all), move |_| this.run(NOTHING, None))
            .map(Handle::Jump)
            .map_err(|error| text(&error)),
    }
}
