//! The robot under a clock of the test's own: seconds of its life take as long as its callbacks do, and every run is
//! the same.

use std::fs;
use std::time::Duration;

use robot::base::Base;
use robot::camera::Camera;
use robot::controller::Controller;
use robot::detector::Detector;
use robot::robot_interfaces::action::{Face, FaceGoal};
use robot::robot_interfaces::msg::Detection;
use robot::tracker::Tracker;
use rospin::action::{ActionClient, ClientGoalHandle, GoalState};
use rospin::deployment::CallbackPlan;
use rospin::deployment::Deployment;
use rospin::monitoring::LossCause;
use rospin::msgs::geometry_msgs::msg::Twist;
use rospin::msgs::sensor_msgs::msg::{Image, Imu};
use rospin::msgs::std_srvs::srv::{SetBool, SetBoolRequest};
use rospin::testing::Harness;
use rospin::time::ManualClock;
use rospin::{Context, ContextOptions, Ros, RosArguments, SpinOptions};

const SECOND: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);

type Robot = (Base, Camera, Detector, Tracker, Controller);

// ANCHOR: robot
/// Starts all nodes but the operator, in whose place the test is.
fn robot(ros: &Ros) -> Robot {
    let base = Base::new(ros).unwrap();
    let camera = Camera::new(ros).unwrap();
    (base, camera, Detector::new(ros).unwrap(), Tracker::new(ros).unwrap(), Controller::new(ros).unwrap())
}

#[test]
fn sensors_and_controller_keep_their_rates() {
    let mut test = Harness::new();
    let _robot = robot(test.ros());
    let images = test.record::<Image>("image").unwrap();
    let imu = test.record::<Imu>("imu").unwrap();
    let commands = test.record::<Twist>("cmd_vel").unwrap();
    test.run_for(SECOND).unwrap();
    assert_eq!((images.len(), imu.len(), commands.len()), (30, 200, 100));
    assert!(commands.take().iter().all(|(_, command)| command.angular.z == 0.0), "nobody asked it to turn");
}
// ANCHOR_END: robot

// ANCHOR: face
#[test]
fn the_robot_turns_until_it_faces_the_lamp() {
    let mut test = Harness::new();
    let _robot = robot(test.ros());
    let detections = test.record::<Detection>("detections").unwrap();
    let commands = test.record::<Twist>("cmd_vel").unwrap();
    let client = test.node().create_action_client::<Face>("face").unwrap();
    let goal = test.wait(client.send_goal(FaceGoal::default()), SECOND).unwrap().unwrap();
    let outcome = test.wait(goal.result(), 5 * SECOND).unwrap().unwrap();
    assert_eq!(outcome.state, GoalState::Succeeded);
    assert!(outcome.result.bearing.abs() <= FaceGoal::default().tolerance, "{outcome:?}");

    // At first the lamp is out of view, and the robot looks for it.
    let first = detections.take()[0].1.clone();
    assert!(!first.is_seen, "{first:?}");
    test.run_for(SECOND).unwrap();
    assert!(detections.last().unwrap().is_seen);
    assert_eq!(commands.last().unwrap().angular.z, 0.0, "it stands when it has ended");
}
// ANCHOR_END: face

fn begin_to_face(test: &mut Harness) -> ClientGoalHandle<Face> {
    let client: ActionClient<Face> = test.node().create_action_client("face").unwrap();
    let goal = test.wait(client.send_goal(FaceGoal { tolerance: 0.001 }), SECOND).unwrap().unwrap();
    test.run_for(300 * MS).unwrap();
    goal
}

#[test]
fn stopped_motors_end_the_goal_and_the_next_one_is_rejected() {
    let mut test = Harness::new();
    let _robot = robot(test.ros());
    let commands = test.record::<Twist>("cmd_vel").unwrap();
    let goal = begin_to_face(&mut test);
    assert!(commands.last().unwrap().angular.z > 0.0);

    let enable = test.node().create_client::<SetBool>("enable").unwrap();
    assert!(test.wait(enable.call(SetBoolRequest { data: false }), SECOND).unwrap().unwrap().success);
    test.run_for(10 * MS).unwrap();
    assert_eq!(commands.last().unwrap().angular.z, 0.0, "the next command already");
    assert_eq!(test.wait(goal.result(), SECOND).unwrap().unwrap().state, GoalState::Aborted);

    let client = test.node().create_action_client::<Face>("face").unwrap();
    assert!(test.wait(client.send_goal(FaceGoal::default()), SECOND).unwrap().is_err());
}

#[test]
fn a_goal_can_be_canceled() {
    let mut test = Harness::new();
    let _robot = robot(test.ros());
    let goal = begin_to_face(&mut test);
    test.wait(goal.cancel(), SECOND).unwrap().unwrap();
    assert_eq!(test.wait(goal.result(), SECOND).unwrap().unwrap().state, GoalState::Canceled);
}

// ANCHOR: parameters
#[test]
fn it_turns_no_faster_than_the_parameter_allows() {
    let arguments = ["robot", "--ros-args", "-p", "controller:max_turn:=0.5"];
    let mut test = Harness::with_arguments(RosArguments::parse(arguments).unwrap());
    let _robot = robot(test.ros());
    let commands = test.record::<Twist>("cmd_vel").unwrap();
    let client = test.node().create_action_client::<Face>("face").unwrap();
    let goal = test.wait(client.send_goal(FaceGoal::default()), SECOND).unwrap().unwrap();
    test.wait(goal.result(), 20 * SECOND).unwrap().unwrap();
    let turns: Vec<_> = commands.take().iter().map(|(_, command)| command.angular.z).collect();
    assert!(turns.contains(&0.5) && turns.iter().all(|turn| *turn <= 0.5));
}
// ANCHOR_END: parameters

#[test]
fn nothing_is_lost_but_what_has_no_pair() {
    let mut test = Harness::new();
    let _robot = robot(test.ros());
    test.run_for(5 * SECOND).unwrap();
    let losses = test.ros().context().losses();
    assert!(losses.iter().all(|loss| loss.cause == LossCause::Unmatched), "{losses:?}");
}

#[test]
fn a_part_that_does_not_exist_is_an_error_with_those_that_do() {
    let error = robot::start(Harness::new().ros(), &["legs".to_owned()]).unwrap_err().to_string();
    assert_eq!(error, "there is no part `legs`; there are sensors, perception, control");
}

fn file(name: &str) -> String {
    format!("{}/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Without `elsewhere`, a name that the program does not have is an error.
#[test]
fn the_deployment_and_the_system_file_name_what_the_robot_has() {
    let mut deployment = Deployment::load(file("deployment.toml")).unwrap();
    deployment.elsewhere.clear();
    for executor in &mut deployment.executors {
        executor.scheduling = None;
    }
    let system = fs::read_to_string(file("system.toml")).unwrap();
    let names = system.split("[[callback]]\nname = \"").skip(1).filter_map(|rest| rest.split('"').next());
    deployment.callbacks = names.map(CallbackPlan::new).collect();
    assert_eq!(deployment.callbacks.len(), 7);

    let context = Context::new(ContextOptions::new().manual_clock(ManualClock::new()).deployment(deployment));
    let ros = Ros::in_process(&context);
    let _nodes = robot::start(&ros, &[]).unwrap();
    ros.executor().spin(SpinOptions::spin_all()).unwrap();
}

#[test]
fn the_chains_that_are_analyzed_are_those_that_are_deployed() {
    let chains = |name: &str| {
        let text = fs::read_to_string(file(name)).unwrap();
        let (_, chains) = text.split_once("[[chain]]").expect("a chain");
        chains.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(chains("deployment.toml"), chains("system.toml"));
}
