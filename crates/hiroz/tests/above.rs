//! What is built above the seam, on Zenoh: parameters and actions.

mod common;

use common::{Place, context, executor, wait};
use rospin::Payload;
use rospin_hiroz::{
    Action, ActionClient, CancelResponse, GoalHandle, GoalResponse, GoalState, ParameterOptions, ParameterValue,
    Parameters,
};
use serde::{Deserialize, Serialize};

#[derive(Parameters)]
#[parameters(crate = rospin_hiroz)]
struct Motor {
    #[parameter(default = 2, range = 0..=10, step = 2)]
    gear: i64,
}

#[test]
fn parameters_cross_the_network() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let (host, guest) = Place::new().both();
    let (arm, other) = (host.create_node("arm").unwrap(), guest.create_node("other").unwrap());
    let _motor = arm.declare_parameters::<Motor>("").unwrap();
    let _any = arm.declare_parameter::<ParameterValue>("any", ParameterOptions::new()).unwrap();
    let _server = arm.serve_parameters(&executor.handle()).unwrap();
    let client = other.create_parameter_client(&executor.handle(), "/arm").unwrap();
    wait(&executor, "the server is matched", client.wait_for_service());
    let values = wait(&executor, "values come", client.get(&["gear"])).unwrap();
    assert_eq!(values, [ParameterValue::Integer(2)]);
}

#[derive(Clone, Serialize, Deserialize)]
struct Goal {
    order: i32,
}

#[derive(Clone, Default, PartialEq, Debug, Serialize, Deserialize)]
struct Sequence {
    sequence: Vec<i32>,
}

enum Fibonacci {}

impl Action for Fibonacci {
    type Goal = Goal;
    type Result = Sequence;
    type Feedback = Sequence;
    const TYPE: &str = "example_interfaces/action/Fibonacci";
}

async fn execute(goal: GoalHandle<Fibonacci>) {
    let mut sequence = vec![0, 1];
    for n in 1..goal.goal().order as usize {
        sequence.push(sequence[n] + sequence[n - 1]);
    }
    goal.succeed(Sequence { sequence });
}

#[test]
fn goals_cross_the_network() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let (host, guest) = Place::new().both();
    let (server_node, client_node) = (host.create_node("server").unwrap(), guest.create_node("client").unwrap());
    let group = executor.create_group("fibonacci", ());
    let server = server_node.create_action_server(
        &group,
        "fibonacci",
        |(), _, _: &Goal| GoalResponse::AcceptAndExecute,
        |(), _, _| CancelResponse::Accept,
        |_: Payload<()>, goal| execute(goal),
    );
    let _server = server.unwrap();
    let client: ActionClient<Fibonacci> = client_node.create_action_client(&executor.handle(), "fibonacci").unwrap();
    wait(&executor, "the server is matched", client.wait_for_server());
    for order in 2..6 {
        let goal = wait(&executor, "the goal is accepted", client.send_goal(Goal { order })).unwrap();
        let outcome = wait(&executor, "the result comes", goal.result()).unwrap();
        assert_eq!(outcome.state, GoalState::Succeeded);
        assert_eq!(outcome.result.sequence[..], [0, 1, 1, 2, 3, 5][..=order as usize]);
    }
}
