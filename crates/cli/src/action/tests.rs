//! Actions of nodes of the same process.

use rospin::Node;
use rospin::action::{ActionServer, CancelResponse, GoalHandle, GoalResponse};
use rospin::msgs::example_interfaces::action::{Fibonacci, FibonacciFeedback, FibonacciGoal, FibonacciResult};

use super::*;
use crate::ros::testing::{Robot, interrupt, parse};

fn action(robot: &Robot, arguments: &[&str]) -> Result<String, (String, String)> {
    let matches = parse(command(), &[&[NAME], arguments].concat());
    let options = Options::from_arg_matches(&matches).unwrap();
    let mut out = Vec::new();
    let result = run_with(&robot.session, &options, &mut out);
    let text = String::from_utf8(out).unwrap();
    result.map(|()| text.clone()).map_err(|failure| (text, failure.to_string()))
}

/// A server that rejects orders below zero, and never ends for an order of 100.
fn fibonacci(robot: &Robot) -> (Node, ActionServer) {
    let node = robot.node("counter");
    let server = node
        .create_action_server(
            "fibonacci",
            |_, goal: &FibonacciGoal| {
                if goal.order < 0 { GoalResponse::Reject } else { GoalResponse::AcceptAndExecute }
            },
            |_, _| CancelResponse::Accept,
            |goal: GoalHandle<Fibonacci>| async move {
                let _ = goal.publish_feedback(FibonacciFeedback { sequence: vec![0, 1] });
                if goal.goal().order == 100 {
                    std::future::pending::<()>().await;
                }
                goal.succeed(FibonacciResult { sequence: vec![0, 1, 1] });
            },
        )
        .unwrap();
    (node, server)
}

#[test]
fn actions_are_listed_and_described() {
    let robot = Robot::new();
    let _server = fibonacci(&robot);
    assert_eq!(action(&robot, &["list"]).unwrap(), "/fibonacci\n");
    assert_eq!(action(&robot, &["list", "-t"]).unwrap(), "/fibonacci [example_interfaces/action/Fibonacci]\n");
    assert_eq!(action(&robot, &["find", "example_interfaces/Fibonacci", "-c"]).unwrap(), "1\n");
    assert_eq!(action(&robot, &["type", "fibonacci"]).unwrap(), "example_interfaces/action/Fibonacci\n");
    let info = action(&robot, &["info", "/fibonacci"]).unwrap();
    assert_eq!(info, "Action: /fibonacci\nAction clients: 0\nAction servers: 1\n    /counter\n");
    let (_, error) = action(&robot, &["info", "/fibonaci"]).unwrap_err();
    assert_eq!(error, "no action /fibonaci; nearest: /fibonacci");
}

#[test]
fn a_goal_is_sent_and_its_result_printed() {
    let robot = Robot::new();
    let _server = fibonacci(&robot);
    let text =
        action(&robot, &["send_goal", "/fibonacci", "example_interfaces/action/Fibonacci", "{order: 3}"]).unwrap();
    let start =
        "Waiting for an action server to become available...\nSending goal:\n     order: 3\n\nGoal accepted with ID: ";
    assert!(text.starts_with(start), "{text}");
    let end = "\n\nResult:\n    sequence:\n- 0\n- 1\n- 1\n\nGoal finished with status: SUCCEEDED\n";
    assert!(text.ends_with(end), "{text}");
    assert!(!text.contains("Feedback"), "{text}");
    let text = action(&robot, &["send", "-f", "fibonacci", "{order: 3}"]).unwrap();
    assert!(text.contains("Feedback:\n    sequence:\n- 0\n- 1\n\n"), "{text}");
}

#[test]
fn a_server_is_waited_for_if_the_type_is_given() {
    let robot = Robot::new();
    let (action, error) =
        (["send_goal", "/fibonacci", "example_interfaces/action/Fibonacci", "{order: 3}"], "interrupted");
    let node = robot.node("user");
    let _timer = interrupt(&node, &robot);
    assert_eq!(self::action(&robot, &action).unwrap_err().1, error);
    assert!(self::action(&robot, &["send_goal", "/fibonacci", "{order: 3}"]).unwrap_err().1.starts_with("no action"));
}

#[test]
fn a_goal_that_does_not_succeed_is_an_error() {
    let robot = Robot::new();
    let _server = fibonacci(&robot);
    let (text, error) = action(&robot, &["send_goal", "/fibonacci", "{order: -1}"]).unwrap_err();
    assert!(text.ends_with("Goal was rejected.\n"), "{text}");
    assert_eq!(error, "the goal was rejected");
    let (text, error) = action(&robot, &["send_goal", "/fibonacci", "{order: 100}", "--timeout", "0.01"]).unwrap_err();
    assert!(text.ends_with("Canceling goal...\nGoal canceled.\n"), "{text}");
    assert_eq!(error, "the goal was canceled");
    let (_, error) =
        action(&robot, &["send_goal", "/fibonacci", "example_interfaces/action/Fibonacci", "{ordr: 1}"]).unwrap_err();
    assert_eq!(error, "`ordr`: example_interfaces/action/Fibonacci_Goal has no field `ordr`; it has order");
}
