//! Assembly of the graph's groups on rospin's executors.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rospin_engine::policy::{Fifo, FixedPriority, Timers, WaitSet};
use rospin_engine::{
    CallbackGroup, Chain, Context, ContextOptions, Executor, ExecutorOptions, Overrun, Policy, PriorityMap, SpinError,
    SpinOptions, Tick, Timer, TimerOptions,
};
use rospin_measure::process::{CpuMeter, resident_mib};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::crunch;
use crate::middleware::Process;

use super::child::{Order, Part};
use super::graph::{self, CHAINS, GroupSpec, Port};
use super::kpi::Recorder;
use super::message::Message;
use super::node::Activation;
use super::runner::{Settings, Variant};
use super::system::{self, Group};
use super::transport::{self, Publish, Wires};

/// Interval at which [`spin`] checks if an executor has ended before its time.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Time from the start of a run to the start of all timers. By then all entities exist and the executors spin, so no
/// timer starts late.
const START_UP: Duration = Duration::from_millis(50);

/// Groups on the first of two executors: those of the two lidar chains, of the planner's chain and of the control
/// chain. All other groups are on the second one. That leaves each executor with about half of the load, and no chain
/// from a lidar to the actuator uses both.
const FIRST_EXECUTOR: [&str; 12] = [
    "FrontLidarDriver",
    "RearLidarDriver",
    "PointsTransformerFront",
    "PointsTransformerRear",
    "PointCloudFusion",
    "RayGroundFilter",
    "EuclideanClusterDetector",
    "ObjectCollisionEstimator",
    "BehaviorPlanner",
    "MPCController",
    "VehicleInterface",
    "VehicleDBWSystem",
];

/// Runs the order's executor in this process, with the nodes of this process.
///
/// # Errors
/// If the nodes cannot be created, an executor fails, or a callback causes an incident; in words.
pub(super) fn run(order: &Order) -> Result<Part, String> {
    let Order { variant, settings, .. } = *order;
    let incidents = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&incidents);
    let report = move |incident: &rospin_engine::Incident| lock(&seen).push(incident.to_string());
    let priorities = priorities().map_err(|error| error.to_string())?;
    let context = Context::new(ContextOptions::new().priorities(priorities).on_incident(report));

    let recorder = Arc::new(Recorder::new());
    let executors = executors(&context, variant);
    let threads = if variant == Variant::WaitSetMulti { cores().into() } else { executors.len() };
    let process = Process { domain_id: order.domain_id, number: order.process, hosts: None };
    let mut wires = transport::wires(settings.transport, &context, &process)?;
    let now_ns = context.clock().now().as_nanos();
    let started_ns = order.start_ns.unwrap_or(now_ns);
    let lead = Duration::from_nanos(started_ns.saturating_sub(now_ns));
    let mut timers = Vec::new();
    for group in system::build(&recorder) {
        if graph::process_of(group.spec.node, settings.processes) == order.process {
            let executor = &executors[executor_of(&group.spec, executors.len())];
            let wiring =
                Wiring { context: &context, wires: &mut *wires, settings, overrun: overrun(variant), started_ns };
            timers.extend(wiring.create_group(group, executor)?);
        }
    }

    let (mut cpu, mut unmatched) = (CpuMeter::start(), 0);
    let first_core = if settings.processes > 1 { order.process } else { 0 };
    let at_start = || {
        cpu = CpuMeter::start();
        unmatched = wires.unmatched();
    };
    let cores = Cores { first: first_core.into(), used: executors.len() * usize::from(settings.processes) };
    spin(&executors, cores, lead, settings.duration, at_start).map_err(|error| error.to_string())?;
    if let Some(incident) = lock(&incidents).first() {
        return Err(incident.clone());
    }
    let mut remarks = Vec::new();
    if unmatched > 0 {
        remarks.push(format!("{unmatched} ends of topics had not found the other one when the run began"));
    }
    if wires.unsent() > 0 {
        remarks.push(format!("{} samples could not be sent", wires.unsent()));
    }
    Ok(Part {
        threads,
        recording: recorder.recording(),
        end_ns: context.clock().now().as_nanos().saturating_sub(started_ns),
        cpu_percent: cpu.percent(),
        memory_mib: resident_mib(),
        remarks,
    })
}

/// Returns the PiCAS priorities of the graph's chains. The first chain is the most critical one.
pub(super) fn priorities() -> Result<PriorityMap, rospin_engine::ChainError> {
    let criticalities = (1..=CHAINS.len() as u32).rev();
    let chains = CHAINS.iter().zip(criticalities).map(|(chain, criticality)| {
        let names = chain.callbacks.iter().map(|(group, port)| entity_name(group, *port));
        Chain::new(chain.name, criticality, names)
    });
    PriorityMap::picas(&chains.collect::<Vec<_>>())
}

/// Returns the name that a callback of the group has in the engine.
pub(super) fn entity_name(group: &str, port: Port) -> String {
    match port {
        Port::Timer => format!("{group}/timer"),
        Port::Input(input) => format!("{group}/{input}"),
    }
}

/// Returns the executors of a variant, with its policy and its numbers of threads.
fn executors(context: &Context, variant: Variant) -> Vec<Executor> {
    let create = |name: &str, policy: Box<dyn Policy>, threads| {
        context.create_executor(ExecutorOptions::new(name).boxed_policy(policy).threads(threads))
    };
    match variant {
        Variant::WaitSetSingle => vec![create("main", Box::new(WaitSet::new(Timers::Inside)), 1)],
        Variant::WaitSetMulti => vec![create("main", Box::new(WaitSet::new(Timers::Inside)), cores())],
        Variant::FifoSingle => vec![create("main", Box::new(Fifo::new()), 1)],
        Variant::PrioritySingle => vec![create("main", Box::new(FixedPriority::new()), 1)],
        Variant::PriorityMulti => {
            ["lidar", "others"].map(|name| create(name, Box::new(FixedPriority::new()), 1)).into()
        }
    }
}

/// Returns the treatment of due times that a timer missed: rclcpp's events executor queues every one of them, the other
/// executors skip them.
fn overrun(variant: Variant) -> Overrun {
    match variant {
        Variant::FifoSingle => Overrun::CatchUp(u32::MAX),
        _ => Overrun::Skip,
    }
}

/// Returns the number of threads of rclcpp's multi-threaded executor: as many as cores, and at least two.
fn cores() -> u16 {
    let cores = thread::available_parallelism().ok().and_then(|cores| u16::try_from(cores.get()).ok());
    cores.unwrap_or(1).max(2)
}

/// Returns the index of the executor that the group belongs to. `executors` is their number, one or two.
fn executor_of(group: &GroupSpec, executors: usize) -> usize {
    usize::from(executors > 1 && !FIRST_EXECUTOR.contains(&group.name))
}

/// What a callback runs for.
enum Input {
    Message(Arc<Message>),
    Tick(Tick),
}

/// Data of a callback besides its group.
#[derive(Clone)]
struct Callback {
    port: Port,
    /// Function that publishes on the group's topic; `None` for a command node.
    output: Option<Publish>,
    context: Context,
    settings: Settings,
    /// Start of the run on the context's clock.
    started_ns: u64,
}

impl Callback {
    /// Runs the callback on its `group`, and publishes the message that it returns, if any. `input` is the sample that
    /// the subscription took, or the tick of the timer.
    fn run(&self, group: &mut Group, input: Input) {
        let start_ns = self.context.clock().now().as_nanos() - self.started_ns;
        let (message, due_ns) = match input {
            Input::Message(message) => (Some(message), None),
            Input::Tick(tick) => (None, Some(tick.due.as_nanos().saturating_sub(self.started_ns))),
        };
        let mut crunch = || crunch::crunch(self.settings.crunch, self.settings.calibration);
        let output = group.run(self.port, message, Activation { start_ns, due_ns, crunch: &mut crunch });
        if let (Some(message), Some(output)) = (output, &self.output) {
            output(message);
        }
    }
}

/// Objects that the groups are created with, and settings that are the same for all groups.
struct Wiring<'a> {
    context: &'a Context,
    wires: &'a mut dyn Wires,
    settings: Settings,
    overrun: Overrun,
    started_ns: u64,
}

impl Wiring<'_> {
    /// Creates a callback group with its subscriptions and its timer. Returns the timer, which must be kept.
    fn create_group(self, group: Group, executor: &Executor) -> Result<Option<Timer>, String> {
        let Self { context, wires, settings, overrun, started_ns } = self;
        let spec = group.spec.clone();
        let output = spec.output.map(|topic| wires.publisher(&spec, topic)).transpose()?;
        let callbacks: CallbackGroup<Group> = executor.create_group(spec.name, group);
        let mut timer = None;
        for port in spec.ports() {
            let callback = Callback { port, output: output.clone(), context: context.clone(), settings, started_ns };
            let name = entity_name(spec.name, port);
            match port {
                Port::Timer => {
                    let period = spec.period.unwrap_or_default();
                    // All timers start together, whatever the order in which they are created.
                    let first_due = rospin_engine::Instant::from_nanos(started_ns) + START_UP + period;
                    let options = TimerOptions::periodic(period).name(name).overrun(overrun).first_due(first_due);
                    let created =
                        callbacks.create_timer(options, move |group, tick| callback.run(group, Input::Tick(tick)));
                    timer = Some(created.map_err(|error| error.to_string())?);
                }
                Port::Input(input) => {
                    let receive = move |group: &mut Group, message| callback.run(group, Input::Message(message));
                    wires.subscription(&spec, &callbacks, spec.inputs[input], name, Box::new(receive))?;
                }
            }
        }
        Ok(timer)
    }
}

/// Cores that the executors of a run are kept on.
struct Cores {
    /// Index of this process's first core among those that it may use.
    first: usize,
    /// Number of cores that all processes of the run use together.
    used: usize,
}

/// Spins all executors for `lead`, calls `at_start`, and goes on for `duration`. An executor that ends by itself ends
/// the wait. Each executor has a thread of its own. If the run has several executors, over all processes, and not more
/// than [`cores`] of them, each thread is also kept on a core of its own.
fn spin(
    executors: &[Executor],
    cores_of_run: Cores,
    lead: Duration,
    duration: Duration,
    at_start: impl FnOnce(),
) -> Result<(), SpinError> {
    let Cores { first, used } = cores_of_run;
    let pin = used > 1 && used <= usize::from(cores());
    let begun = Instant::now();
    thread::scope(|scope| {
        let spin = |(core, executor): (usize, &'_ Executor)| {
            if pin {
                pin_to(first + core);
            }
            executor.spin(SpinOptions::new())
        };
        let spun: Vec<_> = executors.iter().enumerate().map(|executor| scope.spawn(move || spin(executor))).collect();
        let wait_until = |end: Duration| {
            while begun.elapsed() < end && !spun.iter().any(|thread| thread.is_finished()) {
                thread::sleep(LOOK_EVERY.min(end.saturating_sub(begun.elapsed())));
            }
        };
        wait_until(lead);
        at_start();
        wait_until(lead + duration);
        for executor in executors {
            executor.halt();
        }
        // A panic of the engine itself is a bug, and is passed on.
        spun.into_iter()
            .try_for_each(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map(|_| ()))
    })
}

/// Keeps the calling thread on one of the cores that the process may use: that with the index `core`. If that is
/// refused, the kernel places the thread.
fn pin_to(core: usize) {
    let allowed = sched_getaffinity(None).unwrap_or_default();
    if let Some(core) = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).nth(core) {
        let mut only = CpuSet::new();
        only.set(core);
        let _ = sched_setaffinity(None, &only);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_of_the_first_executor_exists() {
        let groups = graph::groups();
        for name in FIRST_EXECUTOR {
            assert!(groups.iter().any(|group| group.name == name), "{name}");
        }
    }

    #[test]
    fn every_callback_has_a_priority_of_its_own() {
        let priorities = priorities().unwrap();
        let mut levels: Vec<_> = priorities.iter().map(|(_, priority)| priority).collect();
        levels.sort_unstable();
        levels.dedup();
        assert_eq!(levels.len(), 36);
        for group in graph::groups() {
            for port in group.ports() {
                assert!(priorities.get(&entity_name(group.name, port)).is_some());
            }
        }
    }
}
