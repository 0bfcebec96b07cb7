//! Dynamic types in process: matching, refused types, and description to other nodes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rospin_engine::{CallbackGroup, Context, ContextOptions, Executor, ExecutorOptions, SpinOptions};
use rospin_node::dynamic::{AskTypeError, DynamicMessage, MessageType, ServeTypesError};
use rospin_node::interfaces::type_description_interfaces::{
    GetTypeDescription, GetTypeDescriptionRequest, GetTypeDescriptionResponse, TypeSource,
};
use rospin_node::{CallError, Message, Node, PublishError, PublisherOptions, Ros, SubscriptionOptions};
use serde::{Deserialize, Serialize};

struct Fixture {
    executor: Executor,
    ros: Ros,
    node: Node,
    group: CallbackGroup<Vec<DynamicMessage>>,
}

fn set_up() -> Fixture {
    let context = Context::new(ContextOptions::new());
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let ros = Ros::in_process(&context);
    let node = ros.create_node("node").unwrap();
    let group = executor.create_group("group", Vec::new());
    Fixture { executor, ros, node, group }
}

impl Fixture {
    fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.executor.spin_until(future, SpinOptions::new().timeout(Duration::from_secs(40))).unwrap()
    }

    fn spin_all(&self) {
        self.executor.spin(SpinOptions::spin_all()).unwrap();
    }
}

fn install() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../dynamic/tests/install")
}

fn find(name: &str) -> MessageType {
    MessageType::find_in(name, &[install()]).unwrap()
}

fn push(heard: &mut Vec<DynamicMessage>, message: DynamicMessage) {
    heard.push(message);
}

#[test]
fn ends_of_one_name_and_type_meet() {
    let at = set_up();
    let (twist, text) = (find("geometry_msgs/msg/Twist"), find("std_msgs/msg/String"));
    let publisher = at.node.create_dynamic_publisher("topic", &twist).unwrap();
    // Types that were loaded twice are equal.
    let same =
        at.node.on(&at.group).create_dynamic_subscription("topic", &find("geometry_msgs/msg/Twist"), push).unwrap();
    let other = at.node.on(&at.group).create_dynamic_subscription("topic", &text, push).unwrap();
    assert_eq!((publisher.subscription_count(), same.publisher_count(), other.publisher_count()), (1, 1, 0));
    at.wait(publisher.wait_for_subscription());
    let mut message = DynamicMessage::new(&twist);
    message.set("linear.x", 1).unwrap();
    publisher.clone().publish(message.clone()).unwrap();
    let error = publisher.publish(DynamicMessage::new(&text)).unwrap_err();
    assert!(
        matches!(&error, PublishError::WrongType { found, .. } if found.starts_with("std_msgs/msg/String (RIHS01_"))
    );
    at.spin_all();
    assert_eq!(at.group.into_payload().unwrap(), [message]);
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Text {
    data: String,
}

impl Message for Text {
    const TYPE: &str = "std_msgs/msg/String";
}

fn text(data: &str) -> Text {
    Text { data: data.to_owned() }
}

#[test]
fn ends_of_several_rust_types_hear_each_other_in_one_order() {
    let at = set_up();
    let string = find("std_msgs/msg/String");
    let typed = at.node.create_publisher::<Text>("topic").unwrap();
    let dynamic = at.node.create_dynamic_publisher("topic", &string).unwrap();
    let group = at.executor.create_group("typed", Vec::new());
    let options = || SubscriptionOptions::new("topic").keep_last(3);
    let hears = at.node.on(&group).create_subscription(options(), |heard: &mut Vec<Text>, text: Text| heard.push(text));
    let hears = hears.unwrap();
    let subscription = at.node.on(&at.group).create_dynamic_subscription(options(), &string, push).unwrap();
    assert_eq!((typed.subscription_count(), dynamic.subscription_count(), hears.publisher_count()), (2, 2, 2));
    for round in ["1", "2"] {
        typed.publish(text(&format!("typed {round}"))).unwrap();
        let mut message = DynamicMessage::new(&string);
        message.set("data", format!("dynamic {round}")).unwrap();
        dynamic.publish(message).unwrap();
    }
    at.spin_all();
    let expected = ["dynamic 1", "typed 2", "dynamic 2"];
    assert_eq!(group.into_payload().unwrap(), expected.map(text));
    let heard = at.group.into_payload().unwrap();
    let heard: Vec<_> = heard.iter().map(|message| message.get::<String>("data").unwrap()).collect();
    assert_eq!((heard.as_slice(), hears.missed(), subscription.missed()), (&expected.map(str::to_owned)[..], 1, 1));
}

#[test]
fn latched_messages_are_heard_by_late_subscriptions_of_another_rust_type() {
    let at = set_up();
    let string = find("std_msgs/msg/String");
    let options = PublisherOptions::new("topic").keep_last(2).transient_local();
    let typed = at.node.create_publisher::<Text>(options).unwrap();
    for data in ["1", "2", "3"] {
        typed.publish(text(data)).unwrap();
    }
    let options = SubscriptionOptions::new("topic").transient_local();
    let _late = at.node.on(&at.group).create_dynamic_subscription(options, &string, push).unwrap();
    typed.publish(text("4")).unwrap();
    at.spin_all();
    let heard = at.group.into_payload().unwrap();
    let heard: Vec<_> = heard.iter().map(|message| message.get::<String>("data").unwrap()).collect();
    assert_eq!(heard, ["2", "3", "4"]);
}

#[test]
fn publishers_that_do_not_agree_are_told_apart() {
    let at = set_up();
    let publishers = ["geometry_msgs/msg/Twist", "std_msgs/msg/String"]
        .map(|name| at.node.create_dynamic_publisher("topic", &find(name)).unwrap());
    let error = at.wait(at.node.message_type_of(&at.executor.handle(), "topic")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "topic `/topic` has publishers of several types: geometry_msgs/msg/Twist, std_msgs/msg/String"
    );
    drop(publishers);
    let error = at.wait(at.node.message_type_of(&at.executor.handle(), "no name")).unwrap_err();
    assert!(matches!(error, AskTypeError::Name(_)), "{error}");
}

#[test]
fn a_node_tells_of_its_types_by_name_and_hash() {
    let at = set_up();
    let (twist, handle) = (find("geometry_msgs/msg/Twist"), at.executor.handle());
    let server = at.node.serve_type_descriptions(&handle).unwrap();
    let error = at.node.serve_type_descriptions(&handle).unwrap_err();
    assert!(matches!(&error, ServeTypesError::AlreadyServed { node } if node == "/node"), "{error}");
    let other = at.ros.create_node("other").unwrap();
    let client = other.create_client::<GetTypeDescription>("/node/get_type_description").unwrap();
    let ask = |type_hash: &str, include_type_sources| {
        let (type_name, type_hash) = (twist.name().to_owned(), type_hash.to_owned());
        at.wait(client.call(GetTypeDescriptionRequest { type_name, type_hash, include_type_sources })).unwrap()
    };
    let unknown = ask(twist.hash(), true);
    assert!(!unknown.successful && unknown.failure_reason.contains("no type geometry_msgs/msg/Twist"));
    let _subscription = at.node.on(&at.group).create_dynamic_subscription("topic", &twist, push).unwrap();
    for hash in [twist.hash(), ""] {
        let known = ask(hash, true);
        assert!(known.successful && known.failure_reason.is_empty());
        assert_eq!(known.type_description, twist.description());
        let sources: Vec<_> =
            known.type_sources.iter().map(|TypeSource { type_name, .. }| type_name.as_str()).collect();
        assert_eq!(sources, ["geometry_msgs/msg/Twist", "geometry_msgs/msg/Vector3"]);
        assert_eq!(known.type_sources[0].encoding, "dynamic");
    }
    assert_eq!(ask("", false).type_sources, []);
    assert!(!ask("RIHS01_00", false).successful);
    drop(server);
    assert!(!client.service_is_ready());
    drop(at.node.serve_type_descriptions(&handle).unwrap());
}

#[test]
fn a_dynamic_client_calls_servers_of_the_same_process() {
    let at = set_up();
    let describing = at.ros.create_node("describing").unwrap();
    let _types = describing.serve_type_descriptions(&at.executor.handle()).unwrap();
    let service = "/describing/get_type_description";
    let of = at.wait(at.node.service_type_of(&at.executor.handle(), service)).unwrap();
    assert_eq!(of.name(), "type_description_interfaces/srv/GetTypeDescription");
    let client = at.node.create_dynamic_client(service, &of).unwrap();
    at.wait(client.wait_for_service());
    let request = DynamicMessage::from_yaml(of.request(), "{type_name: a/msg/B}").unwrap();
    let response = at.wait(client.call(&request)).unwrap();
    assert_eq!(response.get::<bool>("successful"), Ok(false));
    assert_eq!(response.get::<String>("failure_reason").unwrap(), "this node has no type a/msg/B");
    let error = at.wait(client.call(&DynamicMessage::new(of.response()))).unwrap_err().to_string();
    assert!(error.contains("GetTypeDescription_Response, and the service takes"), "{error}");
    let missing = at.node.create_dynamic_client("missing", &of).unwrap();
    assert!(!missing.service_is_ready());
    assert!(matches!(at.wait(missing.call(&request)), Err(CallError::Unavailable { .. })));
}

#[test]
fn a_dynamic_client_waits_for_a_server_and_notes_when_it_has_gone() {
    let at = set_up();
    let server = at.ros.create_node("server").unwrap();
    let described = at.ros.create_node("described").unwrap();
    let _types = described.serve_type_descriptions(&at.executor.handle()).unwrap();
    let of = at.wait(at.node.service_type_of(&at.executor.handle(), "/described/get_type_description")).unwrap();
    let client = at.node.create_dynamic_client("late", &of).unwrap();
    let waiting = client.wait_for_service();
    let answer = |_: GetTypeDescriptionRequest| GetTypeDescriptionResponse::default();
    let on = at.executor.create_group("late", ());
    let service = server.on(&on).create_service::<GetTypeDescription, _>("late", answer).unwrap();
    at.wait(waiting);
    assert!(client.service_is_ready());
    at.wait(client.call(&DynamicMessage::new(of.request()))).expect("it answers");
    drop(service);
    at.spin_all();
    assert!(!client.service_is_ready());
}
