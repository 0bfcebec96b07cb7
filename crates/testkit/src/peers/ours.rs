//! Our nodes `ours` and `managed`, with which peers are tested: the same as `rclpy_peer.py` and `wire/peer.py` serve.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rospin_engine::{ClockKind, Executor, ExecutorHandle, Payload};
use rospin_node::interfaces::rcl_interfaces::{
    GetParameters, GetParametersRequest, GetParametersResponse, ParameterValue,
};
use rospin_node::lifecycle::{Lifecycle, LifecycleNode};
use rospin_node::{
    CancelResponse, GoalHandle, GoalResponse, Node, ParameterOptions, PublisherOptions, Ros, ServiceOptions,
    SubscriptionOptions,
};

use crate::conformance::dynamic::texts;
use crate::conformance::messages::{FibonacciGoal, Sequence, SetBool, Switch, Switched, TestFibonacci, Text};

/// Order of a goal that is executed until it is canceled.
pub(super) const ENDLESS: i32 = 40;
/// Order of a goal whose cancellation is refused.
pub(super) const STUBBORN: i32 = 41;

/// Number of a text in ROS's `ParameterValue`.
const TEXT: u8 = 4;

#[derive(Default)]
struct Managed;

impl Lifecycle for Managed {}

/// The nodes, and everything that they serve.
pub struct Ours {
    ros: Ros,
    node: Node,
    served: Arc<AtomicUsize>,
    _held: Vec<Box<dyn Any>>,
}

impl std::fmt::Debug for Ours {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ours").field("node", &self.node).finish_non_exhaustive()
    }
}

/// Answers with the names as texts.
fn echo(request: &GetParametersRequest) -> GetParametersResponse {
    let mut response = GetParametersResponse::default();
    for name in &request.names {
        let value = ParameterValue { r#type: TEXT, string_value: name.clone(), ..ParameterValue::default() };
        response.values.push(value);
    }
    response
}

/// Executes a goal: computes the numbers, one every 20 ms with feedback, until the goal is reached or canceled.
async fn compute(executor: ExecutorHandle, goal: GoalHandle<TestFibonacci>) {
    let order = goal.goal().order;
    let mut sequence = vec![0, 1];
    for n in 1..order.max(1) as usize {
        if goal.is_cancel_requested() {
            goal.canceled(Sequence { sequence }).expect("it was asked for");
            return;
        }
        sequence.push((sequence[n] + sequence[n - 1]) % 1000);
        goal.publish_feedback(Sequence { sequence: sequence.clone() }).expect("room");
        executor.sleep(ClockKind::Steady, Duration::from_millis(20)).await.expect("the executor spins");
        if order == ENDLESS {
            goal.cancel_requested().await;
        }
    }
    goal.succeed(Sequence { sequence });
}

impl Ours {
    /// Creates the nodes.
    ///
    /// # Panics
    /// If an entity cannot be created.
    #[must_use]
    pub fn new(ros: Ros) -> Self {
        let executor = ros.executor().handle();
        let node = ros.create_node("ours").expect("a node");
        let managed = LifecycleNode::new(&ros, &executor, "managed", Managed).expect("a managed node");
        let speed =
            node.declare_parameter::<i64>("speed", ParameterOptions::new().default_value(1)).expect("a parameter");
        let mut held: Vec<Box<dyn Any>> = vec![Box::new(managed), Box::new(speed)];

        let served = Arc::<AtomicUsize>::default();
        let count = Arc::clone(&served);
        let group = ros.executor().create_group("services", ());
        let serve = move |request: GetParametersRequest| {
            count.fetch_add(1, Ordering::Relaxed);
            echo(&request)
        };
        // Room for the requests of many clients at once.
        let options = ServiceOptions::new("echo").keep_last(1000);
        held.push(Box::new(node.on(&group).create_service::<GetParameters, _>(options, serve).expect("a server")));
        let set = |request: Switch| Switched { success: request.data, message: "done".to_owned() };
        held.push(Box::new(node.on(&group).create_service::<SetBool, _>("set", set).expect("a server")));

        // A type that is written by hand does not bring its description.
        node.add_message_type(&texts());
        let latched = node.create_publisher::<Text>(PublisherOptions::new("latched").keep_last(1).transient_local());
        let latched = latched.expect("a publisher");
        latched.publish(Text { data: "ours".to_owned() }).expect("room");
        let out = node.create_publisher::<Text>("out").expect("a publisher");
        let repeat = move |text: Text| out.publish(text).expect("room");
        held.push(Box::new(node.create_subscription(SubscriptionOptions::new("in"), repeat).expect("a subscription")));
        held.push(Box::new(latched));

        let accept = |(): &mut (), _, goal: &FibonacciGoal| {
            if goal.order < 0 { GoalResponse::Reject } else { GoalResponse::AcceptAndExecute }
        };
        let cancel = |(): &mut (), _, goal: &FibonacciGoal| {
            if goal.order == STUBBORN { CancelResponse::Reject } else { CancelResponse::Accept }
        };
        let execute = move |_: Payload<()>, goal| compute(executor.clone(), goal);
        let actions = ros.executor().create_group("actions", ());
        let server = node.on(&actions).create_action_server("fibonacci", accept, cancel, execute);
        held.push(Box::new(server.expect("an action server")));
        held.push(Box::new((group, actions)));
        Self { ros, node, served, _held: held }
    }

    /// Returns the executor of the nodes.
    #[must_use]
    pub fn executor(&self) -> &Executor {
        self.ros.executor()
    }

    /// Returns the node `ours`.
    #[must_use]
    pub const fn node(&self) -> &Node {
        &self.node
    }

    /// Returns the number of calls of `echo` that were answered.
    #[must_use]
    pub fn served(&self) -> usize {
        self.served.load(Ordering::Relaxed)
    }
}
