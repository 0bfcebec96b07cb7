//! Assembly of the graph's groups on rospin's executors.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rospin_engine::os::{CoreSet, OsScheduling, ThreadOptions};
use rospin_engine::{
    Context, ContextOptions, Executor, ExecutorOptions, SpinError, SpinOptions, Timer, TimerOptions, policy,
};
use rospin_measure::process::{CpuMeter, resident_mib};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::middleware::Process;

use super::callback::{Callback, Callbacks};
use super::child::{Order, Part};
use super::graph::{self, Port};
use super::kpi::Recorder;
use super::layout::{self, ExecutorPlan};
use super::runner::{Settings, Variant};
use super::system::{self, Group};
use super::transport::{self, Wires};

/// Interval at which [`spin`] checks if an executor has ended before its time.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Time from the start of a run to the start of all timers. By then all entities exist and the executors spin, so no
/// timer starts late.
const START_UP: Duration = Duration::from_millis(50);

/// Runs the order's executor in this process, with the nodes of this process.
///
/// # Errors
/// If the nodes cannot be created, an executor fails, or a callback causes an incident; in words.
pub(super) fn run(order: &Order) -> Result<Part, String> {
    let Order { variant, settings, .. } = *order;
    let incidents = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&incidents);
    let report = move |incident: &rospin_engine::Incident| lock(&seen).push(incident.to_string());
    let priorities = if settings.cores.is_some() { layout::paired_priorities() } else { layout::priorities() };
    let priorities = priorities.map_err(|error| error.to_string())?;
    let context = Context::new(ContextOptions::new().priorities(priorities).on_incident(report));

    let recorder = Arc::new(Recorder::new());
    let executors = create_executors(&context, variant, &settings);
    let plans = layout::executors(variant, settings.cores.unwrap_or_else(cores));
    let threads = plans.iter().map(|plan| usize::from(plan.threads())).sum();
    let process = Process { domain_id: order.domain_id, number: order.process, hosts: None };
    let mut wires = transport::wires(settings.transport, &context, &process)?;
    let now_ns = context.clock().now().as_nanos();
    let started_ns = order.start_ns.unwrap_or(now_ns);
    let lead = Duration::from_nanos(started_ns.saturating_sub(now_ns));
    let mut timers = Vec::new();
    for group in system::build(&recorder) {
        if graph::process_of(group.spec.node, settings.processes) == order.process {
            let executor = &executors[layout::executor_of(variant, group.spec.name)];
            let wiring = Wiring { context: &context, wires: &mut *wires, settings, variant, started_ns };
            timers.extend(wiring.create_group(group, executor)?);
        }
    }

    let (mut cpu, mut unmatched) = (CpuMeter::start(), 0);
    // Each of several processes has one executor, and a core of its own if there are enough.
    let is_apart = settings.processes > 1 && settings.processes <= cores();
    let core = is_apart.then_some(order.process.into());
    let at_start = || {
        cpu = CpuMeter::start();
        unmatched = wires.unmatched();
    };
    spin(&executors, core, lead, settings.duration, at_start).map_err(|error| error.to_string())?;
    if let Some(incident) = lock(&incidents).first() {
        return Err(incident.clone());
    }
    let reports = executors.iter().flat_map(|executor| executor.handle().thread_reports());
    let mut remarks: Vec<String> =
        reports.flat_map(|report| report.shortfalls).map(|shortfall| format!("a thread lacks {shortfall}")).collect();
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

/// Creates the executors of a variant, on as many cores as the settings say. Where the machine has these, threads are
/// kept on them: each executor's, if there are several executors, and in a comparison on a number of cores all threads.
/// Executors that share a core get their priorities under `SCHED_FIFO`.
fn create_executors(context: &Context, variant: Variant, settings: &Settings) -> Vec<Executor> {
    let plans = layout::executors(variant, settings.cores.unwrap_or_else(cores));
    let allowed = CoreSet::of_current_thread().map(|cores| cores.as_slice().to_vec()).unwrap_or_default();
    let keeps = settings.cores.is_some() || plans.len() > 1;
    let core_of = |index: &u16| allowed.get(usize::from(*index)).copied();
    let create = |plan: &ExecutorPlan| {
        let mut thread = ThreadOptions::new();
        let on: Option<Vec<u16>> = plan.cores.iter().map(core_of).collect();
        if let Some(on) = on.filter(|_| keeps) {
            thread = thread.cores(CoreSet::new(on));
        }
        if plans.iter().any(|other| other != plan && other.cores == plan.cores) {
            thread = thread.scheduling(OsScheduling::Fifo { priority: plan.os_priority });
        }
        let policy = policy::by_name(plan.policy).expect("layouts name policies that exist");
        let options = ExecutorOptions::new(plan.name).boxed_policy(policy).threads(plan.threads()).thread(thread);
        context.create_executor(options)
    };
    plans.iter().map(create).collect()
}

/// Returns the number of threads of rclcpp's multi-threaded executor: as many as cores, and at least two.
fn cores() -> u16 {
    let cores = thread::available_parallelism().ok().and_then(|cores| u16::try_from(cores.get()).ok());
    cores.unwrap_or(1).max(2)
}

/// Objects that the groups are created with, and settings that are the same for all groups.
struct Wiring<'a> {
    context: &'a Context,
    wires: &'a mut dyn Wires,
    settings: Settings,
    variant: Variant,
    started_ns: u64,
}

impl Wiring<'_> {
    /// Creates a callback group with its subscriptions and its timer. Returns the timer, which must be kept.
    fn create_group(self, group: Group, executor: &Executor) -> Result<Option<Timer>, String> {
        let Self { context, wires, settings, variant, started_ns } = self;
        let spec = group.spec.clone();
        let output = spec.output.map(|topic| wires.publisher(&spec, topic)).transpose()?;
        let callbacks = Callbacks::create(executor, variant.is_reentrant(), group);
        let mut timer = None;
        for port in spec.ports() {
            let callback = Callback { port, output: output.clone(), context: context.clone(), settings, started_ns };
            let name = layout::entity_name(spec.name, port);
            match port {
                Port::Timer => {
                    let period = spec.period.unwrap_or_default();
                    // All timers start together, whatever the order in which they are created.
                    let first_due = rospin_engine::Instant::from_nanos(started_ns) + START_UP + period;
                    let options = TimerOptions::periodic(period).name(name).first_due(first_due);
                    let options = options.overrun(layout::overrun(variant));
                    timer = Some(callbacks.create_timer(options, callback).map_err(|error| error.to_string())?);
                }
                Port::Input(input) => {
                    wires.subscription(&spec, &callbacks, spec.inputs[input], name, callback)?;
                }
            }
        }
        Ok(timer)
    }
}

/// Spins all executors for `lead`, calls `at_start`, and goes on for `duration`. An executor that ends by itself ends
/// the wait. Each executor has a thread of its own, which is kept on the core with the index `core`, if there is one.
fn spin(
    executors: &[Executor],
    core: Option<usize>,
    lead: Duration,
    duration: Duration,
    at_start: impl FnOnce(),
) -> Result<(), SpinError> {
    let begun = Instant::now();
    thread::scope(|scope| {
        let spin = |executor: &'_ Executor| {
            core.into_iter().for_each(pin_to);
            executor.spin(SpinOptions::new())
        };
        let spun: Vec<_> = executors.iter().map(|executor| scope.spawn(move || spin(executor))).collect();
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
