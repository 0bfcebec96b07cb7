//! Callback groups of nodes: what is created on them means ROS, as what is created on a node.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rospin::lifecycle::{Fault, State, Transition};
use rospin::msgs::example_interfaces::srv::{AddTwoInts, AddTwoIntsRequest, AddTwoIntsResponse};
use rospin::msgs::std_msgs::msg::UInt32;
use rospin::prelude::*;
use rospin::testing::Harness;

const MS: Duration = Duration::from_millis(1);

#[test]
fn a_subscription_on_a_group_hears_the_nodes_of_the_network() {
    let mut test = Harness::new();
    let node = test.create_node("listener").unwrap();
    let group = node.create_group("heard", 0_u32).unwrap();
    let hear = |heard: &mut u32, message: &UInt32| *heard += message.data;
    let on_group = group.create_subscription("numbers", hear).unwrap();
    let on_node = node.on(&group).create_subscription("numbers", hear).unwrap();
    let publisher = test.node().create_publisher::<UInt32>("numbers").unwrap();
    assert_eq!((publisher.subscription_count(), node.count_subscriptions("numbers").unwrap()), (2, 2));
    assert_eq!([on_group.name(), on_node.name()], ["listener/heard/numbers"; 2]);
    publisher.publish(UInt32 { data: 21 }).unwrap();
    test.run().unwrap();
    drop((on_group, on_node));
    assert_eq!(group.into_payload().unwrap(), 42);
}

#[derive(Default)]
struct Motor {
    commands: Arc<AtomicUsize>,
    hears: Option<Subscription>,
}

impl Lifecycle for Motor {
    fn on_configure(&mut self, node: &LifecycleHandle<Self>, _: State) -> Result<(), Fault> {
        let hear = |motor: &mut Self, _: Arc<UInt32>| _ = motor.commands.fetch_add(1, Ordering::Relaxed);
        self.hears = Some(node.group().create_subscription("commands", hear)?);
        Ok(())
    }
}

#[test]
fn a_subscription_on_the_group_of_a_managed_node_hears_the_network() {
    let mut test = Harness::new();
    let motor = Motor::default();
    let commands = Arc::clone(&motor.commands);
    let node = test.ros().create_lifecycle_node("motor", motor).unwrap();
    test.wait(node.request(Transition::Configure), MS).unwrap().unwrap();
    test.node().create_publisher("commands").unwrap().publish(UInt32::default()).unwrap();
    test.run().unwrap();
    assert_eq!(commands.load(Ordering::Relaxed), 1);
}

/// Managed node whose callbacks count in its payload.
#[derive(Default)]
struct Counter {
    count: i64,
    kept: Option<(Subscription, Service, Timer)>,
}

impl Lifecycle for Counter {
    fn on_configure(&mut self, node: &LifecycleHandle<Self>, _: State) -> Result<(), Fault> {
        let step = node.declare_parameter("step", 1)?;
        let of_timer = step.clone();
        let hear = move |this: &mut Self, _: &UInt32| this.count += step.get();
        let tick = move |this: &mut Self, _: Tick| this.count += of_timer.get();
        let answer = |this: &mut Self, _: AddTwoIntsRequest| AddTwoIntsResponse { sum: this.count };
        let kept = (node.create_subscription("hits", hear)?, node.create_service("count", answer)?);
        self.kept = Some((kept.0, kept.1, node.create_timer(10 * MS, tick)?));
        rospin::log::info!(logger: node.logger(), "{} is configured at {:?}", node.name(), node.now());
        // Everything else is the node's.
        let _client = node.create_client::<AddTwoInts>("other")?;
        Ok(())
    }
}

#[test]
fn the_handle_of_a_managed_node_creates_what_its_group_does_and_is_the_node() {
    let mut test = Harness::new();
    let options = NodeOptions::new("counter").parameter_override("step", 10);
    let node = test.ros().create_lifecycle_node(options, Counter::default()).unwrap();
    test.wait(node.request(Transition::Configure), MS).unwrap().unwrap();
    test.node().create_publisher("hits").unwrap().publish(UInt32::default()).unwrap();
    test.run_for(20 * MS).unwrap();
    let client = test.node().create_client::<AddTwoInts>("count").unwrap();
    let count = test.wait(client.call(AddTwoIntsRequest::default()), MS).unwrap().unwrap().sum;
    assert_eq!(count, 30, "one message and two ticks");
}

#[test]
fn timers_and_services_of_a_group_share_its_payload_and_the_nodes_names() {
    let mut test = Harness::new();
    let node = test.create_node("arm").unwrap();
    let group = node.create_group("work", Vec::new()).unwrap();
    let tick = |log: &mut Vec<String>, _: Tick| log.push("tick".to_owned());
    let timer = group.create_timer(10 * MS, tick).unwrap();
    let add = |log: &mut Vec<String>, request: AddTwoIntsRequest| {
        log.push("add".to_owned());
        AddTwoIntsResponse { sum: request.a + request.b }
    };
    let service = group.create_service("~/add", add).unwrap();
    assert_eq!([timer.name(), service.name()], ["arm/work/timer0", "arm/work/add"]);
    let client = test.node().create_client::<AddTwoInts>("/arm/add").unwrap();
    let sum = test.wait(client.call(AddTwoIntsRequest { a: 20, b: 22 }), MS).unwrap().unwrap().sum;
    test.run_for(10 * MS).unwrap();
    assert_eq!((sum, group.clone().into_payload().unwrap()), (42, vec!["add".to_owned(), "tick".to_owned()]));
    let gone = group.create_timer(MS, tick).unwrap_err();
    assert!(gone.to_string().contains("work"), "{gone}");
}

#[test]
fn a_group_may_be_on_another_executor_and_serve_another_node() {
    let ros = Ros::in_process(&Context::new(ContextOptions::new()));
    let urgent = ros.context().create_executor(ExecutorOptions::new("urgent"));
    let camera = ros.create_node("camera").unwrap();
    let map = ros.create_node("map").unwrap();
    let images = camera.create_group_on(&urgent.handle(), "images", ());
    let reentrant = camera.create_reentrant_group_on(&urgent.handle(), "reentrant");
    let heard = Arc::new(AtomicUsize::new(0));
    let hear = || {
        let heard = Arc::clone(&heard);
        move |_: &UInt32| _ = heard.fetch_add(1, Ordering::Relaxed)
    };
    let subscriptions = [
        images.create_subscription("numbers", hear()).unwrap(),
        map.on(&images).create_subscription("numbers", hear()).unwrap(),
        reentrant.create_subscription("numbers", hear()).unwrap(),
        map.on(&reentrant).create_subscription("numbers", hear()).unwrap(),
    ];
    assert_eq!(images.node().fully_qualified_name(), "/camera");
    let names = ["images", "images", "reentrant", "reentrant"].map(|group| format!("camera/{group}/numbers"));
    assert_eq!(subscriptions.each_ref().map(|subscription| subscription.name()), names.each_ref().map(String::as_str));
    camera.create_publisher("numbers").unwrap().publish(UInt32::default()).unwrap();
    ros.executor().spin(SpinOptions::spin_all()).unwrap();
    assert_eq!(heard.load(Ordering::Relaxed), 0, "their executor has not run");
    urgent.spin(SpinOptions::spin_all()).unwrap();
    assert_eq!(heard.load(Ordering::Relaxed), 4);
}
