//! The controller: turns the robot to the lamp, at 100 Hz, while an action asks for it and the motors are enabled.

use rospin::Time;
use rospin::action::ActionServerOptions;
use rospin::log;
use rospin::msgs::geometry_msgs::msg::{Twist, Vector3Stamped};
use rospin::msgs::std_srvs::srv::{SetBoolRequest, SetBoolResponse};
use rospin::prelude::*;

use crate::robot_interfaces::action::{Face, FaceFeedback, FaceGoal, FaceResult};

const PERIOD: Duration = Duration::from_millis(10);
/// Time between two messages of feedback.
const FEEDBACK: Duration = Duration::from_millis(100);
/// A target that is older than this is out of sight.
const FRESH: Duration = Duration::from_millis(500);

// ANCHOR: state
/// State that callbacks of the controller share.
struct State {
    /// True unless the service `enable` has stopped the motors.
    is_enabled: bool,
    /// True while a goal is executed.
    is_facing: bool,
    /// The direction of the lamp, in radians to the left, and when it was seen.
    target: Option<(f64, Time)>,
}
// ANCHOR_END: state

impl State {
    /// Returns the direction of the lamp if it was seen lately.
    fn bearing(&self, now: Time) -> Option<f64> {
        self.target.filter(|(_, seen)| now.saturating_since(*seen) < FRESH).map(|(bearing, _)| bearing)
    }

    /// Returns the turn to command, in radians per second. Without the lamp in sight, it looks for it.
    fn turn(&self, now: Time, gain: f64, max_turn: f64) -> f64 {
        match self.bearing(now) {
            _ if !self.is_enabled || !self.is_facing => 0.0,
            Some(bearing) => (gain * bearing).clamp(-max_turn, max_turn),
            None => max_turn / 2.0,
        }
    }
}

/// The node `controller`.
pub struct Controller {
    _targets: Subscription,
    _steer: Timer,
    _enable: Service,
    _face: ActionServer,
}

impl Controller {
    /// Starts the node.
    ///
    /// # Errors
    /// If the middleware refuses, or a parameter that was given is out of its range.
    pub fn new(ros: &Ros) -> rospin::Result<Self> {
        let node = ros.create_node("controller")?;
        let group = node.create_group("controller", State { is_enabled: true, is_facing: false, target: None })?;
        Ok(Self {
            _targets: targets(&group)?,
            _steer: steer(&node, &group)?,
            _enable: enable(&node, &group)?,
            _face: face(&node, &group)?,
        })
    }
}

fn targets(group: &CallbackGroup<State>) -> rospin::Result<Subscription> {
    // ANCHOR: targets
    let options = SubscriptionOptions::new("target").keep_last(1).priority(Priority(20));
    let targets = group.create_subscription(options, |state: &mut State, target: &Vector3Stamped| {
        state.target = Some((target.vector.y.atan2(target.vector.x), target.header.stamp.into()));
    })?;
    // ANCHOR_END: targets
    Ok(targets)
}

fn steer(node: &Node, group: &CallbackGroup<State>) -> rospin::Result<Timer> {
    // ANCHOR: parameters
    let gain = node.declare_parameter("gain", ParameterOptions::from(3.0).range(0.0..=20.0))?;
    let max_turn = node.declare_parameter("max_turn", ParameterOptions::from(1.5).range(0.0..=3.0))?;
    // ANCHOR_END: parameters
    // ANCHOR: timer
    let commands = node.create_publisher::<Twist>(PublisherOptions::new("cmd_vel").keep_last(1))?;
    let clock = node.clone();
    let options = TimerOptions::periodic(PERIOD).name("controller/steer").priority(Priority(10));
    let steer = group.create_timer(options, move |state: &mut State, _: Tick| {
        let mut command = Twist::default();
        command.angular.z = state.turn(clock.now(), gain.get(), max_turn.get());
        commands.publish(command)
    })?;
    // ANCHOR_END: timer
    Ok(steer)
}

fn enable(node: &Node, group: &CallbackGroup<State>) -> rospin::Result<Service> {
    // ANCHOR: service
    let logger = node.logger();
    let switch = move |state: &mut State, request: SetBoolRequest| {
        state.is_enabled = request.data;
        log::warn!(logger: logger, "the motors are {}", if request.data { "enabled" } else { "stopped" });
        SetBoolResponse { success: true, message: String::new() }
    };
    let enable = group.create_service("enable", switch)?;
    // ANCHOR_END: service
    Ok(enable)
}

fn face(node: &Node, group: &CallbackGroup<State>) -> rospin::Result<ActionServer> {
    // ANCHOR: action
    let of_goals = node.clone();
    let face = group.create_action_server(
        // One goal at a time; others wait.
        ActionServerOptions::new("face").max_executing(1),
        |state: &mut State, _, goal: &FaceGoal| {
            let is_possible = state.is_enabled && goal.tolerance > 0.0;
            if is_possible { GoalResponse::AcceptAndExecute } else { GoalResponse::Reject }
        },
        |_, _, _: &FaceGoal| CancelResponse::Accept,
        move |state: Payload<State>, goal: GoalHandle<Face>| execute(of_goals.clone(), state, goal),
    )?;
    // ANCHOR_END: action
    Ok(face)
}

// ANCHOR: execute
/// Lets the timer turn the robot until it faces the lamp. Between two looks other callbacks of the group run.
async fn execute(node: Node, state: Payload<State>, goal: GoalHandle<Face>) {
    state.with(|state| state.is_facing = true);
    let mut bearing = f64::NAN;
    let mut is_faced = false;
    while !is_faced && !goal.is_cancel_requested() && state.with(|state| state.is_enabled) {
        if let Some(seen) = state.with(|state| state.bearing(node.now())) {
            (bearing, is_faced) = (seen, seen.abs() <= goal.goal().tolerance);
            // Only fails if there is no room for it.
            let _ = goal.publish_feedback(FaceFeedback { bearing });
        }
        let Ok(pause) = node.sleep(FEEDBACK) else { break };
        if pause.await.is_err() {
            break;
        }
    }
    state.with(|state| state.is_facing = false);
    let result = FaceResult { bearing };
    if is_faced {
        goal.succeed(result);
    } else if goal.is_cancel_requested() {
        // Only fails if nobody asked to cancel.
        let _ = goal.canceled(result);
    } else {
        goal.abort(result);
    }
}
// ANCHOR_END: execute
