//! Nodes of one process.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rospin_engine::{CallbackGroup, Context, ContextOptions, Executor, ExecutorOptions, LossCause, SpinOptions};
use rospin_node::{
    CallError, ClientOptions, Durability, Message, Node, NodeOptions, PublisherOptions, Qos, QosOfName, Ros,
    ServiceInterface, ServiceOptions, ServicePart, SubscriptionOptions,
};
use serde::{Deserialize, Serialize};

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Number {
    pub(crate) data: i64,
}

impl Message for Number {
    const TYPE: &str = "std_msgs/msg/Int64";
}

pub(crate) enum Double {}

impl ServiceInterface for Double {
    type Request = Number;
    type Response = Number;
    const TYPE: &str = "test_interfaces/srv/Double";
}

impl ServicePart<Double> for Number {}

fn set_up() -> (Context, Executor, Ros) {
    let context = Context::new(ContextOptions::new());
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let ros = Ros::in_process(&context);
    (context, executor, ros)
}

fn spin_all(executor: &Executor) {
    executor.spin(SpinOptions::spin_all()).unwrap();
}

fn numbers(group: CallbackGroup<Vec<i64>>) -> Vec<i64> {
    group.into_payload().unwrap()
}

#[test]
fn nodes_talk_by_the_names_that_ros_resolves() {
    let (_context, executor, ros) = set_up();
    let robot = ros.create_node(NodeOptions::new("arm").namespace("/robot")).unwrap();
    let outside = ros.create_node("outside").unwrap();
    let group = executor.create_group("arm", Vec::new());
    let hear = |heard: &mut Vec<i64>, number: Number| heard.push(number.data);
    let relative = robot.on(&group).create_subscription("state", hear).unwrap();
    let _below = robot.on(&group).create_subscription("~/state", hear).unwrap();
    let publisher = outside.create_publisher::<Number>("/robot/state").unwrap();
    assert_eq!((relative.name(), relative.publisher_count(), publisher.subscription_count()), ("arm/state", 1, 1));
    publisher.publish(Number { data: 1 }).unwrap();
    outside.create_publisher("robot/arm/state").unwrap().publish(Number { data: 2 }).unwrap();
    spin_all(&executor);
    assert_eq!(numbers(group), [1, 2]);
}

/// As in rcl: a program may leave out the first slash of a namespace, a rule on the command line may not.
#[test]
fn a_namespace_gets_its_first_slash() {
    let ros = set_up().2;
    let name = |namespace: &str| {
        let node = ros.create_node(NodeOptions::new("camera").namespace(namespace));
        node.map(|node| node.fully_qualified_name())
    };
    for (namespace, expected) in [
        ("left", "/left/camera"),
        ("/left", "/left/camera"),
        ("robot/left", "/robot/left/camera"),
        ("", "/camera"),
        ("/", "/camera"),
    ] {
        assert_eq!(name(namespace).unwrap(), expected, "{namespace}");
    }
    for namespace in ["left/", "le ft", "1st"] {
        let error = name(namespace).unwrap_err().to_string();
        assert!(error.contains("is not a valid name of a node"), "{namespace}: {error}");
    }
}

#[test]
fn displaced_messages_are_counted_and_late_subscriptions_get_those_that_were_kept() {
    let (context, executor, ros) = set_up();
    let node = ros.create_node("node").unwrap();
    let group = executor.create_group("late", Vec::new());
    let options = PublisherOptions::new("numbers").keep_last(3).transient_local();
    let publisher = node.create_publisher::<Number>(options).unwrap();
    for data in 0..5 {
        publisher.publish(Number { data }).unwrap();
    }
    let subscription = node
        .on(&group)
        .create_subscription(
            SubscriptionOptions::new("numbers").keep_last(4).transient_local(),
            |heard: &mut Vec<i64>, number: Number| heard.push(number.data),
        )
        .unwrap();
    for data in 5..8 {
        publisher.publish(Number { data }).unwrap();
    }
    assert_eq!(subscription.missed(), 2, "three kept and three new ones are two more than the depth");
    let losses = context.losses();
    assert_eq!(losses.iter().map(|loss| (loss.entity.as_str(), loss.count)).collect::<Vec<_>>(), [("late/numbers", 2)]);
    spin_all(&executor);
    assert_eq!(numbers(group), [4, 5, 6, 7]);
}

#[test]
fn a_call_is_awaited_and_its_end_is_told() {
    let (_context, executor, ros) = set_up();
    let node = ros.create_node("node").unwrap();
    let client = node.create_client::<Double>("double").unwrap();
    let call = client.call(Number { data: 1 });
    let error = executor.spin_until(call, SpinOptions::new()).unwrap().unwrap_err();
    assert_eq!(error, CallError::Unavailable { service: "/double".to_owned() });

    let group = executor.create_group("double", 0);
    let options = ServiceOptions::new("double").keep_last(1);
    let server = node
        .on(&group)
        .create_service::<Double, _>(options, |calls: &mut u32, number: Number| {
            *calls += 1;
            Number { data: 2 * number.data }
        })
        .unwrap();
    executor.spin_until(client.wait_for_service(), SpinOptions::new()).unwrap();
    let (displaced, answered) = (client.call(Number { data: 1 }), client.call(Number { data: 21 }));
    let error = executor.spin_until(displaced, SpinOptions::new()).unwrap().unwrap_err();
    assert!(matches!(error, CallError::Unanswered { .. }), "{error}");
    assert_eq!(executor.spin_until(answered, SpinOptions::new()).unwrap(), Ok(Number { data: 42 }));
    drop(server);
    assert!(!client.service_is_ready());
    assert_eq!(group.into_payload().unwrap(), 1);
}

#[test]
fn a_publisher_can_wait_for_a_subscription() {
    let (_context, executor, ros) = set_up();
    let node = ros.create_node("node").unwrap();
    let publisher = node.create_publisher::<Number>("numbers").unwrap();
    let waiting = publisher.wait_for_subscription();
    let group = executor.create_group("group", node.clone());
    let _timer = group.create_timer(rospin_engine::TimerOptions::one_shot(std::time::Duration::from_millis(1)), {
        let group = executor.create_group("listener", Vec::new());
        move |node: &mut Node, _| {
            let hear = |heard: &mut Vec<i64>, number: Number| heard.push(number.data);
            std::mem::forget(node.on(&group).create_subscription("numbers", hear).unwrap());
        }
    });
    executor.spin_until(waiting, SpinOptions::new().timeout(std::time::Duration::from_secs(40))).unwrap();
    assert_eq!(publisher.subscription_count(), 1);
}

#[test]
fn an_invalid_type_is_refused_and_another_type_is_not_heard() {
    let (_context, executor, ros) = set_up();
    #[derive(Clone, Serialize, Deserialize)]
    struct Nameless;
    impl Message for Nameless {
        const TYPE: &str = "Nameless";
    }
    #[derive(Clone, Serialize, Deserialize)]
    struct Text(String);
    impl Message for Text {
        const TYPE: &str = "std_msgs/msg/String";
    }
    let node = ros.create_node("node").unwrap();
    let error = node.create_publisher::<Nameless>("numbers").unwrap_err();
    assert!(error.to_string().contains("std_msgs/msg/String"), "{error}");
    // As over any middleware, a topic with another type is another topic.
    let numbers = node.create_publisher::<Number>("numbers").unwrap();
    let group = executor.create_group("group", Vec::<String>::new());
    let texts =
        node.on(&group).create_subscription("numbers", |heard: &mut Vec<String>, text: Text| heard.push(text.0));
    assert_eq!((numbers.subscription_count(), texts.unwrap().publisher_count()), (0, 0));
}

#[test]
fn a_subscription_hears_publishers_that_promise_what_it_asks_for() {
    let (_context, executor, ros) = set_up();
    let node = ros.create_node("node").unwrap();
    let publish = |qos: Qos, data| {
        let publisher = node.create_publisher::<Number>(PublisherOptions::new("numbers").qos(qos)).unwrap();
        publisher.publish(Number { data }).unwrap();
        publisher
    };
    let reliable = Qos::keep_last(5);
    let mut latched = reliable;
    latched.durability = Durability::TransientLocal;
    let mut heard = Vec::new();
    for asked in [Qos::sensor_data(), reliable, latched] {
        let group = executor.create_group("listener", Vec::new());
        let options = SubscriptionOptions::new("numbers").qos(asked);
        let push = |heard: &mut Vec<i64>, number: Number| heard.push(number.data);
        let subscription = node.on(&group).create_subscription(options, push).unwrap();
        let publishers = [publish(Qos::sensor_data(), 1), publish(reliable, 2), publish(latched, 3)];
        spin_all(&executor);
        let matched = publishers.each_ref().map(|publisher| publisher.subscription_count());
        heard.push((subscription.publisher_count(), matched, numbers(group)));
    }
    assert_eq!(heard, [(3, [1, 1, 1], vec![1, 2, 3]), (2, [0, 1, 1], vec![2, 3]), (1, [0, 0, 1], vec![3])]);
}

#[test]
fn middlewares_of_one_context_have_one_graph() {
    let (context, _executor, ros) = set_up();
    let here = ros.create_node("here").unwrap();
    let there = Ros::in_process(&context).create_node("there").unwrap();
    assert_eq!(here.node_names(), ["/here", "/there"]);
    let (_elsewhere, _other_executor, other) = set_up();
    assert_eq!(other.create_node("elsewhere").unwrap().node_names(), ["/elsewhere"]);
    drop(there);
    assert_eq!(here.node_names(), ["/here"]);
}

#[test]
fn a_server_that_is_dropped_makes_room_for_another_one_at_once() {
    let (_context, executor, ros) = set_up();
    let node = ros.create_node("node").unwrap();
    let group = executor.create_group("server", None);
    let serve = {
        let (node, other) = (node.clone(), executor.create_group("other", ()));
        move |factor: i64| {
            node.on(&other).create_service::<Double, _>("double", move |n: Number| Number { data: factor * n.data })
        }
    };
    let first = serve(2).unwrap();
    let publisher = node.create_publisher::<Number>("factor").unwrap();
    let restart = move |server: &mut Option<_>, factor: Number| {
        drop(server.take());
        *server = Some(serve(factor.data).unwrap());
    };
    let _restart = node.on(&group).create_subscription("factor", restart).unwrap();
    drop(first);
    publisher.publish(Number { data: 3 }).unwrap();
    publisher.publish(Number { data: 4 }).unwrap();
    spin_all(&executor);
    let client = node.create_client::<Double>("double").unwrap();
    let response = executor.spin_until(client.call(Number { data: 10 }), SpinOptions::new()).unwrap();
    assert_eq!(response.unwrap().data, 40);
}

#[test]
fn a_subscription_that_is_dropped_is_matched_no_longer_also_in_a_callback() {
    let (_context, executor, ros) = set_up();
    let node = ros.create_node("node").unwrap();
    let (group, other) = (executor.create_group("group", Vec::new()), executor.create_group("other", ()));
    let publisher = node.create_publisher::<Number>("numbers").unwrap();
    let (mut heard, counted) =
        (Some(node.on(&other).create_subscription("numbers", |_: Number| {})), publisher.clone());
    let _ear = node.on(&group).create_subscription("start", move |counts: &mut Vec<i64>, _: Number| {
        counts.push(counted.subscription_count() as i64);
        drop(heard.take());
        counts.push(counted.subscription_count() as i64);
    });
    node.create_publisher("start").unwrap().publish(Number { data: 0 }).unwrap();
    spin_all(&executor);
    assert_eq!(numbers(group), [1, 0]);
}

#[test]
fn a_remapped_name_is_another_topic_and_another_service() {
    let (_context, executor, ros) = set_up();
    let options = NodeOptions::new("arm").namespace("/robot");
    let options = options.remap("state", "/news").remap("~/double", "twice").remap("/robot/state", "/too/late");
    let robot = ros.create_node(options).unwrap();
    let outside = ros.create_node("outside").unwrap();
    let group = executor.create_group("outside", Vec::new());
    let hear = |heard: &mut Vec<i64>, number: Number| heard.push(number.data);
    let _news = outside.on(&group).create_subscription("news", hear).unwrap();
    robot.create_publisher("state").unwrap().publish(Number { data: 1 }).unwrap();
    robot.create_publisher("/robot/state").unwrap().publish(Number { data: 2 }).unwrap();
    robot.create_publisher("/state").unwrap().publish(Number { data: 3 }).unwrap();
    let _server = outside
        .on(&group)
        .create_service::<Double, _>("/robot/twice", |number: Number| Number { data: 2 * number.data })
        .unwrap();
    let client = robot.create_client::<Double>("~/double").unwrap();
    let called = executor.spin_until(client.call(Number { data: 4 }), SpinOptions::new()).unwrap();
    assert_eq!(called, Ok(Number { data: 8 }));
    spin_all(&executor);
    assert_eq!(numbers(group), [1, 2]);

    let error = ros.create_node(NodeOptions::new("arm").remap("state", "no topic")).unwrap_err();
    assert!(error.to_string().contains("no topic"), "{error}");
}

#[test]
fn groups_of_a_node_are_on_its_executor_unless_that_is_gone() {
    let (_context, executor, ros) = set_up();
    let node = ros.create_node(NodeOptions::new("arm").executor(&executor.handle())).unwrap();
    let on_main = ros.create_node("leg").unwrap();
    let group = node.create_group("state", Vec::new()).unwrap();
    let hear = |heard: &mut Vec<i64>, number: Number| heard.push(number.data);
    let _subscription = node.on(&group).create_subscription("state", hear).unwrap();
    let reentrant = on_main.create_reentrant_group("ask").unwrap();
    let (doubled, heard) =
        (on_main.create_publisher::<Number>("doubled").unwrap(), node.create_publisher("state").unwrap());
    let double = move |number: Number| doubled.publish(Number { data: 2 * number.data });
    let _doubles = on_main.on(&reentrant).create_subscription("state", double).unwrap();
    heard.publish(Number { data: 21 }).unwrap();
    spin_all(&executor);
    assert_eq!(group.into_payload().unwrap(), [21]);
    let waits = SpinOptions::spin_once().timeout(std::time::Duration::ZERO);
    assert!(ros.executor().spin(waits).is_ok(), "the reentrant group is on the main executor");

    drop(ros);
    assert_eq!(on_main.create_group("late", ()).unwrap_err().group, "leg");
}

/// Nobody spins, so that the queues stay full.
#[test]
fn a_reliable_publisher_that_keeps_all_waits_for_a_subscription_that_keeps_all_and_for_no_other() {
    const ROOM: i64 = 8192;
    let (_context, executor, ros) = set_up();
    let node = ros.create_node("node").unwrap();
    let group = executor.create_group("group", ());
    let keep_all = Qos::keep_all();
    let ignore = |_: &mut (), _: Number| ();
    let last = SubscriptionOptions::new("numbers").qos(Qos::keep_last(1));
    let last = node.on(&group).create_subscription(last, ignore).unwrap();
    let all = SubscriptionOptions::new("numbers").qos(keep_all);
    let all = node.on(&group).create_subscription(all, ignore).unwrap();
    let publisher = node.create_publisher::<Number>(PublisherOptions::new("numbers").qos(keep_all)).unwrap();
    let begin = Instant::now();
    for data in 0..ROOM {
        publisher.publish(Number { data }).unwrap();
    }
    // It would take minutes if it waited for each message.
    assert!(begin.elapsed() < Duration::from_secs(60));
    assert_eq!([&last, &all].map(|one| one.lost(LossCause::QueueFull)), [ROOM as u64 - 1, 0]);
    let begin = Instant::now();
    publisher.publish(Number { data: ROOM }).unwrap();
    assert!(begin.elapsed() >= Duration::from_millis(100));
    assert_eq!(all.lost(LossCause::QueueFull), 1);
}

/// A message behind a reference is cloned for subscriptions of this process, and not at all without any.
#[test]
fn messages_are_published_by_value_by_arc_and_by_reference() {
    let (_context, _executor, ros) = set_up();
    let node = ros.create_node("node").unwrap();
    let publisher = node.create_publisher::<Number>("numbers").unwrap();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let to = Arc::clone(&heard);
    let _subscription = node.create_subscription("numbers", move |number: Number| to.lock().unwrap().push(number.data));
    let kept = Number { data: 1 };
    publisher.publish(&kept).unwrap();
    publisher.publish(Arc::new(Number { data: 2 })).unwrap();
    publisher.publish(kept).unwrap();
    ros.executor().spin(SpinOptions::spin_all()).unwrap();
    assert_eq!(*heard.lock().unwrap(), [1, 2, 1]);
}

#[test]
fn quality_of_service_is_written_on_names() {
    let (_context, executor, ros) = set_up();
    let node = ros.create_node("node").unwrap();
    let publisher = node.create_publisher::<Number>("map".transient_local().keep_last(1)).unwrap();
    publisher.publish(&Number { data: 1 }).unwrap();
    publisher.publish(&Number { data: 2 }).unwrap();
    let group = executor.create_group("late", Vec::new());
    let late = |heard: &mut Vec<i64>, number: Number| heard.push(number.data);
    let _late = node.on(&group).create_subscription("map".to_owned().transient_local(), late).unwrap();
    let _server = node.create_service::<Double, _>("double".keep_last(5), |request: Number| request).unwrap();
    let _client = node.create_client::<Double>("double".to_owned()).unwrap();
    executor.spin(SpinOptions::spin_all()).unwrap();
    assert_eq!(group.into_payload().unwrap(), [2]);
}

#[test]
fn a_depth_above_the_limit_is_an_error_that_names_the_entity() {
    let (_context, executor, ros) = set_up();
    let node = ros.create_node("arm").unwrap();
    let group = executor.create_group("arm", ());
    for depth in [1_000_001, usize::MAX] {
        let subscription = SubscriptionOptions::new("numbers").name("ear").keep_last(depth);
        let subscription = node.on(&group).create_subscription(subscription, |_: &mut (), _: Number| {}).unwrap_err();
        let service = ServiceOptions::new("double").name("server").keep_last(depth);
        let service = node.on(&group).create_service::<Double, _>(service, |_: &mut (), n: Number| n).unwrap_err();
        let publisher = PublisherOptions::new("numbers").qos(Qos::keep_last(depth));
        let publisher = node.create_publisher::<Number>(publisher).unwrap_err();
        let client = node.create_client::<Double>(ClientOptions::new("double").keep_last(depth)).unwrap_err();
        let limit = "a queue keeps at most 1000000 messages or requests, so give it a smaller depth";
        let error = |entity| format!("`{entity}` has a depth of {depth}; {limit}");
        assert_eq!((subscription.to_string(), service.to_string()), (error("ear"), error("server")));
        assert_eq!((publisher.to_string(), client.to_string()), (error("numbers"), error("double")));
    }
}
