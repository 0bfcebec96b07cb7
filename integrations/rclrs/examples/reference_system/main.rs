//! The Autoware reference system with rclrs nodes: 24 nodes, 36 callbacks that calculate.
//! `reference_system [--executor basic|worker|rospin] [--work-ms 5|7] [--seconds N]`.
//!
//! `basic` creates the callbacks on nodes, `worker` on workers of rclrs's own executor, which have a thread each, and
//! `rospin` on workers of one thread of rospin's, with priorities by chain. Prints one line of JSON; see the [reference
//! system](https://github.com/ros-realtime/reference-system) for what it measures.

mod graph;
mod group;

#[path = "../common/mod.rs"]
mod common;

use std::any::Any;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rclrs::*;
use ros_env::std_msgs::msg::Int64MultiArray;
use rospin_measure::process::process_cpu_time;
use rospin_measure::stats::{Summary, percentile};
use rospin_rclrs::{Priority, Scope};

use graph::{GROUPS, HOT_PATH};
use group::{Record, State};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments = common::Arguments::parse()?;
    let work = Duration::from_millis(arguments.number("work-ms", 7));
    let time = Duration::from_secs(arguments.number("seconds", 20));
    let mut executor = arguments.executor(&Context::default())?;
    let record = Arc::<Record>::default();
    let mut kept: Vec<Box<dyn Any>> = Vec::new();
    let mut nodes: Vec<(&str, Node)> = Vec::new();
    for (index, group) in GROUPS.iter().enumerate() {
        if nodes.iter().all(|(name, _)| *name != group.node) {
            let options = NodeOptions::new(group.node).start_parameter_services(false);
            nodes.push((group.node, executor.create_node(options)?));
        }
        let Some((_, node)) = nodes.iter().find(|(name, _)| *name == group.node) else { continue };
        let publisher = group.output.map(|topic| node.create_publisher(topic.keep_last(1).reliable())).transpose()?;
        let state = State::new(index, work, publisher, Arc::clone(&record));
        if arguments.executor_name() == "basic" {
            create_on_node(node, group, state, &mut kept)?;
        } else {
            create_on_worker(node, group, state, &mut kept)?;
        }
    }
    // The ends of the topics find each other in the first second, which does not count.
    let warm = executor.spin(SpinOptions::new().timeout(Duration::from_secs(1)));
    record.begin();
    let before = (Instant::now(), process_cpu_time());
    let errors = executor.spin(SpinOptions::new().timeout(time));
    let cores = process_cpu_time().saturating_sub(before.1).as_secs_f64() / before.0.elapsed().as_secs_f64();
    if let Some(error) = warm.into_iter().chain(errors).find(|error| !error.is_timeout()) {
        return Err(error.into());
    }
    report(&arguments, work, &record, cores);
    Ok(())
}

/// Returns the options of a subscription: the last sample, or the last ten at the end of a path.
fn input(group: &graph::Group, topic: &'static str) -> SubscriptionOptions<'static> {
    topic.keep_last(if group.output.is_some() { 1 } else { 10 }).reliable().into()
}

/// Creates the callbacks of a group on a worker of its own.
fn create_on_worker(
    node: &Node,
    group: &'static graph::Group,
    state: State,
    kept: &mut Vec<Box<dyn Any>>,
) -> Result<(), RclrsError> {
    let worker = Scope::new().name(group.name()).run(|| node.create_worker(state));
    let urgency = |input| Scope::new().priority(Priority(group.priority(input)));
    if let Some(period) = group.period() {
        let create = || worker.create_timer_repeating(period, |state: &mut State| state.tick());
        kept.push(Box::new(urgency(None).run(create)?));
    }
    for (number, topic) in group.inputs.iter().enumerate() {
        let take = move |state: &mut State, sample: Int64MultiArray| state.take(number, sample);
        let create = || worker.create_subscription::<Int64MultiArray, _>(input(group, topic), take);
        kept.push(Box::new(urgency(Some(number)).run(create)?));
    }
    kept.push(Box::new(worker));
    Ok(())
}

/// Creates the callbacks of a group on the node itself.
fn create_on_node(
    node: &Node,
    group: &'static graph::Group,
    state: State,
    kept: &mut Vec<Box<dyn Any>>,
) -> Result<(), RclrsError> {
    let state = Arc::new(Mutex::new(state));
    if let Some(period) = group.period() {
        let state = Arc::clone(&state);
        kept.push(Box::new(node.create_timer_repeating(period, move || state.lock().expect("a lock").tick())?));
    }
    for (number, topic) in group.inputs.iter().enumerate() {
        let state = Arc::clone(&state);
        let take = move |sample: Int64MultiArray| state.lock().expect("a lock").take(number, sample);
        kept.push(Box::new(node.create_subscription::<Int64MultiArray, _>(input(group, topic), take)?));
    }
    Ok(())
}

fn report(arguments: &common::Arguments, work: Duration, record: &Record, cores: f64) {
    let latencies = record.latencies_ms();
    let hot: u64 = HOT_PATH.iter().map(|name| record.drops(graph::index_of(name))).sum();
    let all: u64 = (0..GROUPS.len()).map(|index| record.drops(index)).sum();
    let periods = record.planner_periods_ms();
    let mean = Summary::of(latencies.iter().copied()).map_or(f64::NAN, |summary| summary.mean);
    let deviation = Summary::of(periods).map_or(f64::NAN, |summary| summary.sd);
    let max = percentile(&latencies, 100.0).unwrap_or(f64::NAN);
    common::say(format_args!(
        r#"{{"executor":"{}","work_ms":{},"lidar_samples":{},"sink_runs":{},"hot_path_mean_ms":{mean:.2},"hot_path_max_ms":{max:.2},"hot_path_drops":{hot},"drops":{all},"planner_period_sd_ms":{deviation:.2},"cores":{cores:.3}}}"#,
        arguments.executor_name(),
        work.as_millis(),
        record.runs(graph::index_of(graph::LIDARS[0])),
        record.runs(graph::index_of(graph::SINK)),
    ));
}
