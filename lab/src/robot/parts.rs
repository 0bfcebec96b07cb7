//! The two processes of the robot: one has the IMU, the other one the controller and the detector. A deployment file
//! makes the urgent executors real-time, and has no line for the middleware's threads.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rospin_engine::{Context, ContextOptions, Deployment, Executor, ExecutorOptions, SpinOptions};
use rospin_measure::wake_up::now_ns;
use rospin_msgs::std_msgs::msg::UInt8MultiArray;
use rospin_node::{PublisherOptions, SubscriptionOptions};
use serde::{Deserialize, Serialize};

use crate::crunch::{Calibration, crunch};
use crate::middleware::{Middleware, Process};

/// Period of the IMU's messages: 200 Hz.
pub(crate) const PERIOD: Duration = Duration::from_millis(5);
/// Number of bytes of a message, that of a `sensor_msgs/msg/Imu`.
const IMU_BYTES: usize = 328;
/// Time that the detector takes for an image. It takes the next one at once, so that it keeps a core busy.
const DETECTION: Duration = Duration::from_millis(30);
/// Time within which the processes have to find each other.
const MATCH_WITHIN: Duration = Duration::from_secs(10);

/// The deployment file: it makes the two executors real-time and has no line for the middleware's threads, which a
/// deployment then raises above the executors.
pub(crate) const DEPLOYMENT: &str = "\
[[executor]]
name = \"imu\"
scheduling = { fifo = 20 }

[[executor]]
name = \"controller\"
scheduling = { fifo = 20 }
";

/// Lines that are added to the deployment file so that the middleware's threads stay ordinary ones.
const ORDINARY: &str = "\n[[thread]]\nname = \"*\"\nscheduling = { nice = 0 }\n";

/// One of the two processes of the robot.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) enum Part {
    /// The process that publishes the IMU's messages.
    Imu,
    /// The process with the controller and the detector.
    Controller,
}

/// Order to one of the two processes of a measurement.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Order {
    pub(crate) part: Part,
    pub(crate) middleware: Middleware,
    pub(crate) process: Process,
    pub(crate) duration: Duration,
    pub(crate) calibration: Calibration,
    /// True if the middleware's threads are raised above the executors, which is the default of a deployment.
    pub(crate) raised: bool,
}

/// Answer of a process.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(crate) struct Answer {
    /// Number of messages that the IMU published; 0 in the controller's answer.
    pub(crate) sent: u64,
    /// Microseconds from each publication to the beginning of the controller's callback; empty in the IMU's answer.
    pub(crate) latencies_us: Vec<f64>,
    /// Settings that an executor's thread could not get.
    pub(crate) shortfalls: Vec<String>,
}

/// Reason for which a process of the robot failed; any error becomes one.
type Failed = Box<dyn Error + Send + Sync>;

/// Runs one of the robot's processes: the IMU publishes for the duration in the order, and the controller listens a
/// little longer.
///
/// # Errors
/// If the middleware cannot be started, or the other process is not found.
pub(crate) fn run(order: &Order) -> Result<Answer, Failed> {
    let text = if order.raised { DEPLOYMENT.to_owned() } else { format!("{DEPLOYMENT}{ORDINARY}") };
    let mut deployment = Deployment::parse(&text)?;
    // Each process has one of the executors.
    let own = if order.part == Part::Imu { "imu" } else { "controller" };
    deployment.executors.retain(|executor| executor.name == own);
    let context = Context::new(ContextOptions::new().deployment(deployment));
    let executor = context.create_executor(ExecutorOptions::new(own));
    let handle = executor.handle();
    let mut answer = match order.part {
        Part::Imu => imu(order, &context, executor)?,
        Part::Controller => control(order, &context, executor)?,
    };
    let reports = handle.thread_reports();
    answer.shortfalls = reports.iter().flat_map(|report| &report.shortfalls).map(ToString::to_string).collect();
    Ok(answer)
}

/// Publishes the IMU's messages, once the controller is found.
fn imu(order: &Order, context: &Context, executor: Executor) -> Result<Answer, Failed> {
    let node = order.middleware.start(context, &order.process)?.create_node("imu")?;
    let publisher = node.create_publisher::<UInt8MultiArray>(PublisherOptions::new("imu").keep_last(1))?;
    let begun = Instant::now();
    while publisher.subscription_count() == 0 {
        if begun.elapsed() > MATCH_WITHIN {
            return Err("the controller was not found within 10 s".into());
        }
        thread::sleep(Duration::from_millis(5));
    }
    let group = executor.create_group("imu", 0_u64);
    let _timer = group.create_timer(PERIOD, move |sent: &mut u64, _| {
        let mut data = vec![0; IMU_BYTES];
        data[..8].copy_from_slice(&now_ns().to_le_bytes());
        // Lost messages show in the counts.
        if publisher.publish(UInt8MultiArray { data: data.into(), ..UInt8MultiArray::default() }).is_ok() {
            *sent += 1;
        }
    })?;
    // The group's payload exists as long as the executor, so the executor is kept.
    let _executor = spin_for(executor, order.duration)?;
    // The pause lets messages on their way arrive before the goodbye.
    thread::sleep(Duration::from_millis(300));
    Ok(Answer { sent: group.into_payload().unwrap_or_default(), ..Answer::default() })
}

/// Runs the detector, and records the latencies of the controller's callback.
fn control(order: &Order, context: &Context, executor: Executor) -> Result<Answer, Failed> {
    let node = order.middleware.start(context, &order.process)?.create_node("controller")?;
    let room = (order.duration.as_nanos() / PERIOD.as_nanos()) as usize + 1000;
    let group = executor.create_group("controller", Vec::<f64>::with_capacity(room));
    let hear = |latencies: &mut Vec<f64>, message: &UInt8MultiArray| {
        let now = now_ns();
        if let Some((sent, _)) = message.data.split_first_chunk() {
            latencies.push(now.saturating_sub(u64::from_le_bytes(*sent)) as f64 / 1e3);
        }
    };
    let subscription = node.on(&group).create_subscription(SubscriptionOptions::new("imu").keep_last(1), hear)?;
    let is_over = Arc::new(AtomicBool::new(false));
    let detecting = thread::Builder::new().name("detector".to_owned()).spawn({
        let (is_over, calibration) = (Arc::clone(&is_over), order.calibration);
        move || {
            while !is_over.load(Ordering::Relaxed) {
                crunch(DETECTION, calibration);
            }
        }
    })?;
    // This process spins a little longer than the other one, which first looks for this one.
    let spun = spin_for(executor, order.duration + Duration::from_secs(2));
    is_over.store(true, Ordering::Relaxed);
    let _ = detecting.join();
    let _executor = spun?;
    drop(subscription);
    Ok(Answer { latencies_us: group.into_payload().unwrap_or_default(), ..Answer::default() })
}

/// Spins the executor for `duration` on a thread of its own, as programs with several executors do. Returns the
/// executor.
fn spin_for(executor: Executor, duration: Duration) -> Result<Executor, Failed> {
    let handle = executor.handle();
    let name = handle.name().to_owned();
    let spinning =
        thread::Builder::new().name(name).spawn(move || executor.spin(SpinOptions::new()).map(|_| executor))?;
    thread::sleep(duration);
    handle.halt();
    Ok(spinning.join().map_err(|_| "an executor panicked")??)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deployment_names_no_thread_unless_it_is_to() {
        assert!(Deployment::parse(DEPLOYMENT).unwrap().threads.is_empty());
        let ordinary = Deployment::parse(&format!("{DEPLOYMENT}{ORDINARY}")).unwrap();
        assert!(ordinary.thread("recv").is_some() && ordinary.thread("dds").is_some());
    }
}
