//! Hangs the groups of the graph into rospin's executors. The only file of the lab that uses the engine.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rospin::policy::{Fifo, FixedPriority, Timers, WaitSet};
use rospin::{
    CallbackGroup, Chain, Context, ContextOptions, Executor, ExecutorOptions, Overrun, Policy, PriorityMap, Publisher,
    SpinError, SpinOptions, Subscription, SubscriptionOptions, Timer, TimerOptions,
};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::crunch;
use crate::process::{CpuMeter, resident_mib};

use super::graph::{CHAINS, GroupSpec, Port};
use super::kpi::Recorder;
use super::message::Message;
use super::node::Activation;
use super::runner::{RunError, RunResult, Runner, Settings, Variant};
use super::system::{self, Group};

/// How often the progress bar moves.
const PROGRESS_EVERY: Duration = Duration::from_millis(250);

/// Until then everything is created and spinning: no timer is late at the start.
const START_UP: Duration = Duration::from_millis(50);

/// With several executors: the groups on the first one, those of the two lidar chains and of the planner's. All others
/// are on the second one. That leaves each with about half of the load, and no chain from a lidar to the actuator
/// crosses over.
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

/// Runs an executor in this process.
pub(crate) struct InProcess;

impl Runner for InProcess {
    fn run(&self, variant: Variant, settings: &Settings, progress: &dyn Fn(f64)) -> Result<RunResult, RunError> {
        let engine = |reason: String| RunError::Engine { executor: variant.name(), reason };
        let incidents = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&incidents);
        let report = move |incident: &rospin::Incident| lock(&seen).push(incident.to_string());
        let priorities = priorities().map_err(|error| engine(error.to_string()))?;
        let context = Context::new(ContextOptions::new().priorities(priorities).on_incident(report));

        let recorder = Arc::new(Recorder::new());
        let executors = executors(&context, variant);
        let threads = if variant == Variant::WaitSetMulti { cores().into() } else { executors.len() };
        let started_ns = context.clock().now().as_nanos();
        let mut entities = Vec::new();
        for group in system::build(&recorder) {
            let executor = &executors[executor_of(&group.spec, executors.len())];
            entities.push(hang(group, executor, &context, settings, overrun(variant), started_ns).map_err(engine)?);
        }

        let cpu = CpuMeter::start();
        spin(&executors, settings.duration, progress).map_err(|error| engine(error.to_string()))?;
        if let Some(incident) = lock(&incidents).first() {
            return Err(engine(incident.clone()));
        }
        Ok(RunResult {
            variant,
            threads,
            kpis: recorder.finish(context.clock().now().as_nanos() - started_ns),
            cpu_percent: cpu.percent(),
            memory_mib: resident_mib(),
            remarks: Vec::new(),
        })
    }
}

/// The PiCAS priorities of the graph's chains, the most critical of which stands first.
fn priorities() -> Result<PriorityMap, rospin::ChainError> {
    let criticalities = (1..=CHAINS.len() as u32).rev();
    let chains = CHAINS.iter().zip(criticalities).map(|(chain, criticality)| {
        let names = chain.callbacks.iter().map(|(group, port)| entity_name(group, *port));
        Chain::new(chain.name, criticality, names)
    });
    PriorityMap::picas(&chains.collect::<Vec<_>>())
}

fn entity_name(group: &str, port: Port) -> String {
    match port {
        Port::Timer => format!("{group}/timer"),
        Port::Input(input) => format!("{group}/{input}"),
    }
}

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

/// What becomes of due times that a timer missed: rclcpp's events executor queues every one of them, all others skip.
fn overrun(variant: Variant) -> Overrun {
    match variant {
        Variant::FifoSingle => Overrun::CatchUp(u32::MAX),
        _ => Overrun::Skip,
    }
}

/// As many threads as cores, but two at least, as rclcpp's multi-threaded executor.
fn cores() -> u16 {
    let cores = thread::available_parallelism().ok().and_then(|cores| u16::try_from(cores.get()).ok());
    cores.unwrap_or(1).max(2)
}

fn executor_of(group: &GroupSpec, executors: usize) -> usize {
    usize::from(executors > 1 && !FIRST_EXECUTOR.contains(&group.name))
}

/// The entities of a group, which live as long as this.
#[derive(Default)]
struct Entities {
    timers: Vec<Timer>,
    subscriptions: Vec<Subscription>,
}

/// What a callback of the graph needs besides its group.
#[derive(Clone)]
struct Callback {
    port: Port,
    output: Option<Publisher<Message>>,
    context: Context,
    settings: Settings,
    started_ns: u64,
}

impl Callback {
    fn run(&self, group: &mut Group, message: Option<Arc<Message>>) {
        let start_ns = self.context.clock().now().as_nanos() - self.started_ns;
        let mut crunch = || crunch::crunch(self.settings.crunch, self.settings.calibration);
        let output = group.run(self.port, message, Activation { start_ns, crunch: &mut crunch });
        if let (Some(message), Some(output)) = (output, &self.output) {
            output.publish(message);
        }
    }
}

/// Makes a callback group of it, with its timer and its subscriptions.
fn hang(
    group: Group,
    executor: &Executor,
    context: &Context,
    settings: &Settings,
    overrun: Overrun,
    started_ns: u64,
) -> Result<Entities, String> {
    let spec = group.spec.clone();
    let output = spec.output.map(|topic| context.create_publisher(topic)).transpose();
    let output = output.map_err(|error| error.to_string())?;
    let callback_group: CallbackGroup<Group> = executor.create_group(spec.name, group);
    let callback =
        |port| Callback { port, output: output.clone(), context: context.clone(), settings: *settings, started_ns };
    let mut entities = Entities::default();
    for port in spec.ports() {
        let (callback, name) = (callback(port), entity_name(spec.name, port));
        match port {
            Port::Timer => {
                let period = spec.period.unwrap_or_default();
                // All timers start together, whatever the order in which they are created.
                let first_due = rospin::Instant::from_nanos(started_ns) + START_UP + period;
                let options = TimerOptions::periodic(period).name(name).overrun(overrun).first_due(first_due);
                let timer = callback_group.create_timer(options, move |group, _| callback.run(group, None));
                entities.timers.push(timer.map_err(|error| error.to_string())?);
            }
            Port::Input(input) => {
                let options = SubscriptionOptions::new(spec.inputs[input]).keep_last(spec.depth).name(name);
                let run = move |group: &mut Group, message| callback.run(group, Some(message));
                let subscription = callback_group.create_subscription(options, run);
                entities.subscriptions.push(subscription.map_err(|error| error.to_string())?);
            }
        }
    }
    Ok(entities)
}

/// Spins all executors for `duration`, each on a thread of its own; several executors each on a core of its own, too, if
/// the machine has enough of them.
fn spin(executors: &[Executor], duration: Duration, progress: &dyn Fn(f64)) -> Result<(), SpinError> {
    let started = Instant::now();
    let pin = executors.len() > 1 && executors.len() <= usize::from(cores());
    thread::scope(|scope| {
        let spin = |(core, executor): (usize, &'_ Executor)| {
            if pin {
                pin_to(core);
            }
            executor.spin(SpinOptions::new())
        };
        let spun: Vec<_> = executors.iter().enumerate().map(|executor| scope.spawn(move || spin(executor))).collect();
        while started.elapsed() < duration && !spun.iter().any(|thread| thread.is_finished()) {
            progress(started.elapsed().as_secs_f64() / duration.as_secs_f64());
            thread::sleep(PROGRESS_EVERY.min(duration.saturating_sub(started.elapsed())));
        }
        for executor in executors {
            executor.halt();
        }
        // A panic of the engine itself is a bug: let it through.
        spun.into_iter()
            .try_for_each(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map(|_| ()))
    })
}

/// Keeps the calling thread on that of the cores that the process may use. Where that is refused, the kernel places it.
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
    use super::super::graph;
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
