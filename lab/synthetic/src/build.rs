//! Construction of the engine's executors, groups and entities from a scenario.

use std::any::Any;
use std::fmt::Display;
use std::sync::{Arc, Mutex};

use rospin_engine::trace::TraceEvent;
use rospin_engine::{
    CallbackGroup, Clock, Context, ContextOptions, EntityKind, EntityOptions, Executor, ExecutorOptions, GroupKind,
    Instant, Priority, PriorityMap, ReentrantGroup, SubscriptionOptions, Tick, TimerOptions, policy,
};
use rospin_scenario::draw::Arrivals;
use rospin_scenario::{Callback, Chain, Fault, Priorities, Scenario};

use super::agenda::{Agenda, Mailbox, MailboxSource, Message, Outlet};
use super::work::{Released as _, Work};
use super::world::{Pace, World};
use super::{RealOutcome, RealPollingPoint, RealRun, SyntheticError, lock, nanos};

/// Scenario as executors and entities of the engine, ready to be spun.
pub(super) struct System {
    pub(super) executors: Vec<Executor>,
    pub(super) world: Arc<World>,
    /// Records of the schedulers' decisions, by executor.
    pub(super) records: Vec<Record>,
    runs: Arc<Mutex<Vec<RealRun>>>,
    /// Handles of the entities. The entities live as long as these.
    _entities: Vec<Box<dyn Any>>,
}

/// Record of a scheduler's decisions, with the callbacks of its entities.
#[derive(Clone, Default)]
pub(super) struct Record {
    pub(super) events: Arc<Mutex<Vec<(Instant, TraceEvent)>>>,
    /// Numbers of the callbacks, by the index of the entity.
    pub(super) callbacks: Vec<usize>,
}

impl System {
    /// Returns the results, once no executor spins any more.
    pub(super) fn outcome(&self) -> RealOutcome {
        let mut polling_points = Vec::new();
        for record in &self.records {
            for (at, event) in lock(&record.events).iter() {
                match event {
                    TraceEvent::PollingPoint(_) => {
                        let at_ns = self.world.scenario_ns(*at);
                        polling_points.push(RealPollingPoint { at_ns, ready_set: Vec::new() });
                    }
                    TraceEvent::Collected(activation) => {
                        let callback = record.callbacks[activation.entity.index()];
                        polling_points.last_mut().map(|point| point.ready_set.push(callback)).unwrap_or_default();
                    }
                    _ => {}
                }
            }
        }
        polling_points.sort_by_key(|point| point.at_ns);
        RealOutcome { runs: std::mem::take(&mut *lock(&self.runs)), polling_points }
    }
}

/// Builds the scenario's system. It calls `pace` once, when the clock exists.
pub(super) fn build(
    scenario: &Scenario,
    options: ContextOptions,
    pace: impl FnOnce(&Clock) -> Pace,
) -> Result<System, SyntheticError> {
    scenario.check()?;
    refuse_what_only_a_simulation_can(scenario)?;
    let priorities = match scenario.priorities {
        Priorities::Picas => {
            let chains: Vec<_> = scenario.chains.iter().map(Chain::to_core).collect();
            PriorityMap::picas(&chains).map_err(refused)?
        }
        _ => PriorityMap::default(),
    };
    let context = Context::new(options.priorities(priorities));
    let end_ns = nanos(scenario.duration);
    let pace = pace(context.clock());
    let world = Arc::new(World::new(context.clock().clone(), pace, end_ns, Agenda::new(end_ns)));
    let (executors, mut records) = executors(scenario, &context)?;
    let builder = Builder { scenario, context: &context, world, inlets: inlets(scenario), runs: Arc::default() };
    let groups: Vec<_> = scenario.groups.iter().filter_map(|group| builder.group(group, &executors)).collect();
    let mut entities = Vec::new();
    for (number, plan) in scenario.callbacks.iter().enumerate() {
        // The check of the scenario made sure that the group exists.
        let Some((_, executor, group)) = groups.iter().find(|(name, ..)| *name == plan.group) else {
            continue;
        };
        records[*executor].callbacks.push(number);
        entities.push(builder.entity(number, plan, group)?);
    }
    for (number, release) in scenario.releases.iter().enumerate() {
        let mut outlets = Vec::new();
        for address in &release.to {
            outlets.extend(builder.outlets(address)?);
        }
        builder.world.enter(|agenda| agenda.enter_release(Arrivals::new(release, scenario.seed, number), outlets));
    }
    let Builder { world, runs, .. } = builder;
    Ok(System { executors, world, records, runs, _entities: entities })
}

/// Refuses joins, locks, links, requests to accelerators, and faults other than overruns, which the engine does not
/// have.
fn refuse_what_only_a_simulation_can(scenario: &Scenario) -> Result<(), SyntheticError> {
    let refused = scenario.faults.iter().find_map(|fault| match fault {
        Fault::Overrun { .. } => None,
        Fault::LostNotification { .. } => Some("lose notifications on purpose"),
        Fault::SpuriousNotification { .. } => Some("notify for nothing on purpose"),
        _ => Some("set the machine's clock"),
    });
    let joins = scenario.callbacks.iter().any(|callback| !callback.joins.is_empty());
    let mut awaits = scenario.callbacks.iter().flat_map(|plan| &plan.awaits);
    let requests = awaits.any(|pause| pause.accelerator.is_some());
    let refused = refused
        .or(joins.then_some("join topics"))
        .or(requests.then_some("send requests to a device that is made of exact times"))
        .or((!scenario.locks.is_empty()).then_some("take locks on purpose"))
        .or((!scenario.links.is_empty()).then_some("delay messages on purpose"));
    refused.map_or(Ok(()), |what| Err(SyntheticError::Unsupported(what)))
}

fn refused(error: impl Display) -> SyntheticError {
    SyntheticError::Refused(error.to_string())
}

/// Creates the executors, each with the record of its scheduler's decisions.
fn executors(scenario: &Scenario, context: &Context) -> Result<(Vec<Executor>, Vec<Record>), SyntheticError> {
    let mut made = (Vec::new(), Vec::new());
    for plan in &scenario.executors {
        let record = Record::default();
        let events = Arc::clone(&record.events);
        let trace = move |now: Instant, event: TraceEvent| {
            let kept =
                matches!(event, TraceEvent::Dispatched(..) | TraceEvent::PollingPoint(_) | TraceEvent::Collected(_));
            if kept {
                lock(&events).push((now, event));
            }
        };
        let policy = policy::by_name(&plan.policy).map_err(refused)?;
        let options = ExecutorOptions::new(&plan.name).boxed_policy(policy).threads(plan.threads).trace(trace);
        made.0.push(context.create_executor(options));
        made.1.push(record);
    }
    Ok(made)
}

/// Way in which messages reach a callback.
#[derive(Clone)]
enum Inlet {
    /// No messages: a timer.
    None,
    /// Subscription of the in-process topic with this name.
    Topic(String),
    Mailbox(Arc<Mailbox>),
}

/// Returns the inlets, by callback. A subscription that is sent messages by its own name has a topic of its own.
fn inlets(scenario: &Scenario) -> Vec<Inlet> {
    let sent_to = scenario.callbacks.iter().flat_map(|callback| &callback.publishes);
    let sent_to: Vec<&String> = sent_to.chain(scenario.releases.iter().flat_map(|release| &release.to)).collect();
    let inlet = |callback: &Callback| match (callback.kind, &callback.subscribes) {
        (EntityKind::Timer, _) => Inlet::None,
        (EntityKind::Subscription, Some(topic)) if !sent_to.contains(&&callback.name) => Inlet::Topic(topic.clone()),
        (EntityKind::Subscription, _) => Inlet::Topic(callback.name.clone()),
        _ => Inlet::Mailbox(Arc::new(Mailbox::new(callback.depth as usize))),
    };
    scenario.callbacks.iter().map(inlet).collect()
}

enum Group {
    Exclusive(CallbackGroup<()>),
    Reentrant(ReentrantGroup),
}

struct Builder<'a> {
    scenario: &'a Scenario,
    context: &'a Context,
    world: Arc<World>,
    inlets: Vec<Inlet>,
    runs: Arc<Mutex<Vec<RealRun>>>,
}

/// Sets the options that all kinds of entities have in common: from the callback `$plan` on `$options`, which are those
/// of its kind.
macro_rules! with_common {
    ($options:expr, $plan:expr) => {{
        let mut options = $options.name(&$plan.name);
        if let Some(priority) = $plan.priority {
            options = options.priority(Priority(priority));
        }
        if let Some(deadline) = $plan.deadline {
            options = options.deadline(deadline);
        }
        if let Some(count) = $plan.max_in_flight {
            options = options.max_in_flight(count);
        }
        if $plan.releases_group_at_await { options.releases_group_at_await() } else { options }
    }};
}

/// Creates an entity by one of the four methods that fit its group and its callback. `$work` is run with the release
/// time of each `$item`; `$create` and `$create_async` are the methods for synchronous and asynchronous callbacks,
/// which take the arguments at the end before the callback.
macro_rules! create {
    ($group:expr, $is_async:expr, $work:expr, $item:ty, $create:ident, $create_async:ident, $($argument:expr),+) => {{
        let work = Arc::new($work);
        match ($group, $is_async) {
            (Group::Exclusive(group), false) => {
                let run = move |_: &mut (), item: $item| work.run(item.release());
                group.$create($($argument),+, run).map(boxed).map_err(refused)
            }
            (Group::Exclusive(group), true) => {
                let run = move |_, item: $item| Arc::clone(&work).run_async(item.release());
                group.$create_async($($argument),+, run).map(boxed).map_err(refused)
            }
            (Group::Reentrant(group), false) => {
                let run = move |item: $item| work.run(item.release());
                group.$create($($argument),+, run).map(boxed).map_err(refused)
            }
            (Group::Reentrant(group), true) => {
                let run = move |item: $item| Arc::clone(&work).run_async(item.release());
                group.$create_async($($argument),+, run).map(boxed).map_err(refused)
            }
        }
    }};
}

fn boxed(handle: impl Any) -> Box<dyn Any> {
    Box::new(handle)
}

impl Builder<'_> {
    /// Creates the group. Returns its name, the number of its executor, and the group; `None` if there is no such
    /// executor.
    fn group<'g>(&self, plan: &'g rospin_scenario::Group, executors: &[Executor]) -> Option<(&'g str, usize, Group)> {
        let executor = self.scenario.executors.iter().position(|executor| executor.name == plan.executor)?;
        let group = match plan.kind {
            GroupKind::Reentrant => Group::Reentrant(executors[executor].create_reentrant_group(plan.name.as_str())),
            _ => Group::Exclusive(executors[executor].create_group(plan.name.as_str(), ())),
        };
        Some((&plan.name, executor, group))
    }

    /// Creates the entity of the callback with this number. It lives as long as the handle that is returned.
    fn entity(&self, number: usize, plan: &Callback, group: &Group) -> Result<Box<dyn Any>, SyntheticError> {
        let mut outlets = Vec::new();
        for address in &plan.publishes {
            outlets.extend(self.outlets(address)?);
        }
        let work = Work::new(self.scenario, number, Arc::clone(&self.world), outlets, Arc::clone(&self.runs));
        let is_async = plan.is_async();
        match &self.inlets[number] {
            Inlet::None => {
                let options = self.timer(plan);
                create!(group, is_async, work, Tick, create_timer, create_timer_async, options)
            }
            Inlet::Topic(topic) => {
                let options = SubscriptionOptions::new(topic).keep_last(plan.depth as usize);
                let options = with_common!(options, plan);
                create!(
                    group,
                    is_async,
                    work,
                    Arc<Message>,
                    create_local_subscription,
                    create_local_subscription_async,
                    options
                )
            }
            Inlet::Mailbox(mailbox) => {
                let options = with_common!(EntityOptions::new(&plan.name), plan);
                let source = MailboxSource(Arc::clone(mailbox));
                create!(group, is_async, work, Message, create_source, create_source_async, plan.kind, options, source)
            }
        }
    }

    /// Returns the options of a timer, whose first due time counts from the scenario's zero.
    fn timer(&self, plan: &Callback) -> TimerOptions {
        let options = match plan.period {
            Some(period) => TimerOptions::periodic(self.world.scaled(period)),
            None => TimerOptions::one_shot(std::time::Duration::ZERO),
        };
        // Reading of the timer's clock at the scenario's zero, which may be a moment in the future.
        let clock = self.context.clock();
        let ahead = self.world.zero().saturating_since(clock.now());
        let zero = match plan.clock {
            rospin_engine::ClockKind::Steady => self.world.zero(),
            other => clock.read(other) + ahead,
        };
        let due = zero + self.world.scaled(plan.first_due());
        with_common!(options.clock(plan.clock).overrun(plan.overrun).first_due(due), plan)
    }

    /// Returns the destinations of a message to `address`, without repetitions.
    fn outlets(&self, address: &str) -> Result<Vec<Outlet>, SyntheticError> {
        let mut topics: Vec<&String> = Vec::new();
        let mut outlets = Vec::new();
        for (number, _) in self.scenario.receivers(address) {
            match &self.inlets[number] {
                Inlet::None => {}
                Inlet::Topic(topic) if topics.contains(&topic) => {}
                Inlet::Topic(topic) => {
                    topics.push(topic);
                    let publisher = self.context.create_local_publisher::<Message>(topic.as_str()).map_err(refused)?;
                    outlets.push(Outlet::Topic(publisher));
                }
                Inlet::Mailbox(mailbox) => outlets.push(Outlet::Mailbox(Arc::clone(mailbox))),
            }
        }
        Ok(outlets)
    }
}
