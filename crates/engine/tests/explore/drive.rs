//! Runs a program once, under the schedule that shuttle chooses.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use rospin_engine::trace::TraceEvent;
use rospin_engine::{
    Context, ContextOptions, Deployment, Executor, ExecutorOptions, GroupOptions, IncidentKind, Instant, LossWatch,
    ManualClock, OnPanic, Source, policy,
};
use shuttle::thread;

use super::create::create;
use super::model::{Event, Picked, Rule, Seen, SpinResult};
use super::operations::{does, does_all};
use super::program::{Action, ExecutorPlan, Main, PanicPlan, PolicyKind, Program, Role, Round, SpinPlan};
use super::publish::drop_queue;
use super::record::{record, recorder};
use super::schedule::Quiet;
use super::script::{act, block_on_script, failure, halt, ms, options, result_of};
use super::wait::{Own, await_service, call, finish, on, sleep, yield_once};
use super::world::{Group, Load, World, lock, lost};

/// The outcome of a run: the first rule that was broken, and the notes that led to it.
#[derive(Default)]
pub(crate) struct Verdict {
    broken: Mutex<Option<Broken>>,
    /// The world of the run, for the notes of one that the scheduler ended.
    world: Mutex<std::sync::Weak<World>>,
}

/// A broken rule. `story` is the text of the last notes up to it.
#[derive(Clone, Debug)]
pub(crate) struct Broken {
    pub(crate) rule: Rule,
    pub(crate) message: String,
    pub(crate) story: String,
}

impl Broken {
    /// Returns a key that tells one kind of failure from another: the rule and its message, without digits.
    pub(crate) fn key(&self) -> String {
        let words: String = self.message.chars().filter(|letter| !letter.is_ascii_digit()).collect();
        format!("{:?}: {words}", self.rule)
    }
}

impl Verdict {
    pub(crate) fn take(&self) -> Option<Broken> {
        lock(&self.broken).take()
    }

    /// Returns the text of the last notes of the run.
    pub(crate) fn story(&self) -> String {
        let world = lock(&self.world).upgrade();
        world.map(|world| world.story()).unwrap_or_default()
    }
}

/// The number of spins of one thread beyond those of its plan. If the spins of an executor end at once, it is given up
/// after them.
const SPINS: usize = 40;

/// Runs the program from its beginning to its end. Panics if a rule is broken, and writes the rule to `verdict`.
pub(crate) fn run(program: &Arc<Program>, quiet: &Quiet, verdict: &Verdict) {
    let world = build(program);
    *lock(&verdict.broken) = None;
    *lock(&verdict.world) = Arc::downgrade(&world);
    let watch = Watch { world: &world, quiet, verdict };
    let spinners: Vec<_> = executors(&world).into_iter().map(|executor| spin_on_thread(&world, executor)).collect();
    let start = |actions: &Vec<Action>| {
        let (world, actions) = (Arc::clone(&world), actions.clone());
        thread::spawn(move || block_on_script(&world, &actions))
    };
    let outside: Vec<_> = program.threads.iter().map(start).collect();
    for round in &program.rounds {
        play(&watch, round);
    }
    record(&world, false);
    world.finish();
    world.gate.open(true);
    for executor in program.executors.iter().filter(|executor| executor.role != Role::Companion) {
        halt(&world, executor.id);
    }
    watch.settle();
    // A halt ends one spin, and further threads may be waiting to spin the same executor.
    for _ in 1..program.threads.len() {
        for spare in program.executors.iter().filter(|executor| executor.role == Role::Spare) {
            halt(&world, spare.id);
        }
        watch.settle();
    }
    let executors: Vec<_> = spinners.into_iter().filter_map(|spinner| spinner.join().ok()).collect();
    take_down(&world, executors);
    watch.settle();
    outside.into_iter().for_each(|thread| drop(thread.join()));
    watch.end();
}

/// The main thread's view of the other threads.
struct Watch<'a> {
    world: &'a Arc<World>,
    quiet: &'a Quiet,
    verdict: &'a Verdict,
}

impl Watch<'_> {
    /// Waits until all other threads are blocked, and judges.
    fn settle(&self) {
        self.quiet.wait();
        let world = self.world;
        let (ros, ros_active) = (world.ros.now(), world.ros.is_active());
        does_all(&["RosTime::now", "RosTime::is_active", "Context::clock", "Clock::read"]);
        let losses = losses_watched(world);
        let read = |kind| world.context.clock().read(kind).as_nanos() / 1_000_000;
        let seen = Seen {
            steady: read(rospin_engine::ClockKind::Steady),
            system: read(rospin_engine::ClockKind::System),
            ros: ros.as_nanos() / 1_000_000,
            ros_active,
            losses,
            full_channels: world.channels.iter().map(|channel| channel.is_full()).collect(),
        };
        world.note(|model, _| model.judge_quiet(&seen));
        self.stop_if_broken();
    }

    /// Judges the end of the program, when everything was dropped.
    fn end(&self) {
        let world = self.world;
        let tables = std::mem::take(&mut *world.tables());
        drop(tables);
        world.channels.iter().for_each(|channel| channel.clear());
        // Publishers still have what they keep for late subscriptions.
        let kept: usize = world.publishers.iter().map(|publisher| publisher.kept().len()).sum();
        let left = world.tally.left() - kept as isize;
        does("Context::losses");
        let losses = world.context.losses();
        world.note(|model, _| {
            model.judge_end(&|name| lost(&losses, name));
            if left != 0 {
                model.broken(Rule::Memory, format!("{left} payloads, messages or captures are left in the end"));
            }
        });
        self.stop_if_broken();
    }

    /// Writes the verdict and panics if a rule was broken.
    fn stop_if_broken(&self) {
        let broken = self.world.note(|model, _| {
            let (violation, _) = model.violation.clone()?;
            Some(Broken { rule: violation.rule, message: violation.message, story: model.story(60) })
        });
        if let Some(broken) = broken {
            *lock(&self.verdict.broken) = Some(broken);
            panic!("a rule was broken");
        }
    }
}

/// Returns the losses that entities should have been told of, with their lives.
fn losses_watched(world: &Arc<World>) -> Vec<(usize, u64)> {
    let watches = world.tables().watches.clone();
    let total = |mut watch: LossWatch| watch.try_take().ok().flatten().unwrap_or(0);
    watches.into_iter().map(|(life, watch)| (life, total(watch))).collect()
}

/// Plays a round, judges once all threads are blocked, and then opens the gate.
fn play(watch: &Watch<'_>, round: &Round) {
    let world = watch.world;
    // Spins are left out: a spin may last, and everything waits for this thread.
    for action in round.before.iter().filter(|action| !matches!(action, Action::Spin(..))) {
        match action {
            Action::Record(on) => record(world, *on),
            _ => drop(Own::default().act(world, action).unwrap_or_else(|| act(world, None, action))),
        }
    }
    if round.while_blocked {
        watch.settle();
    }
    if round.advance > 0 {
        world.note(|model, task| model.advances(task, round.advance, round.while_blocked));
        does("ManualClock::advance");
        world.clock.advance(ms(round.advance));
        world.note(|model, task| model.advanced(task));
    }
    if let Some(to) = round.set_system {
        world.note(|model, task| model.sets_system(task, to));
        does("ManualClock::set_system");
        world.clock.set_system(std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_millis(to));
        world.note(|model, task| model.set_system(task, to));
    }
    watch.settle();
    world.gate.open(false);
}

/// Creates the world of a program, without executors. The model is told of incidents.
fn build(program: &Arc<Program>) -> Arc<World> {
    does_all(&[
        "ManualClock::new",
        "ContextOptions::new",
        "ContextOptions::manual_clock",
        "ContextOptions::on_incident",
    ]);
    does("Context::new");
    let clock = ManualClock::new();
    let recorder = program.records().then(recorder);
    let told: Arc<Mutex<Option<std::sync::Weak<World>>>> = Arc::default();
    let to = Arc::clone(&told);
    let mut options = ContextOptions::new().manual_clock(clock.clone()).on_incident(move |incident| {
        // Programs wait as long as they like.
        let is_held_up = matches!(incident.kind, IncidentKind::HeldUp { .. });
        let world = lock(&to).as_ref().and_then(std::sync::Weak::upgrade);
        if let Some(world) = world.filter(|_| !is_held_up) {
            world.note(|model, task| {
                model.incident(task, &incident.entity, incident.to_string());
            });
        }
    });
    if let Some(deployment) = deployment(program) {
        does("ContextOptions::deployment");
        options = options.deployment(deployment);
    }
    if let Some(recorder) = &recorder {
        options = options.recorder(recorder.clone());
    }
    let world = World::new(Arc::clone(program), Context::new(options), clock, recorder);
    *lock(&told) = Some(Arc::downgrade(&world));
    world
}

/// Returns the deployment file that moves groups to companions; `None` if the program has no companion.
fn deployment(program: &Program) -> Option<Deployment> {
    let companions: Vec<_> = program.executors.iter().filter(|executor| executor.role == Role::Companion).collect();
    if companions.is_empty() {
        return None;
    }
    let mut text = String::new();
    let moved: Vec<_> = program.groups.iter().filter(|group| program.runs(group) != group.executor).collect();
    for companion in companions {
        if !moved.iter().any(|group| program.runs(group) == companion.id) {
            continue;
        }
        let (id, threads, policy) = (companion.id, companion.threads, policy_name(companion.policy));
        text += &format!("[[executor]]\nname = \"x{id}\"\nthreads = {threads}\npolicy = \"{policy}\"\n");
    }
    for group in moved {
        text += &format!("[[group]]\nname = \"g{}\"\nexecutor = \"x{}\"\n", group.id, program.runs(group));
    }
    Some(Deployment::parse(&text).expect("what was written can be read"))
}

const fn policy_name(policy: PolicyKind) -> &'static str {
    match policy {
        PolicyKind::FixedPriority => "fixed-priority",
        PolicyKind::Fifo => "fifo",
        PolicyKind::Edf => "edf",
        PolicyKind::WaitSet => "wait-set-e1",
    }
}

/// Creates executors, groups and entities. Returns the executors that are spun by threads of their own.
fn executors(world: &Arc<World>) -> Vec<(ExecutorPlan, Executor)> {
    let program = Arc::clone(&world.program);
    let mut own = Vec::new();
    for plan in program.executors.iter().filter(|plan| plan.role != Role::Companion) {
        let executor = executor(world, plan);
        world.tables().executors[plan.id] = Some(executor.handle());
        if plan.role == Role::Spare {
            world.tables().spares[plan.id] = Some(Arc::new(executor));
        } else {
            own.push((plan.clone(), executor));
        }
    }
    for group in &program.groups {
        let handle = world.tables().executors.get(group.executor).cloned().flatten();
        let Some(handle) = handle else {
            continue;
        };
        let on_panic = match group.on_panic {
            PanicPlan::Continue => OnPanic::Continue,
            PanicPlan::Remove => OnPanic::Remove,
            PanicPlan::Halt => OnPanic::Halt,
        };
        does_all(&["GroupOptions::new", "GroupOptions::on_panic"]);
        let mut options = GroupOptions::new(format!("g{}", group.id)).on_panic(on_panic);
        if group.releases {
            does("GroupOptions::releases_at_await");
            options = options.releases_at_await();
        }
        let created = if group.reentrant {
            does("ExecutorHandle::create_reentrant_group");
            Group::Reentrant(handle.create_reentrant_group(options))
        } else {
            does("ExecutorHandle::create_group");
            Group::Exclusive(handle.create_group(options, Load { _token: world.token(), touched: 0 }))
        };
        world.tables().groups[group.id] = Some(created);
    }
    for entity in program.entities.iter().filter(|entity| entity.at_start) {
        create(world, entity.id);
    }
    own
}

fn executor(world: &Arc<World>, plan: &ExecutorPlan) -> Executor {
    does_all(&["ExecutorOptions::new", "ExecutorOptions::threads", "Context::create_executor", "Executor::handle"]);
    let mut options = ExecutorOptions::new(format!("x{}", plan.id)).threads(plan.threads);
    if plan.polls {
        does("ExecutorOptions::busy_poll");
        options = options.busy_poll(std::time::Duration::MAX);
    }
    does(if plan.policy == PolicyKind::WaitSet { "ExecutorOptions::boxed_policy" } else { "ExecutorOptions::policy" });
    let options = match plan.policy {
        PolicyKind::FixedPriority => options.policy(policy::FixedPriority::new()),
        PolicyKind::Fifo => options.policy(policy::Fifo::new()),
        PolicyKind::Edf => options.policy(policy::Edf::new()),
        PolicyKind::WaitSet => options.boxed_policy(policy::by_name(policy_name(plan.policy)).expect("it is there")),
    };
    let id = plan.id;
    let options = if world.note(|model, _| model.is_traced(id)) {
        let world = Arc::downgrade(world);
        does("ExecutorOptions::trace");
        options.trace(move |_: Instant, event: TraceEvent| {
            if let (TraceEvent::Dispatched(_, activation), Some(world)) = (event, world.upgrade()) {
                let millis = |instant: Instant| instant.as_nanos() / 1_000_000;
                let priority = activation.priority.0;
                let (release, deadline) = (millis(activation.release), millis(activation.deadline));
                world.note(|model, task| model.picked(task, id, Picked { priority, release, deadline }));
            }
        })
    } else {
        options
    };
    world.context.create_executor(options)
}

type Spinner = thread::JoinHandle<(usize, Executor)>;

fn spin_on_thread(world: &Arc<World>, (plan, executor): (ExecutorPlan, Executor)) -> Spinner {
    let world = Arc::clone(world);
    thread::spawn(move || {
        let more = std::iter::repeat_n(SpinPlan::HALTED, SPINS);
        for spin in plan.spins.iter().copied().chain(more) {
            if world.is_finishing() {
                break;
            }
            does("Executor::next_due");
            let _next = executor.next_due();
            world.note(|model, task| model.spin_begins(task, plan.id, spin));
            let spun = catch_unwind(AssertUnwindSafe(|| spin_once(&world, plan.id, &executor, spin)));
            let result = match spun {
                Ok(result) => result,
                Err(panic) => {
                    let text = panic.downcast_ref::<String>().cloned();
                    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
                    world.note(|model, _| model.broken(Rule::Engine, format!("spin panicked: {text:?}")));
                    return (plan.id, executor);
                }
            };
            world.note(|model, task| model.spin_ended(task, plan.id, result));
        }
        (plan.id, executor)
    })
}

fn spin_once(world: &Arc<World>, id: usize, executor: &Executor, spin: SpinPlan) -> SpinResult {
    let Some(main) = spin.main else {
        does("Executor::spin");
        return result_of(executor.spin(options(spin)));
    };
    let future = async {
        let waiting = match main {
            Main::Sleep(on, clock, duration) => sleep(world, on, clock, duration),
            Main::Call(service) => call(world, service),
            Main::AwaitService(service) => Some(await_service(world, service)),
            Main::Yields(count) => {
                for _ in 0..count {
                    yield_once().await;
                }
                None
            }
            Main::Gates(count) => {
                for _ in 0..count {
                    if !world.is_finishing() {
                        world.pass_gate(Some(id));
                    }
                    yield_once().await;
                }
                None
            }
            Main::Listens(channel) => {
                for _ in 0..2 {
                    world.channels[channel].change_comes().await;
                    if !world.is_finishing() {
                        world.pass_gate(Some(id));
                    }
                }
                None
            }
            Main::Never => std::future::pending().await,
        };
        if let Some(waiting) = waiting {
            let waits_on = on(&waiting);
            world.note(|model, task| model.blocks(task, waits_on, Some(id)));
            finish(world, waiting).await;
            world.note(|model, task| model.unblocks(task, Some(id)));
        }
        world.note(|model, _| model.main_is_done(id));
    };
    does("Executor::spin_until");
    match executor.spin_until(future, options(spin)) {
        Ok(()) => SpinResult::Resolved,
        Err(error) => failure(&error),
    }
}

/// Drops executors and handles, in the order of the program.
fn take_down(world: &Arc<World>, executors: Vec<(usize, Executor)>) {
    let groups = std::mem::take(&mut world.tables().groups);
    let into_payload = |(number, group): (usize, Option<Group>)| {
        let Some(Group::Exclusive(group)) = group.filter(|_| number % 2 == 0) else {
            return;
        };
        world.note(|model, task| model.removes_group(task, number));
        does("CallbackGroup::into_payload");
        let payload = group.into_payload();
        world.note(|model, task| model.removed_group(task, number));
        if payload.is_err() {
            world
                .note(|model, _| model.broken(Rule::Memory, format!("the payload of group {number} is not to be had")));
        }
    };
    let entities = std::mem::take(&mut world.tables().entities);
    let drop_entities = || {
        for (life, handle) in entities.into_iter().flatten() {
            world.note(|model, task| model.drops(task, life));
            drop(handle);
            world.note(|model, task| model.dropped(task, life));
        }
    };
    let spares = std::mem::take(&mut world.tables().spares);
    let spares = spares.into_iter().enumerate().filter_map(|(id, spare)| Some((id, Arc::try_unwrap(spare?).ok()?)));
    let all: Vec<_> = executors.into_iter().chain(spares).collect();
    let drop_executors = || {
        for (id, executor) in all {
            world.note(|model, task| model.drops_executor(task, id));
            drop(executor);
            world.note(|model, task| model.dropped_executor(task, id));
        }
    };
    if world.program.handles_first {
        groups.into_iter().enumerate().for_each(into_payload);
        drop_entities();
        drop_executors();
    } else {
        drop_executors();
        drop_entities();
    }
    for queue in world.program.queues.iter().map(|queue| queue.id) {
        drop_queue(world, queue);
    }
    world.note(|model, task| model.note(task, Event::Did("dropped everything")));
}
