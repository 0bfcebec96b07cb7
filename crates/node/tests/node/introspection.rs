//! Introspection of actions and of services whose types are known only at run time, in process.

use rospin_engine::{Context, ContextOptions, SpinOptions};
use rospin_msgs::example_interfaces::action::{Fibonacci, FibonacciGoal, FibonacciResult};
use rospin_msgs::example_interfaces::srv::{AddTwoInts, AddTwoIntsRequest, AddTwoIntsResponse};
use rospin_node::dynamic::{DynamicMessage, ServiceType};
use rospin_node::interfaces::service_msgs::ServiceEventInfo;
use rospin_node::{
    CallError, CallbackGroup, CancelResponse, GoalHandle, GoalResponse, Node, Qos, Ros, Service, ServiceError,
    ServiceIntrospectionState, Subscription,
};

const CONTENTS: ServiceIntrospectionState = ServiceIntrospectionState::Contents;

fn ros() -> Ros {
    Ros::in_process(&Context::new(ContextOptions::new()))
}

fn wait<T>(ros: &Ros, future: impl Future<Output = T>) -> T {
    ros.executor().spin_until(future, SpinOptions::new().timeout(std::time::Duration::from_secs(40))).unwrap()
}

/// Listens to the events of a service, whose type is learned from who publishes them.
fn listen(ros: &Ros, node: &Node, service: &str) -> (CallbackGroup<Vec<DynamicMessage>>, Subscription) {
    let topic = format!("{service}/_service_event");
    let event = wait(ros, node.message_type_of(&ros.executor().handle(), &topic)).unwrap();
    let seen = node.create_group(topic.replace('/', "_"), Vec::new()).unwrap();
    let look = |seen: &mut Vec<DynamicMessage>, event: DynamicMessage| seen.push(event);
    let subscription = seen.create_dynamic_subscription(topic.as_str(), &event, look).unwrap();
    (seen, subscription)
}

/// Returns the kinds of the events, in their order.
fn kinds(events: &[DynamicMessage]) -> Vec<u8> {
    events.iter().map(|event| event.get::<u8>("info.event_type").unwrap()).collect()
}

const ALL: [u8; 4] = [
    ServiceEventInfo::REQUEST_SENT,
    ServiceEventInfo::REQUEST_RECEIVED,
    ServiceEventInfo::RESPONSE_SENT,
    ServiceEventInfo::RESPONSE_RECEIVED,
];

#[test]
fn the_services_of_an_action_are_told_by_both_ends() {
    let ros = ros();
    let arm = ros.create_node("arm").unwrap();
    let server = arm
        .create_action_server(
            "fibonacci",
            |_, _: &FibonacciGoal| GoalResponse::AcceptAndExecute,
            |_, _| CancelResponse::Accept,
            async |goal: GoalHandle<Fibonacci>| {
                let sequence = vec![0, 1, 1];
                goal.succeed(FibonacciResult { sequence });
            },
        )
        .unwrap();
    let tool = ros.create_node("tool").unwrap();
    let client = tool.create_action_client::<Fibonacci>("fibonacci").unwrap();
    server.configure_introspection(Qos::default(), CONTENTS).unwrap();
    client.configure_introspection(Qos::default(), CONTENTS).unwrap();
    let parts = ["send_goal", "get_result", "cancel_goal"];
    let heard = parts.map(|part| listen(&ros, &tool, &format!("fibonacci/_action/{part}")));

    wait(&ros, client.wait_for_server());
    let goal = wait(&ros, client.send_goal(FibonacciGoal { order: 3 })).unwrap();
    wait(&ros, goal.result()).unwrap();
    let _ = wait(&ros, client.cancel_all());
    ros.executor().spin(SpinOptions::spin_all()).unwrap();

    let [sent, results, canceled] = heard.map(|(seen, _subscription)| seen.into_payload().unwrap());
    assert_eq!([kinds(&sent), kinds(&results), kinds(&canceled)], [ALL, ALL, ALL].map(|all| all.to_vec()));
    assert_eq!(sent[0].message_type().name(), "example_interfaces/action/Fibonacci_SendGoal_Event");
    assert_eq!(sent[1].get::<i32>("request[0].goal.order"), Ok(3));
    assert_eq!(sent[2].get::<bool>("response[0].accepted"), Ok(true));
    assert_eq!(results[2].get::<Vec<i32>>("response[0].result.sequence"), Ok(vec![0, 1, 1]));
    assert_eq!(canceled[0].message_type().name(), "action_msgs/srv/CancelGoal_Event");
    for event in &sent {
        assert_eq!(event.get::<Vec<u8>>("info.client_gid"), sent[0].get::<Vec<u8>>("info.client_gid"));
    }
}

/// Off, an action publishes none of its calls.
#[test]
fn an_action_is_told_only_while_it_is_asked_for() {
    let ros = ros();
    let arm = ros.create_node("arm").unwrap();
    let client = arm.create_action_client::<Fibonacci>("fibonacci").unwrap();
    let topic = "/fibonacci/_action/get_result/_service_event";
    let count = || arm.publishers_info_by_topic(topic).unwrap().len();
    assert_eq!(count(), 0);
    client.configure_introspection(Qos::default(), ServiceIntrospectionState::Metadata).unwrap();
    let told = arm.publishers_info_by_topic(topic).unwrap();
    assert_eq!((told.len(), told[0].type_hash.is_some()), (1, true));
    client.configure_introspection(Qos::default(), ServiceIntrospectionState::Off).unwrap();
    assert_eq!(count(), 0);
}

fn add(request: AddTwoIntsRequest) -> AddTwoIntsResponse {
    AddTwoIntsResponse { sum: request.a + request.b }
}

/// Returns the type of the service that adds, as a node has told it.
fn learned(ros: &Ros) -> ServiceType {
    let teacher = ros.create_node("teacher").unwrap();
    let _service = teacher.create_service("taught", add).unwrap();
    wait(ros, teacher.service_type_of(&ros.executor().handle(), "taught")).unwrap()
}

/// Serves it by a callback that sees dynamic messages.
fn serve(node: &Node, of: &ServiceType) -> Result<Service, ServiceError> {
    let response = of.response().clone();
    node.create_dynamic_service("add", of, move |request: DynamicMessage| {
        let mut answer = DynamicMessage::new(&response);
        answer.set("sum", request.get::<i64>("a").unwrap() + request.get::<i64>("b").unwrap()).unwrap();
        answer
    })
}

#[test]
fn dynamic_ends_tell_their_calls() {
    let ros = ros();
    let of = learned(&ros);
    let node = ros.create_node("node").unwrap();
    let server = serve(&node, &of).unwrap();
    let client = node.create_dynamic_client("add", &of).unwrap();
    server.configure_introspection(Qos::default(), CONTENTS).unwrap();
    client.configure_introspection(Qos::default(), CONTENTS).unwrap();
    let (seen, _subscription) = listen(&ros, &node, "add");
    let request = DynamicMessage::from_yaml(of.request(), "{a: 2, b: 3}").unwrap();
    assert_eq!(wait(&ros, client.call(&request)).unwrap().get::<i64>("sum"), Ok(5));
    ros.executor().spin(SpinOptions::spin_all()).unwrap();
    let events = seen.into_payload().unwrap();
    assert_eq!(kinds(&events), ALL);
    assert_eq!(events[1].get::<DynamicMessage>("request[0]"), Ok(request));
    assert_eq!(events[3].get::<i64>("response[0].sum"), Ok(5));
    assert_eq!(events[0].get::<Vec<u8>>("info.client_gid"), events[2].get::<Vec<u8>>("info.client_gid"));
    assert!(events[0].get::<i32>("info.stamp.sec").unwrap() > 0);
}

#[test]
fn a_dynamic_server_answers_clients_of_every_kind() {
    let ros = ros();
    let of = learned(&ros);
    let node = ros.create_node("node").unwrap();
    let typed = node.create_client::<AddTwoInts>("add").unwrap();
    let dynamic = node.create_dynamic_client("add", &of).unwrap();
    assert!(!typed.service_is_ready() && !dynamic.service_is_ready());
    let early = [typed.wait_for_service(), typed.wait_for_service()];
    let server = serve(&node, &of).unwrap();
    for waiting in early {
        wait(&ros, waiting);
    }
    wait(&ros, dynamic.wait_for_service());
    assert!(typed.service_is_ready() && dynamic.service_is_ready());
    assert_eq!(wait(&ros, typed.call(AddTwoIntsRequest { a: 2, b: 3 })).unwrap().sum, 5);
    let request = DynamicMessage::from_yaml(of.request(), "{a: 4, b: 5}").unwrap();
    assert_eq!(wait(&ros, dynamic.call(&request)).unwrap().get::<i64>("sum"), Ok(9));
    // Others learn the type from the node of the server.
    let asker = ros.create_node("asker").unwrap();
    assert_eq!(wait(&ros, asker.service_type_of(&ros.executor().handle(), "add")), Ok(of));
    drop(server);
    ros.executor().spin(SpinOptions::spin_all()).unwrap();
    assert!(!typed.service_is_ready() && !dynamic.service_is_ready());
    let error = wait(&ros, typed.call(AddTwoIntsRequest { a: 2, b: 3 })).unwrap_err();
    assert!(matches!(error, CallError::Unavailable { .. }), "{error}");
}

#[test]
fn a_service_has_one_server_in_a_process_whatever_its_kind() {
    let ros = ros();
    let of = learned(&ros);
    let node = ros.create_node("node").unwrap();
    let server = serve(&node, &of).unwrap();
    let client = node.create_client::<AddTwoInts>("add").unwrap();
    let refused = |error: ServiceError| assert!(error.to_string().contains("`/add` exists already"), "{error}");
    refused(node.create_service("add", add).unwrap_err());
    assert_eq!(wait(&ros, client.call(AddTwoIntsRequest { a: 1, b: 1 })).unwrap().sum, 2, "the first one serves on");
    drop(server);
    // At once, also before the executor has noticed that the first one ended.
    let server = node.create_service("add", add).unwrap();
    refused(serve(&node, &of).unwrap_err());
    assert_eq!(wait(&ros, client.call(AddTwoIntsRequest { a: 2, b: 1 })).unwrap().sum, 3);
    drop(server);
    let _server = serve(&node, &of).unwrap();
    assert_eq!(wait(&ros, client.call(AddTwoIntsRequest { a: 3, b: 1 })).unwrap().sum, 4);
}

#[test]
fn a_response_of_another_type_is_not_sent_and_is_counted() {
    let ros = ros();
    let of = learned(&ros);
    let node = ros.create_node("node").unwrap();
    let request = of.request().clone();
    let wrong = move |_: DynamicMessage| DynamicMessage::new(&request);
    let server = node.create_dynamic_service("add", &of, wrong).unwrap();
    let client = node.create_client::<AddTwoInts>("add").unwrap();
    let error = wait(&ros, client.call(AddTwoIntsRequest { a: 2, b: 3 })).unwrap_err();
    assert!(matches!(error, CallError::Unanswered { .. }), "{error}");
    assert_eq!(server.unsent_responses(), 1);
}

#[test]
fn callbacks_of_dynamic_services_have_the_forms_of_others() {
    let ros = ros();
    let of = learned(&ros);
    let node = ros.create_node("node").unwrap();
    let group = node.create_group("counting", 0_u32).unwrap();
    let response = of.response().clone();
    let counting = move |count: &mut u32, request: DynamicMessage| {
        *count += 1;
        let mut answer = DynamicMessage::new(&response);
        answer.set("sum", request.get::<i64>("a").unwrap()).unwrap();
        answer
    };
    let counting = group.create_dynamic_service("counting", &of, counting).unwrap();
    let response = of.response().clone();
    let waiting = node.create_dynamic_service("waiting", &of, move |_: DynamicMessage| {
        let answer = DynamicMessage::new(&response);
        async move { answer }
    });
    let _waiting = waiting.unwrap();
    for (service, sum) in [("counting", 7), ("waiting", 0)] {
        let client = node.create_client::<AddTwoInts>(service).unwrap();
        assert_eq!(wait(&ros, client.call(AddTwoIntsRequest { a: 7, b: 0 })).unwrap().sum, sum);
    }
    drop(counting);
    ros.executor().spin(SpinOptions::spin_all()).unwrap();
    assert_eq!(group.into_payload().unwrap(), 1);
}
