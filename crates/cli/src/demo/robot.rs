//! The nodes of the demo: a small robot, whose callbacks work for a given time.

use std::any::Any;
use std::hint::spin_loop;
use std::time::Duration;

use rospin::msgs::geometry_msgs::msg::{PointStamped, Twist};
use rospin::msgs::sensor_msgs::msg::{Image, Imu};
use rospin::prelude::*;
use rospin::time::Instant;
use rospin_measure::process::thread_cpu_time;
use rospin_scenario::Scenario;

/// The share of a callback's execution time for which it works, in percent. The rest is for publishing and for the
/// executor.
const WORK_PERCENT: u32 = 80;
/// Pixels of an image.
const SIZE: (u32, u32) = (160, 120);

/// Nodes and their callbacks, which live until this is dropped.
pub(super) type Nodes = Vec<Box<dyn Any + Send>>;

/// Starts the nodes. Their callbacks work for the times in `system`.
///
/// # Errors
/// If a node cannot be created.
pub(super) fn start(ros: &Ros, system: &Scenario) -> rospin::Result<Nodes> {
    Ok(vec![
        imu(ros, Work::of(system, "imu/sample"))?,
        controller(ros, Work::of(system, "controller/imu"))?,
        listener::<Twist>(ros, "base", "cmd_vel", Work::of(system, "base/cmd_vel"))?,
        camera(ros, Work::of(system, "camera/frame"))?,
        listener::<Image>(ros, "lanes", "image", Work::of(system, "lanes/image"))?,
        listener::<Image>(ros, "signs", "image", Work::of(system, "signs/image"))?,
        people(ros, Work::of(system, "people/image"))?,
        listener::<PointStamped>(ros, "planner", "people", Work::of(system, "planner/people"))?,
        mapper(ros, Work::of(system, "mapper/update"))?,
    ])
}

/// The work of a callback.
#[derive(Clone, Copy)]
struct Work {
    time: Duration,
    /// The time between two activations, for timers.
    period: Duration,
}

impl Work {
    fn of(system: &Scenario, name: &str) -> Self {
        let callback = system.callbacks.iter().find(|callback| callback.name == name);
        let callback = callback.unwrap_or_else(|| panic!("the demo's system file lacks {name}"));
        let time = callback.execution.longest() * WORK_PERCENT / 100;
        Self { time, period: callback.period.unwrap_or_default() }
    }

    /// Uses the processor. Time for which the kernel does not run the thread does not count.
    fn run(self) {
        let end = thread_cpu_time() + self.time;
        while thread_cpu_time() < end {
            spin_loop();
        }
    }
}

fn imu(ros: &Ros, work: Work) -> rospin::Result<Box<dyn Any + Send>> {
    let node = ros.create_node("imu")?;
    let measured = node.create_publisher::<Imu>("imu")?;
    let options = TimerOptions::periodic(work.period).name("imu/sample");
    let timer = node.create_wall_timer(options, move |_: Tick<Instant>| {
        work.run();
        measured.publish(Imu::default())
    })?;
    Ok(Box::new((node, timer)))
}

fn controller(ros: &Ros, work: Work) -> rospin::Result<Box<dyn Any + Send>> {
    let node = ros.create_node("controller")?;
    let commands = node.create_publisher::<Twist>("cmd_vel")?;
    let subscription = node.create_subscription("imu", move |imu: &Imu| {
        work.run();
        let mut command = Twist::default();
        command.angular.z = -imu.angular_velocity.z;
        commands.publish(command)
    })?;
    Ok(Box::new((node, subscription)))
}

fn camera(ros: &Ros, work: Work) -> rospin::Result<Box<dyn Any + Send>> {
    let node = ros.create_node("camera")?;
    let images = node.create_publisher::<Image>("image")?;
    let options = TimerOptions::periodic(work.period).name("camera/frame");
    let timer = node.create_wall_timer(options, move |_: Tick<Instant>| {
        work.run();
        let (width, height) = SIZE;
        let data = vec![0; (width * height) as usize].into();
        images.publish(Image { width, height, step: width, data, ..Image::default() })
    })?;
    Ok(Box::new((node, timer)))
}

fn people(ros: &Ros, work: Work) -> rospin::Result<Box<dyn Any + Send>> {
    let node = ros.create_node("people")?;
    let found = node.create_publisher::<PointStamped>("people")?;
    let subscription = node.create_subscription("image", move |image: &Image| {
        work.run();
        found.publish(PointStamped { header: image.header.clone(), ..PointStamped::default() })
    })?;
    Ok(Box::new((node, subscription)))
}

fn mapper(ros: &Ros, work: Work) -> rospin::Result<Box<dyn Any + Send>> {
    let node = ros.create_node("mapper")?;
    let options = TimerOptions::periodic(work.period).name("mapper/update");
    let timer = node.create_wall_timer(options, move |_: Tick<Instant>| work.run())?;
    Ok(Box::new((node, timer)))
}

/// Starts a node that works on each message of a topic, and publishes nothing.
fn listener<M: Message>(ros: &Ros, name: &str, topic: &str, work: Work) -> rospin::Result<Box<dyn Any + Send>> {
    let node = ros.create_node(name)?;
    let subscription = node.create_subscription(topic, move |_: &M| work.run())?;
    Ok(Box::new((node, subscription)))
}
