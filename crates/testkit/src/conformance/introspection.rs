//! Service introspection: clients and servers publish their calls.

use rospin_engine::{Executor, Time};
use rospin_node::interfaces::service_msgs::ServiceEventInfo;
use rospin_node::{
    Client, Durability, Gid, Node, Qos, Service, ServiceEvent, ServiceIntrospectionState, Subscription,
    SubscriptionOptions,
};

use super::fixture::Fixture;
use super::messages::{AddTwoInts, Sum, Summands};
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
    let group = main.create_group("events", ());
    let events = Seen::new();
    let log = events.clone();
    let options = SubscriptionOptions::new(TOPIC).qos(latched());
    let subscription = node.on(&group).create_subscription(options, move |event: Event| log.push(event)).unwrap();
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
