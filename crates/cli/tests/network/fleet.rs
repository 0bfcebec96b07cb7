//! A graph of 50 nodes: ten robots, each in a process of its own, with five nodes.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rospin::lifecycle::Lifecycle;
use rospin::msgs::builtin_interfaces::msg::Time;
use rospin::msgs::geometry_msgs::msg::{Twist, Vector3};
use rospin::msgs::sensor_msgs::msg::{Image, Imu};
use rospin::msgs::std_msgs::msg::{Header, String as Text};
use rospin::msgs::std_srvs::srv::{SetBoolRequest, SetBoolResponse};
use rospin::msgs::test_msgs::action::{Fibonacci, FibonacciFeedback, FibonacciGoal, FibonacciResult};
use rospin::prelude::*;
use rospin::{ExecutorHandle, PublisherOptions};

/// Number of robots, which are called `robot_0` and so on.
pub(crate) const ROBOTS: usize = 10;

/// Number of nodes of all robots.
pub(crate) const NODES: usize = ROBOTS * 5;

/// The environment variable that has `robot_program` be the robot of this name.
const ROBOT: &str = "ROSPIN_TEST_ROBOT";

struct Camera;

impl Lifecycle for Camera {}

/// Returns the header of a measurement that is made now.
fn header(node: &Node) -> Header {
    let now = node.now().as_nanos();
    let stamp = Time { sec: (now / 1_000_000_000) as i32, nanosec: (now % 1_000_000_000) as u32 };
    Header { stamp, frame_id: "base_link".to_owned() }
}

/// Executes a goal: one number every ten milliseconds, each with feedback.
async fn compute(executor: ExecutorHandle, goal: GoalHandle<Fibonacci>) {
    let mut sequence = vec![0, 1];
    for at in 1..goal.goal().order.max(1) as usize {
        sequence.push(sequence[at] + sequence[at - 1]);
        goal.publish_feedback(FibonacciFeedback { sequence: sequence.clone() }).expect("room");
        executor.sleep(rospin::time::ClockKind::Steady, Duration::from_millis(10)).await.expect("it spins");
    }
    goal.succeed(FibonacciResult { sequence });
}

/// A robot of five nodes: sensors, driver, lamp, arm and a managed camera.
#[test]
fn robot_program() {
    let Ok(name) = std::env::var(ROBOT) else { return };
    let ros = rospin::init().expect("a network");
    let create = |node: &str| ros.create_node(NodeOptions::new(node).namespace(format!("/{name}"))).expect("a node");

    let sensors = create("sensors");
    let imu = sensors.create_publisher::<Imu>("imu").expect("a publisher");
    let image = sensors.create_publisher::<Image>("image").expect("a publisher");
    let node = sensors.clone();
    let measure = move |_: Tick<rospin::time::Instant>| {
        imu.publish(Imu { header: header(&node), ..Imu::default() })?;
        let picture = Image { height: 8, width: 32, encoding: "mono8".to_owned(), step: 32, ..Image::default() };
        image.publish(Image { data: vec![7; 256].into(), ..picture })?;
        rospin::Ok(())
    };
    let _measuring = sensors.create_wall_timer(Duration::from_millis(50), measure).expect("a timer");

    let driver = create("driver");
    let map = driver.create_publisher::<Text>(PublisherOptions::new("map_name").keep_last(1).transient_local());
    let map = map.expect("a publisher");
    map.publish(Text { data: "kitchen".to_owned() }).expect("room");
    let twist = driver.create_publisher::<Twist>("twist").expect("a publisher");
    let drive = move |_: Tick<rospin::time::Instant>| {
        let linear = Vector3 { x: 0.5, ..Vector3::default() };
        twist.publish(Twist { linear, ..Twist::default() })
    };
    let _driving = driver.create_wall_timer(Duration::from_millis(50), drive).expect("a timer");
    let _commands = driver.create_subscription("cmd_vel", |_: Twist| {}).expect("a subscription");

    let lamp = create("lamp");
    let answer = |request: SetBoolRequest| SetBoolResponse { success: request.data, message: "done".to_owned() };
    let _switch = lamp.create_service("switch", answer).expect("a service");

    let arm = create("arm");
    let gain = ParameterOptions::new().default_value(2.5).description("of the controller");
    let _gain = arm.declare_parameter::<f64>("gain", gain).expect("a parameter");
    let joints = ParameterOptions::new().default_value(vec!["hip".to_owned(), "knee".to_owned()]);
    let _joints = arm.declare_parameter::<Vec<String>>("joints", joints).expect("a parameter");
    let _speed = arm.declare_parameter::<i64>("speed", ParameterOptions::new().default_value(1)).expect("a parameter");
    let group = ros.executor().create_group("goals", ());
    let executor = ros.executor().handle();
    let accept = |(): &mut (), _, _: &FibonacciGoal| GoalResponse::AcceptAndExecute;
    let cancel = |(): &mut (), _, _: &FibonacciGoal| CancelResponse::Accept;
    let execute = move |_: rospin::Payload<()>, goal| compute(executor.clone(), goal);
    let _server = arm.on(&group).create_action_server("fibonacci", accept, cancel, execute).expect("a server");

    let camera = NodeOptions::new("camera").namespace(format!("/{name}"));
    let _camera = ros.create_lifecycle_node(camera, Camera).expect("a managed node");
    println!("robot {name} is there");
    ros.spin().expect("a spin");
}

/// The robots. They are killed when this is dropped.
pub(crate) struct Fleet {
    robots: Vec<Child>,
}

impl Fleet {
    /// Starts the robots in the environment that `adapt` sets.
    pub(crate) fn start(adapt: impl Fn(&mut Command)) -> Self {
        let mut robots = Vec::new();
        for at in 0..ROBOTS {
            let mut command = Command::new(std::env::current_exe().expect("this program"));
            command.args(["--exact", "fleet::robot_program", "--nocapture"]);
            command.env(ROBOT, format!("robot_{at}")).stdin(Stdio::null()).stdout(Stdio::null());
            adapt(&mut command);
            robots.push(command.spawn().expect("it starts"));
        }
        Self { robots }
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for robot in &mut self.robots {
            // Both only fail if it has ended.
            let _ = robot.kill();
            let _ = robot.wait();
        }
    }
}
