//! Nodes of the crate ros2-client, which has a Zenoh back end of its own: they share Zenoh with ours, and no code that
//! knows of ROS 2.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use ros2_client::zenoh as theirs;
use ros2_client::{ActionTypeName, MessageTypeName, Name, NodeName, NodeOptions, QosProfile, ServiceTypeName};
use rospin_engine::{ClockKind, Executor, Payload};
use rospin_zenoh::interfaces::action_msgs::GoalStatus;
use rospin_zenoh::zenoh::Config;
use rospin_zenoh::{
    Action, CancelResponse, GoalHandle, GoalResponse, GoalState, Message, Node, ParameterValue, Publisher,
    PublisherOptions, Subscription,
};
use serde::{Deserialize, Serialize};

use crate::common::{
    AddRequest, AddResponse, AddTwoInts, PATIENT, Place, Text, context, executor, keep_all, text, wait, wait_until,
};

/// A node of ros2-client's that finds the host, with parameter services or without any of its own entities.
fn their_node(place: &Place, name: &str, parameters: bool) -> theirs::Node {
    let mut config = Config::default();
    let settings = [
        ("mode", "\"peer\"".to_owned()),
        ("scouting/multicast/enabled", "false".to_owned()),
        ("listen/endpoints", "[]".to_owned()),
        ("connect/endpoints", format!("[{:?}]", place.endpoint)),
    ];
    let settings = settings.into_iter().chain(PATIENT.map(|(key, value)| (key, value.to_owned())));
    for (key, value) in settings {
        config.insert_json5(key, &value).unwrap();
    }
    let context = theirs::Context::with_options(theirs::ContextOptions::new().zenoh_config(config)).unwrap();
    let options = NodeOptions::new().enable_rosout(false).start_parameter_services(parameters);
    let options = options.declare_parameter("speed", ros2_client::ParameterValue::Double(1.5));
    context.new_node(NodeName::new("/", name).unwrap(), options).unwrap()
}

fn name(base: &str) -> Name {
    Name::new("/", base).unwrap()
}

fn topic(node: &theirs::Node, base: &str, package: &str, message: &str) -> theirs::Topic {
    node.create_topic(&name(base), MessageTypeName::new(package, message), &QosProfile::publisher_default())
}

/// Runs on a thread of its own what ros2-client can only block for.
fn blocking<T: Send + 'static>(executor: &Executor, what: &str, call: impl FnOnce() -> T + Send + 'static) -> T {
    let outcome = Arc::new(Mutex::new(None));
    let slot = Arc::clone(&outcome);
    let thread = thread::spawn(move || *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(call()));
    wait_until(executor, what, || thread.is_finished());
    thread.join().unwrap();
    outcome.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap()
}

/// Collects what is heard.
fn hear<M: Message>(
    executor: &Executor,
    node: &Node,
    topic: &str,
    data: fn(M) -> String,
) -> (Subscription, Arc<Mutex<Vec<String>>>) {
    let heard = Arc::<Mutex<Vec<String>>>::default();
    let group = executor.create_group("listener", ());
    let log = Arc::clone(&heard);
    let callback = move |(): &mut (), message| log.lock().unwrap_or_else(PoisonError::into_inner).push(data(message));
    (node.on(&group).create_subscription(topic, callback).unwrap(), heard)
}

fn heard(log: &Mutex<Vec<String>>) -> Vec<String> {
    log.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

#[test]
fn strings_go_both_ways() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let place = Place::new();
    let node = place.host().ros(&context).create_node("ours").unwrap();
    let peer = their_node(&place, "theirs", false);

    let (subscription, log) = hear(&executor, &node, "to_us", |text: Text| text.data);
    let to_us = peer.create_publisher::<String>(&topic(&peer, "to_us", "std_msgs", "String"), None).unwrap();
    wait(&executor, "they know of us", to_us.wait_for_subscription(&peer));
    wait(&executor, "we know of them", subscription.wait_for_publisher());

    let publisher: Publisher<Text> = node.create_publisher(PublisherOptions::new("to_them").qos(keep_all())).unwrap();
    let to_them = peer.create_subscription::<String>(&topic(&peer, "to_them", "std_msgs", "String"), None).unwrap();
    wait(&executor, "we know of their subscription", publisher.wait_for_subscription());
    wait(&executor, "they know of our publisher", to_them.wait_for_publisher(&peer));

    let long = "long ".repeat(20_000);
    let said = ["Hello World: 1", "", "größer als ASCII", long.as_str()];
    for data in said {
        to_us.publish(data.to_owned()).unwrap();
        publisher.publish(text(data)).unwrap();
        let (back, info) = wait(&executor, "they hear it", to_them.async_take()).unwrap();
        assert_eq!(back, data);
        assert!(info.source_timestamp().is_some());
    }
    wait_until(&executor, "we have heard all", || heard(&log).len() == said.len());
    assert_eq!(heard(&log), said);
    assert_eq!((subscription.missed(), subscription.publisher_count()), (0, 1));
}

#[derive(Serialize, Deserialize)]
struct Summands {
    a: i64,
    b: i64,
}

#[derive(Serialize, Deserialize)]
struct Sum {
    sum: i64,
}

#[test]
fn calls_go_both_ways() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let place = Place::new();
    let node = place.host().ros(&context).create_node("ours").unwrap();
    let peer = their_node(&place, "theirs", false);
    let service = ServiceTypeName::new("example_interfaces", "AddTwoInts");

    let server = peer.create_server::<Summands, Sum>(&name("add_there"), &service).unwrap();
    let client = node.create_client::<AddTwoInts>("add_there").unwrap();
    wait(&executor, "their server is there", client.wait_for_service());
    for n in 0..5 {
        let call = client.call(AddRequest { a: n, b: 40 });
        let (id, Summands { a, b }) = wait(&executor, "they hear the request", server.async_receive_request()).unwrap();
        server.send_response(id, Sum { sum: a + b }).unwrap();
        assert_eq!(wait(&executor, "the response comes", call), Ok(AddResponse { sum: n + 40 }));
    }
    drop(server);
    wait_until(&executor, "their server is gone", || !client.service_is_ready());

    let group = executor.create_group("server", ());
    let server =
        node.on(&group).create_service::<AddTwoInts, _>("add_here", |AddRequest { a, b }| AddResponse { sum: a + b });
    let _server = server.unwrap();
    let client = peer.create_client::<Summands, Sum>(&name("add_here"), &service).unwrap();
    for n in 0..5 {
        let answered = wait(&executor, "they have the response", async {
            loop {
                // ros2-client does not learn of servers, so a call that finds none is repeated.
                match client.async_call(Summands { a: n, b: 2 }).await {
                    Ok(response) => break response,
                    Err(_) => executor.handle().sleep(ClockKind::Steady, Duration::from_millis(5)).await.unwrap(),
                }
            }
        });
        assert_eq!(answered.sum, n + 2);
    }
}

/// A type that ros2-client does not know the hash of: it says zeros, which is the hash of nothing, and its
/// subscriptions hear whatever the hash is.
#[test]
fn types_that_they_do_not_know_have_a_hash_of_zeros_there() {
    #[derive(Clone, Serialize, Deserialize)]
    struct Unknown(String);
    impl Message for Unknown {
        const TYPE: &str = "test_interfaces/msg/Unknown";
    }
    #[derive(Clone, Serialize, Deserialize)]
    struct Zeros(String);
    impl Message for Zeros {
        const TYPE: &str = Unknown::TYPE;
        const TYPE_HASH: Option<&str> = Some("RIHS01_0000000000000000000000000000000000000000000000000000000000000000");
    }
    let (context, _) = context();
    let executor = executor(&context, "main");
    let place = Place::new();
    let node = place.host().ros(&context).create_node("ours").unwrap();
    let peer = their_node(&place, "theirs", false);
    let chatter = topic(&peer, "chatter", "test_interfaces", "Unknown");
    let (without, unheard) = hear(&executor, &node, "chatter", |Unknown(data)| data);
    let (zeros, log) = hear(&executor, &node, "chatter", |Zeros(data)| data);
    let publisher = peer.create_publisher::<String>(&chatter, None).unwrap();
    wait(&executor, "zeros meet zeros", zeros.wait_for_publisher());
    wait(&executor, "they know of both", async {
        while publisher.get_subscription_count(&peer) < 2 {
            executor.handle().sleep(ClockKind::Steady, Duration::from_millis(1)).await.unwrap();
        }
    });
    publisher.publish("to zeros".to_owned()).unwrap();
    wait_until(&executor, "zeros are heard", || !heard(&log).is_empty());
    assert_eq!((without.publisher_count(), heard(&unheard).len()), (0, 0));

    let subscription =
        peer.create_subscription::<String>(&topic(&peer, "back", "test_interfaces", "Unknown"), None).unwrap();
    let publisher: Publisher<Unknown> = node.create_publisher("back").unwrap();
    wait(&executor, "they know of us", subscription.wait_for_publisher(&peer));
    // Their token does not tell if they know our node: we may see them first.
    wait_until(&executor, "they hear it", || {
        publisher.publish(Unknown("without a hash".to_owned())).unwrap();
        subscription.try_take().unwrap().is_some_and(|(data, _)| data == "without a hash")
    });
    assert_eq!(publisher.subscription_count(), 0, "their token says zeros");
}

#[derive(Clone, Serialize, Deserialize)]
struct FibonacciGoal {
    order: i32,
}

#[derive(Clone, Default, PartialEq, Debug, Serialize, Deserialize)]
struct Sequence {
    sequence: Vec<i32>,
}

/// With the hashes of its parts, as Jazzy has them.
enum Fibonacci {}

impl Action for Fibonacci {
    type Goal = FibonacciGoal;
    type Result = Sequence;
    type Feedback = Sequence;
    const TYPE: &str = "action_tutorials_interfaces/action/Fibonacci";
    const SEND_GOAL_HASH: Option<&str> =
        Some("RIHS01_a0603060ed69fe2dfbd1a6f3b982a1749957ef346e4a4d2b311a05e305ec37bb");
    const GET_RESULT_HASH: Option<&str> =
        Some("RIHS01_8b47e383f1e31f6d8df6417ab54957e7d5ea24dad315646ad711ac3fdea81d58");
    const FEEDBACK_MESSAGE_HASH: Option<&str> =
        Some("RIHS01_50fc26b9cac313652ecbeab3adf9b5414d59fd4d4d5f9058ddcc7525169927f1");
}

#[test]
fn their_client_has_its_goal_executed_by_our_server() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let place = Place::new();
    let node = place.host().ros(&context).create_node("ours").unwrap();
    let server = node.on(&executor.create_group("server", ())).create_action_server(
        "fibonacci",
        |(), _, goal: &FibonacciGoal| {
            if goal.order < 0 { GoalResponse::Reject } else { GoalResponse::AcceptAndExecute }
        },
        |(), _, _| CancelResponse::Accept,
        |_: Payload<()>, goal: GoalHandle<Fibonacci>| async move {
            let sequence = Sequence { sequence: (0..goal.goal().order).collect() };
            let _ = goal.publish_feedback(sequence.clone());
            goal.succeed(sequence);
        },
    );
    let _server = server.unwrap();
    let peer = their_node(&place, "theirs", false);
    let action = ActionTypeName::new("action_tutorials_interfaces", "Fibonacci");
    let client = peer.create_action_client::<FibonacciGoal, Sequence, Sequence>(&name("fibonacci"), &action).unwrap();
    let (rejected, status, result, feedback) = blocking(&executor, "they have the result", move || {
        let (goal, accepted) = loop {
            // ros2-client does not learn of servers, so the goal is sent until one takes it.
            if let Ok(sent) = client.send_goal(FibonacciGoal { order: 4 }) {
                break sent;
            }
            thread::sleep(Duration::from_millis(5));
        };
        assert!(accepted);
        let (status, result) = client.get_result(goal).unwrap();
        let (_, rejected) = client.send_goal(FibonacciGoal { order: -1 }).unwrap();
        let feedback = std::iter::repeat_with(|| client.take_feedback()).flatten().find(|(id, _)| *id == goal);
        (!rejected, status, result, feedback.map(|(_, feedback)| feedback))
    });
    let expected = Sequence { sequence: vec![0, 1, 2, 3] };
    assert_eq!((status, &result), (GoalStatus::STATUS_SUCCEEDED, &expected));
    assert_eq!((rejected, feedback), (true, Some(expected)));
}

#[test]
fn our_client_has_its_goal_executed_by_their_server() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let place = Place::new();
    let node = place.host().ros(&context).create_node("ours").unwrap();
    let client = node.on(&executor.create_group("client", ())).create_action_client::<Fibonacci>("fibonacci").unwrap();
    let peer = their_node(&place, "theirs", false);
    let action = ActionTypeName::new("action_tutorials_interfaces", "Fibonacci");
    let server = peer.create_action_server::<FibonacciGoal, Sequence, Sequence>(&name("fibonacci"), &action).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let thread = thread::spawn(move || {
        while !stopped.load(Ordering::Relaxed) {
            if let Some((id, goal, FibonacciGoal { order })) = server.try_receive_goal() {
                server.respond_goal(id, true).unwrap();
                assert!(server.publish_feedback(goal, Sequence { sequence: vec![order] }).is_ok());
            }
            if let Some((id, _)) = server.try_receive_result_request() {
                let result = Sequence { sequence: vec![1, 2] };
                server.respond_result(id, GoalStatus::STATUS_SUCCEEDED, result).unwrap();
            }
            thread::sleep(Duration::from_millis(1));
        }
    });
    wait(&executor, "their server is there", client.wait_for_server());
    let goal = wait(&executor, "they accept it", client.send_goal(FibonacciGoal { order: 7 })).unwrap();
    let outcome = wait(&executor, "the result comes", goal.result()).unwrap();
    assert_eq!((outcome.state, outcome.result.sequence), (GoalState::Succeeded, vec![1, 2]));
    let first = wait(&executor, "the feedback comes", futures::StreamExt::into_future(goal.take_feedback().unwrap()));
    assert_eq!(first.0, Some(Sequence { sequence: vec![7] }));
    stop.store(true, Ordering::Relaxed);
    thread.join().unwrap();
}

#[test]
fn parameters_go_both_ways() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let place = Place::new();
    let node = place.host().ros(&context).create_node("ours").unwrap();
    let gain = node.declare_parameter("gain", 2.0).unwrap();
    let _server = node.serve_parameters(&executor.handle()).unwrap();

    let peer = their_node(&place, "theirs", true);
    let ours = peer.create_parameter_client(&NodeName::new("/", "ours").unwrap()).unwrap();
    let values = blocking(&executor, "they have our value", move || {
        loop {
            // ros2-client does not learn of servers, so the request is repeated.
            if let Ok(values) = ours.get_parameters(&["gain"]) {
                break values;
            }
            thread::sleep(Duration::from_millis(5));
        }
    });
    assert!(matches!(values[..], [ros2_client::ParameterValue::Double(2.0)]), "{values:?}");
    gain.set(3.0).unwrap();

    let client = node.create_parameter_client("/theirs").unwrap();
    wait(&executor, "their services are there", client.wait_for_service());
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let thread = thread::spawn(move || {
        let server = peer.parameter_server().unwrap();
        server.spin(Duration::from_millis(1), || stopped.load(Ordering::Relaxed));
    });
    let values = wait(&executor, "we have their value", client.get(&["speed"])).unwrap();
    assert_eq!(values, [ParameterValue::Double(1.5)]);
    stop.store(true, Ordering::Relaxed);
    thread.join().unwrap();
}
