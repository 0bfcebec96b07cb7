//! Service introspection: clients and servers publish their calls.

use rospin_engine::{Executor, Time};
use rospin_node::dynamic::DynamicMessage;
use rospin_node::interfaces::service_msgs::ServiceEventInfo;
use rospin_node::{
    Client, Durability, Gid, Message, Node, Qos, Service, ServiceEvent, ServiceIntrospectionState, Subscription,
    SubscriptionOptions,
};
use serde::{Deserialize, Serialize};

use super::acting::{ACTION, reach, serve};
use super::dynamic::{answer_sum, sums};
use super::fixture::Fixture;
use super::messages::{AddTwoInts, Fibonacci, FibonacciGoal, Sum, Summands};
use super::seen::Seen;
use super::world::World;

/// The name of the service.
const SERVICE: &str = "add_two_ints";
/// The topic of its events.
const TOPIC: &str = "add_two_ints/_service_event";

type Event = ServiceEvent<AddTwoInts>;

/// A client, a server, and what is heard of their calls.
struct Watched {
    client: Client<AddTwoInts>,
    server: Service,
    events: Seen<Event>,
    subscription: Subscription,
}

fn watched<F: Fixture>(world: &World<F>, main: &Executor) -> Watched {
    let group = main.create_group("server", ());
    let server = world.here.on(&group).create_service(SERVICE, |summands: Summands| summands.add()).unwrap();
    let client = world.there.create_client(SERVICE).unwrap();
    world.wait("the server is there", client.wait_for_service());
    let (events, subscription) = listen(&world.there, main);
    Watched { client, server, events, subscription }
}

/// Returns the quality of service of events that are heard even if the publisher does not know of the subscription yet.
fn latched() -> Qos {
    let mut qos = Qos::keep_last(100);
    qos.durability = Durability::TransientLocal;
    qos
}

/// Listens to the events on `node`.
fn listen(node: &Node, main: &Executor) -> (Seen<Event>, Subscription) {
    listen_to(node, main, TOPIC)
}

/// Listens to the events on `topic`.
fn listen_to<M: Message>(node: &Node, main: &Executor, topic: &str) -> (Seen<M>, Subscription) {
    let group = main.create_group("events", ());
    let events = Seen::new();
    let log = events.clone();
    let options = SubscriptionOptions::new(topic).qos(latched());
    let subscription = node.on(&group).create_subscription(options, move |event: M| log.push(event)).unwrap();
    (events, subscription)
}

impl Watched {
    /// Sets the state of both ends, and waits until both publish, or until neither does.
    fn configure<F: Fixture>(&self, world: &World<F>, state: ServiceIntrospectionState) {
        self.client.configure_introspection(latched(), state).unwrap();
        self.server.configure_introspection(latched(), state).unwrap();
        let count = if state == ServiceIntrospectionState::Off { 0 } else { 2 };
        world.until("events are heard", || self.subscription.publisher_count() == count);
    }

    /// Calls the service, and checks the response.
    fn call<F: Fixture>(&self, world: &World<F>, a: i64) {
        let response = world.wait("the answer comes", self.client.call(Summands { a, b: 1 }));
        assert_eq!(response, Ok(Sum { sum: a + 1 }));
    }
}

/// Returns the events of the last call, of which there are four, in the order of the call.
fn call_of(events: &Seen<Event>) -> [Event; 4] {
    let mut events = events.all();
    events.sort_by_key(|event| (event.info.sequence_number, event.info.event_type));
    let last: [Event; 4] = events[events.len() - 4..].to_vec().try_into().unwrap();
    assert_eq!(
        last.each_ref().map(|event| event.info.event_type),
        [
            ServiceEventInfo::REQUEST_SENT,
            ServiceEventInfo::REQUEST_RECEIVED,
            ServiceEventInfo::RESPONSE_SENT,
            ServiceEventInfo::RESPONSE_RECEIVED,
        ]
    );
    last
}

/// A call is four events, in which both ends name the same client and number, at times that follow each other.
pub fn a_call_is_told_by_both_ends<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let watched = watched(&world, &main);
    world.spinning(&[&main], || {
        watched.configure(&world, ServiceIntrospectionState::Contents);
        watched.call(&world, 1);
        world.wait("one call is told", watched.events.until_count(4));
        watched.call(&world, 2);
        world.wait("the other one is told", watched.events.until_count(8));
    });
    let call = call_of(&watched.events);
    let [first, ..] = &call;
    assert_ne!(Gid::new(first.info.client_gid), Gid::new([0; 16]));
    for event in &call {
        assert_eq!(event.info.client_gid, first.info.client_gid);
        assert_eq!(event.info.sequence_number, first.info.sequence_number);
    }
    let times = call.each_ref().map(|event| Time::from(event.info.stamp));
    assert!(times.is_sorted(), "{times:?}");
    assert!(Time::from(first.info.stamp) > Time::from_nanos(0));
    let numbers: Vec<_> = watched.events.all().iter().map(|event| event.info.sequence_number).collect();
    assert!(numbers.iter().max() == numbers.iter().min().map(|number| number + 1).as_ref(), "{numbers:?}");
    assert_eq!(
        call.each_ref().map(|event| event.request.clone()),
        [vec![Summands { a: 2, b: 1 }], vec![Summands { a: 2, b: 1 }], vec![], vec![]]
    );
    assert_eq!(
        call.each_ref().map(|event| event.response.clone()),
        [vec![], vec![], vec![Sum { sum: 3 }], vec![Sum { sum: 3 }]]
    );
}

/// A request that is not sent, because there is no server, is not told.
pub fn requests_without_a_server_are_not_told<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let client: Client<AddTwoInts> = world.there.create_client(SERVICE).unwrap();
    let state = ServiceIntrospectionState::Contents;
    client.configure_introspection(latched(), state).unwrap();
    let (events, _subscription) = listen(&world.there, &main);
    world.wait("the call fails", client.call(Summands { a: 1, b: 1 })).unwrap_err();
    let group = main.create_group("server", ());
    let _server = world.here.on(&group).create_service(SERVICE, |summands: Summands| summands.add()).unwrap();
    world.wait("the server is there", client.wait_for_service());
    world.spinning(&[&main], || {
        let response = world.wait("the answer comes", client.call(Summands { a: 2, b: 1 }));
        assert_eq!(response, Ok(Sum { sum: 3 }));
        world.wait("the call is told", events.until_count(2));
    });
    let told: Vec<_> = events.all().iter().map(|event| (event.info.event_type, event.request.len())).collect();
    assert_eq!(told, [(ServiceEventInfo::REQUEST_SENT, 1), (ServiceEventInfo::RESPONSE_RECEIVED, 0)]);
}

/// Metadata is without requests and responses. Off, nothing is told, and nobody is there who would tell.
pub fn contents_are_told_only_if_asked_for<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let watched = watched(&world, &main);
    world.spinning(&[&main], || {
        watched.call(&world, 1);
        watched.configure(&world, ServiceIntrospectionState::Metadata);
        watched.call(&world, 2);
        world.wait("the call is told", watched.events.until_count(4));
        watched.configure(&world, ServiceIntrospectionState::Off);
        watched.call(&world, 3);
        watched.configure(&world, ServiceIntrospectionState::Metadata);
        watched.call(&world, 4);
        world.wait("a later call is told", watched.events.until_count(8));
    });
    let told = watched.events.all();
    assert!(told.iter().all(|event| event.request.is_empty() && event.response.is_empty()));
    let mut numbers: Vec<_> = told.iter().map(|event| event.info.sequence_number).collect();
    numbers.sort_unstable();
    let first = numbers[0];
    assert_eq!(numbers, [first, first, first, first, first + 2, first + 2, first + 2, first + 2]);
}

/// One end tells its own two events, whether or not the other end tells its own.
pub fn each_end_tells_its_own_events<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let watched = watched(&world, &main);
    world.spinning(&[&main], || {
        let state = ServiceIntrospectionState::Contents;
        watched.server.configure_introspection(latched(), state).unwrap();
        world.until("events are heard", || watched.subscription.publisher_count() == 1);
        watched.call(&world, 1);
        watched.call(&world, 2);
        world.wait("the calls are told", watched.events.until_count(4));
    });
    let kinds: Vec<_> = watched.events.all().iter().map(|event| event.info.event_type).collect();
    let [received, sent] = [ServiceEventInfo::REQUEST_RECEIVED, ServiceEventInfo::RESPONSE_SENT];
    assert_eq!(kinds, [received, sent, received, sent]);
}

/// Clients and servers whose types are known only at run time tell their calls as others do.
pub fn dynamic_ends_tell_their_calls<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let group = main.create_group("server", ());
    let of = sums();
    let server = world.here.on(&group).create_dynamic_service(SERVICE, &of, answer_sum).unwrap();
    let client = world.there.create_dynamic_client(SERVICE, &of).unwrap();
    world.wait("the server is there", client.wait_for_service());
    let (events, subscription) = listen(&world.there, &main);
    let state = ServiceIntrospectionState::Contents;
    server.configure_introspection(latched(), state).unwrap();
    client.configure_introspection(latched(), state).unwrap();
    world.spinning(&[&main], || {
        world.until("events are heard", || subscription.publisher_count() == 2);
        let mut request = DynamicMessage::new(of.request());
        request.set("a", 3).unwrap();
        request.set("b", 4).unwrap();
        let response = world.wait("the answer comes", client.call(&request)).unwrap();
        assert_eq!(response.get::<i64>("sum"), Ok(7));
        world.wait("the call is told", events.until_count(4));
    });
    let call = call_of(&events);
    for event in &call {
        assert_eq!(event.info.client_gid, call[0].info.client_gid);
        assert_eq!(event.info.sequence_number, call[0].info.sequence_number);
    }
    assert_eq!([&call[0].request, &call[1].request], [&[Summands { a: 3, b: 4 }]; 2]);
    assert_eq!([&call[2].response, &call[3].response], [&[Sum { sum: 7 }]; 2]);
}

/// The event of a goal that is sent, as ROS 2 has it.
#[derive(Clone, Serialize, Deserialize)]
struct GoalEvent {
    info: ServiceEventInfo,
    /// The goals' ids, and the goals.
    request: Vec<([u8; 16], FibonacciGoal)>,
    /// True if the goal was accepted, and when that was.
    response: Vec<(bool, (i32, u32))>,
}

impl Message for GoalEvent {
    const TYPE: &str = <Fibonacci as rospin_node::Action>::TYPE;
    const TYPE_SUFFIX: &str = "_SendGoal_Event";
}

/// Clients and servers of an action tell what happens on its services.
pub fn goals_are_told_by_both_ends<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let server = serve(&world.here, &main, reach);
    let client = world.action_client(&world.there, &main);
    let topic = format!("{ACTION}/_action/send_goal/_service_event");
    let (events, subscription) = listen_to::<GoalEvent>(&world.there, &main, &topic);
    let state = ServiceIntrospectionState::Contents;
    server.configure_introspection(latched(), state).unwrap();
    client.configure_introspection(latched(), state).unwrap();
    world.spinning(&[&main], || {
        world.until("events are heard", || subscription.publisher_count() == 2);
        world.wait("the server is there", client.wait_for_server());
        let goal = world.goal(&client, 4);
        world.outcome(&goal);
        world.wait("the goal is told", events.until_count(4));
    });
    let mut events = events.all();
    events.sort_by_key(|event| event.info.event_type);
    let kinds: Vec<_> = events.iter().map(|event| event.info.event_type).collect();
    assert_eq!(kinds, [0, 1, 2, 3]);
    assert_eq!(events[0].request[0].1, FibonacciGoal { order: 4 });
    assert_eq!(events[0].request, events[1].request);
    assert!(events[2].response[0].0 && events[3].response == events[2].response);
}
