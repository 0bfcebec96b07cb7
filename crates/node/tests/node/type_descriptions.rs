//! The service `~/get_type_description` that every node has.

use std::time::Duration;

use rospin_engine::{Context, ContextOptions, Deployment, ExecutorOptions, SpinOptions};
use rospin_msgs::example_interfaces::action::Fibonacci;
use rospin_msgs::example_interfaces::srv::{AddTwoInts, AddTwoIntsRequest, AddTwoIntsResponse};
use rospin_msgs::std_msgs::msg::{Bool, Header};
use rospin_node::interfaces::action_msgs::CancelGoal;
use rospin_node::interfaces::builtin_interfaces::Time;
use rospin_node::interfaces::rcl_interfaces::{GetParameters, Log, ParameterEvent};
use rospin_node::interfaces::type_description_interfaces::{
    GetTypeDescription, GetTypeDescriptionRequest, GetTypeDescriptionResponse,
};
use rospin_node::{
    Action, Client, DynamicMessage, Message, Node, NodeError, NodeOptions, Qos, Ros, ServiceInterface,
    ServiceIntrospectionState, Subscription,
};

const PARAMETER: &str = "start_type_description_service";

fn ros() -> Ros {
    Ros::in_process(&Context::new(ContextOptions::new()))
}

/// Returns a client of the service of the node `/arm`.
fn client(ros: &Ros) -> Client<GetTypeDescription> {
    ros.create_node("asker").unwrap().create_client("/arm/get_type_description").unwrap()
}

fn ask(ros: &Ros, client: &Client<GetTypeDescription>, name: &str, hash: &str) -> GetTypeDescriptionResponse {
    let call = client.call(GetTypeDescriptionRequest {
        type_name: name.to_owned(),
        type_hash: hash.to_owned(),
        include_type_sources: false,
    });
    ros.executor().spin_until(call, SpinOptions::new().timeout(Duration::from_secs(40))).unwrap().unwrap()
}

fn is_known(ros: &Ros, client: &Client<GetTypeDescription>, name: &str, hash: Option<&str>) -> bool {
    let answer = ask(ros, client, name, hash.expect("the type has a hash"));
    assert_eq!(answer.successful, answer.failure_reason.is_empty(), "{answer:?}");
    assert!(!answer.successful || answer.type_description.type_description.type_name == name, "{answer:?}");
    answer.successful
}

fn hear(node: &Node) -> Subscription {
    node.create_subscription("heard", |_: Bool| {}).unwrap()
}

/// A tool that knows no type learns that of the events of a service, and decodes them.
#[test]
fn the_events_of_a_service_are_described_and_decoded() {
    let ros = ros();
    let arm = ros.create_node("arm").unwrap();
    let add = |request: AddTwoIntsRequest| AddTwoIntsResponse { sum: request.a + request.b };
    let service = arm.create_service::<AddTwoInts, _>("add", add).unwrap();
    service.configure_introspection(Qos::default(), ServiceIntrospectionState::Contents).unwrap();

    let tool = ros.create_node("tool").unwrap();
    let learned = tool.message_type_of(&ros.executor().handle(), "add/_service_event");
    let event_type = ros.spin_until(learned).unwrap().unwrap();
    assert_eq!(event_type.name(), "example_interfaces/srv/AddTwoInts_Event");
    let seen = tool.create_group("seen", Vec::new()).unwrap();
    let look = |seen: &mut Vec<DynamicMessage>, event: DynamicMessage| seen.push(event);
    let _subscription = seen.create_dynamic_subscription("add/_service_event", &event_type, look).unwrap();
    let client = tool.create_client::<AddTwoInts>("add").unwrap();
    ros.spin_until(client.call(AddTwoIntsRequest { a: 2, b: 3 })).unwrap().unwrap();
    ros.executor().spin(SpinOptions::spin_all()).unwrap();
    let events = seen.into_payload().unwrap();
    assert_eq!(events.len(), 2);
    assert_eq!(events[0].get::<i64>("request[0].a").unwrap(), 2);
    assert_eq!(events[1].get::<i64>("response[0].sum").unwrap(), 5);
    assert_eq!(events[1].get::<i64>("info.sequence_number").unwrap(), 1);
}

#[test]
fn a_node_describes_the_types_of_its_ends_and_what_they_contain() {
    let ros = ros();
    let arm = ros.create_node("arm").unwrap();
    let client = client(&ros);
    let known = |name: &str, hash| is_known(&ros, &client, name, hash);
    for (name, hash) in [
        (GetParameters::TYPE, GetParameters::TYPE_HASH),
        (ParameterEvent::TYPE, ParameterEvent::TYPE_HASH),
        (Log::TYPE, Log::TYPE_HASH),
        (GetTypeDescription::TYPE, GetTypeDescription::TYPE_HASH),
    ] {
        assert!(known(name, hash), "{name}, which every node has");
    }
    assert!(!known(Header::TYPE, Header::TYPE_HASH) && !known(AddTwoInts::TYPE, AddTwoInts::TYPE_HASH));
    let _publisher = arm.create_publisher::<Header>("published").unwrap();
    let _subscription = hear(&arm);
    let add = |request: AddTwoIntsRequest| AddTwoIntsResponse { sum: request.a + request.b };
    let _service = arm.create_service::<AddTwoInts, _>("add", add).unwrap();
    let _client = arm.create_action_client::<Fibonacci>("fibonacci").unwrap();
    for (name, hash) in [
        (Header::TYPE, Header::TYPE_HASH),
        (Time::TYPE, Time::TYPE_HASH),
        (Bool::TYPE, Bool::TYPE_HASH),
        (AddTwoInts::TYPE, AddTwoInts::TYPE_HASH),
        (CancelGoal::TYPE, CancelGoal::TYPE_HASH),
        ("example_interfaces/action/Fibonacci_SendGoal", Fibonacci::SEND_GOAL_HASH),
        ("example_interfaces/action/Fibonacci_GetResult", Fibonacci::GET_RESULT_HASH),
        ("example_interfaces/action/Fibonacci_FeedbackMessage", Fibonacci::FEEDBACK_MESSAGE_HASH),
    ] {
        assert!(known(name, hash), "{name}");
    }
    let request = ask(&ros, &client, "example_interfaces/srv/AddTwoInts_Request", "");
    let fields: Vec<_> = request.type_description.type_description.fields.into_iter().map(|field| field.name).collect();
    assert_eq!(fields, ["a", "b"]);
}

/// Another node asks for the type of a topic whose publisher has a Rust type.
#[test]
fn the_type_of_a_topic_is_learned_from_a_publisher_of_a_rust_type() {
    let ros = ros();
    let arm = ros.create_node("arm").unwrap();
    let _publisher = arm.create_publisher::<Header>("published").unwrap();
    let asker = ros.create_node("asker").unwrap();
    let learned = asker.message_type_of(&ros.executor().handle(), "published");
    let learned = ros.executor().spin_until(learned, SpinOptions::new().timeout(Duration::from_secs(40)));
    let learned = learned.unwrap().unwrap();
    assert_eq!((learned.name(), Some(learned.hash())), (Header::TYPE, Header::TYPE_HASH));
}

#[test]
fn the_service_is_switched_off_by_an_option_or_a_parameter() {
    let ros = ros();
    let client = client(&ros);
    let arm = ros.create_node("arm").unwrap();
    assert_eq!(arm.parameter(PARAMETER).unwrap(), true.into());
    assert!(arm.set_parameter(PARAMETER, false).is_err(), "it is read-only");
    assert!(client.service_is_ready());
    drop(arm);
    let arm = ros.create_node(NodeOptions::new("arm").parameter_override(PARAMETER, false)).unwrap();
    assert_eq!(arm.parameter(PARAMETER).unwrap(), false.into());
    assert!(!client.service_is_ready());
    drop(arm);
    let arm = ros.create_node(NodeOptions::new("arm").start_type_description_service(false)).unwrap();
    assert!(arm.parameter(PARAMETER).is_none() && !client.service_is_ready());
    drop(arm);
    let error = ros.create_node(NodeOptions::new("arm").parameter_override(PARAMETER, "yes")).unwrap_err();
    assert!(matches!(&error, NodeError::Offer { .. }) && error.to_string().contains(PARAMETER), "{error}");
}

#[test]
fn another_executor_takes_the_service_over() {
    let context = Context::new(ContextOptions::new());
    let ros = Ros::in_process(&context);
    let other = context.create_executor(ExecutorOptions::new("other"));
    let arm = ros.create_node("arm").unwrap();
    let client = client(&ros);
    let server = arm.serve_type_descriptions(&other.handle()).unwrap();
    let call = client.call(GetTypeDescriptionRequest { type_name: Log::TYPE.to_owned(), ..Default::default() });
    let answer = other.spin_until(call, SpinOptions::new().timeout(Duration::from_secs(40))).unwrap().unwrap();
    assert!(answer.successful);
    drop(server);
    assert!(!client.service_is_ready());
}

#[test]
fn a_deployment_file_moves_the_service() {
    let deployment = "
        [[executor]]
        name = \"quiet\"

        [[group]]
        name = \"type_descriptions\"
        node = \"/arm\"
        executor = \"quiet\"
    ";
    let deployment = Deployment::parse(deployment).unwrap();
    let context = Context::new(ContextOptions::new().deployment(deployment));
    let ros = Ros::in_process(&context);
    let quiet = context.create_executor(ExecutorOptions::new("quiet"));
    let _arm = ros.create_node("arm").unwrap();
    let client = client(&ros);
    let call = client.call(GetTypeDescriptionRequest { type_name: Log::TYPE.to_owned(), ..Default::default() });
    let answer = quiet.spin_until(call, SpinOptions::new().timeout(Duration::from_secs(40))).unwrap().unwrap();
    assert!(answer.successful);
}
