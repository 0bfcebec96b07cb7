//! A way in: parameters can be set, and the state of a managed node changed, while its executor is overloaded.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rospin_engine::{Context, ContextOptions, Deployment, Executor, ExecutorOptions, Priority, SpinOptions};
use rospin_node::interfaces::lifecycle_msgs as msgs;
use rospin_node::lifecycle::{Fault, State, Transition};
use rospin_node::{
    Lifecycle, LifecycleHandle, LifecycleNode, Message, NodeOptions, ParameterSetting, Ros, ServiceInterface,
    ServicePart, Subscription, SubscriptionOptions,
};
use serde::{Deserialize, Serialize};

/// Runs of the load after which a test gives up.
const LIMIT: u32 = 1_000;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Work {}

impl Message for Work {
    const TYPE: &str = "std_msgs/msg/Empty";
}

fn set_up(deployment: &str) -> (Context, Executor, Ros) {
    let deployment = Deployment::parse(deployment).unwrap();
    let context = Context::new(ContextOptions::new().deployment(deployment));
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let ros = Ros::in_process(&context);
    (context, executor, ros)
}

/// Creates a callback of priority 100 that is always ready, and counts its runs. It stops the executor after [`LIMIT`]
/// of them.
fn overload(executor: &Executor, ros: &Ros) -> (Subscription, Arc<AtomicU32>) {
    let node = ros.create_node(NodeOptions::new("planner").executor(&executor.handle())).unwrap();
    let publisher = node.create_publisher::<Work>("work").unwrap();
    let (again, stop, runs) = (publisher.clone(), executor.handle(), Arc::new(AtomicU32::new(0)));
    let counted = Arc::clone(&runs);
    let plan = move |_: Work| {
        if counted.fetch_add(1, Ordering::Relaxed) == LIMIT {
            stop.halt();
        }
        again.publish(Work {}).unwrap();
    };
    let options = SubscriptionOptions::new("work").priority(Priority(100));
    let group = executor.create_reentrant_group("plan");
    let subscription = node.on(&group).create_subscription(options, plan).unwrap();
    publisher.publish(Work {}).unwrap();
    (subscription, runs)
}

/// Sets a parameter while the executor is overloaded. Returns its value afterwards, and the runs of the load until
/// then.
fn set_in_overload(deployment: &str) -> (f64, u32) {
    let (_context, executor, ros) = set_up(deployment);
    let node = ros.create_node(NodeOptions::new("motor").executor(&executor.handle())).unwrap();
    let speed = node.declare_parameter("speed", 1.5).unwrap();
    let operator = ros.create_node(NodeOptions::new("operator").executor(&executor.handle())).unwrap();
    let (_load, runs) = overload(&executor, &ros);
    let client = operator.create_parameter_client("/motor").unwrap();
    let set = client.set(vec![ParameterSetting::new("speed", 0.5)]);
    let answered = executor.spin_until(set, SpinOptions::new());
    assert_eq!(answered.is_ok(), speed.get() < 1.0, "the load stops the executor if nobody is answered");
    (speed.get(), runs.load(Ordering::Relaxed))
}

#[test]
fn parameters_are_set_although_a_callback_of_a_higher_priority_is_always_ready() {
    let (speed, runs) = set_in_overload("");
    assert!(speed == 0.5 && runs < 10, "{speed} after {runs} runs of the load");
}

#[test]
fn a_deployment_file_can_close_the_way_in() {
    let callback = "[[callback]]\nname = \"motor/parameters/set_parameters\"\npriority = 0\n";
    let (speed, runs) = set_in_overload(callback);
    assert!(speed == 1.5 && runs > LIMIT, "{speed} after {runs} runs of the load");
}

struct Device;

impl Lifecycle for Device {
    fn on_configure(&mut self, _: &LifecycleHandle<Self>, _: State) -> Result<(), Fault> {
        Ok(())
    }
}

enum ChangeState {}

impl ServiceInterface for ChangeState {
    type Request = msgs::ChangeStateRequest;
    type Response = msgs::ChangeStateResponse;
    const TYPE: &str = "lifecycle_msgs/srv/ChangeState";
}

impl ServicePart<ChangeState> for msgs::ChangeStateRequest {}
impl ServicePart<ChangeState> for msgs::ChangeStateResponse {}

#[test]
fn a_managed_node_is_told_although_a_callback_of_a_higher_priority_is_always_ready() {
    let (_context, executor, ros) = set_up("");
    let options = NodeOptions::new("device").executor(&executor.handle());
    let device = LifecycleNode::new(&ros, &executor.handle(), options, Device).unwrap();
    let operator = ros.create_node(NodeOptions::new("operator").executor(&executor.handle())).unwrap();
    let (_load, _runs) = overload(&executor, &ros);
    let client = operator.create_client::<ChangeState>("/device/change_state").unwrap();
    let transition = msgs::Transition { id: 1, label: String::new() };
    let changed = executor.spin_until(client.call(msgs::ChangeStateRequest { transition }), SpinOptions::new());
    assert!(changed.expect("it is answered while the load runs").unwrap().success);
    assert_eq!(device.state(), State::Inactive);
    let asked = executor.spin_until(device.request(Transition::Activate), SpinOptions::new());
    asked.expect("it is answered while the load runs").unwrap();
    assert_eq!(device.state(), State::Active);
}
