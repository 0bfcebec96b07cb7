//! Services: a call gets its response, or an error that it will get none.

use rospin_node::{CallError, Client, Node, Service, ServiceOptions};

use super::fixture::Fixture;
use super::messages::{AddTwoInts, Number, Sum, Summands, number};
use super::seen::Seen;
use super::world::World;
use rospin_engine::{ClockKind, Executor, ExecutorOptions, IncidentKind, LossCause, Payload};
use std::time::Duration;

/// The name of the service.
const SERVICE: &str = "add_two_ints";

/// Returns a request.
const fn add(a: i64, b: i64) -> Summands {
    Summands { a, b }
}

/// Creates a server that adds two numbers, on a group of its own.
fn serve(node: &Node, executor: &Executor) -> Service {
    let group = executor.create_group("server", ());
    let options = ServiceOptions::new(SERVICE).keep_last(100);
    node.on(&group).create_service(options, |summands: Summands| summands.add()).unwrap()
}

/// Creates a client of that server.
fn client(node: &Node) -> Client<AddTwoInts> {
    node.create_client(SERVICE).unwrap()
}

/// A service answers each request with its callback's return value.
pub fn a_service_answers<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let server = serve(&world.here, &main);
    let client = client(&world.there);
    world.wait("the server is there", client.wait_for_service());
    world.spinning(&[&main], || {
        for n in 0..30 {
            let response = world.wait("the answer comes", client.call(add(n, 40)));
            assert_eq!(response, Ok(Sum { sum: n + 40 }));
        }
    });
    assert_eq!((client.undecodable(), server.unsent_responses(), world.panics()), (0, 0, 0));
}

/// A call without a server fails at once.
pub fn without_a_server_a_call_is_refused<F: Fixture>() {
    let world = World::<F>::new();
    let client = client(&world.there);
    assert!(!client.service_is_ready());
    let error = world.wait("the call fails", client.call(add(1, 2))).unwrap_err();
    assert_eq!(error, CallError::Unavailable { service: format!("/{SERVICE}") });
}

/// A future of a service resolves when its server appears. The client also notices that the server is gone.
pub fn a_waiter_for_a_service_is_told<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let client = client(&world.there);
    let waiting = client.wait_for_service();
    let server = serve(&world.here, &main);
    world.wait("the server is there", waiting);
    assert!(client.service_is_ready());
    world.wait("it is still there", client.wait_for_service());
    drop(server);
    // An executor that does not spin removes the server at its next spin.
    world.spinning(&[&main], || world.until("it is gone", || !client.service_is_ready()));
    let error = world.wait("the call fails", client.call(add(1, 2))).unwrap_err();
    assert!(matches!(error, CallError::Unavailable { .. }), "{error}");
    let _server = serve(&world.here, &main);
    world.wait("another one has come", client.wait_for_service());
    world.spinning(&[&main], || {
        let response = world.wait("the answer comes", client.call(add(1, 2)));
        assert_eq!(response, Ok(Sum { sum: 3 }));
    });
}

/// On one thread, a callback that holds its group awaits a call whose server is on the same executor.
pub fn a_call_is_awaited_inside_a_callback<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let _server = serve(&world.here, &main);
    let client = client(&world.there);
    let trigger = world.here.create_publisher("trigger").unwrap();
    let group = main.create_group("caller", ());
    let sums = Seen::new();
    let log = sums.clone();
    let caller = client.clone();
    let subscription = world.there.on(&group).create_subscription("trigger", move |_, Number { data }: Number| {
        let log = log.clone();
        let first = caller.call(add(data, 1));
        let caller = caller.clone();
        async move {
            let Sum { sum } = first.await.expect("an answer");
            log.push(caller.call(add(sum, 1)).await.expect("another answer").sum);
        }
    });
    let subscription = subscription.unwrap();
    world.wait("the server is there", client.wait_for_service());
    world.matched(&trigger, &[&subscription]);
    world.spinning(&[&main], || {
        world.publish_all(&trigger, 0..10);
        world.wait("all is answered", sums.until_count(10));
    });
    assert_eq!(sums.all(), (2..12).collect::<Vec<_>>());
    assert_eq!(world.panics(), 0);
}

/// A server calls another service before it answers, all on one thread.
pub fn a_server_asks_another_service<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let _server = serve(&world.here, &main);
    let inner = client(&world.there);
    let group = main.create_group("relay", ());
    let asks = inner.clone();
    let relay = world.there.on(&group).create_service("relay", move |_, summands| {
        let answer = asks.call(summands);
        async move { Sum { sum: 1000 + answer.await.expect("an answer").sum } }
    });
    let _relay = relay.unwrap();
    let outer = world.here.create_client::<AddTwoInts>("relay").unwrap();
    world.wait("the server is there", inner.wait_for_service());
    world.wait("the relay is there", outer.wait_for_service());
    world.spinning(&[&main], || {
        for n in 0..10 {
            let response = world.wait("the answer comes", outer.call(add(n, n)));
            assert_eq!(response, Ok(Sum { sum: 1000 + 2 * n }));
        }
    });
    assert_eq!(world.panics(), 0);
}

/// Clients of one node and of others get only their own responses.
pub fn clients_get_their_own_answers<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let _server = serve(&world.here, &main);
    let clients = [client(&world.there), client(&world.there), client(&world.here), client(&world.here)];
    for client in &clients {
        world.wait("the server is there", client.wait_for_service());
    }
    world.spinning(&[&main], || {
        for round in 0..10 {
            let calls: Vec<_> =
                (0..).zip(&clients).map(|(of, client)| (of, client.call(add(1000 * of, round)))).collect();
            for (of, call) in calls {
                let response = world.wait("the answer comes", call);
                assert_eq!(response, Ok(Sum { sum: 1000 * of + round }), "of client {of}");
            }
        }
    });
    assert_eq!(world.panics(), 0);
}

/// Many calls are sent before the first response. Each gets its own response, in whatever order they are awaited.
pub fn many_calls_are_under_way<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let _server = serve(&world.here, &main);
    let client = client(&world.there);
    world.wait("the server is there", client.wait_for_service());
    world.spinning(&[&main], || {
        let calls: Vec<_> = (0..50).map(|n| (n, client.call(add(n, n)))).collect();
        for (n, call) in calls.into_iter().rev() {
            assert_eq!(world.wait("the answer comes", call), Ok(Sum { sum: 2 * n }));
        }
    });
}

/// A server that is late answers the newest requests, as many as its depth. The others are counted.
pub fn requests_beyond_the_depth_are_counted<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let slow = world.executor("slow");
    let group = slow.create_group("server", ());
    let served = Seen::new();
    let gate = world.gate();
    let log = served.clone();
    let wait = gate.clone();
    let options = ServiceOptions::new(SERVICE).keep_last(5);
    let server = world.here.on(&group).create_service(options, move |summands: Summands| {
        log.push(summands.a);
        wait.pass();
        summands.add()
    });
    let server = server.unwrap();
    let client = client(&world.there);
    world.wait("the server is there", client.wait_for_service());
    world.spinning(&[&main, &slow], || {
        let first = client.call(add(0, 0));
        world.wait("the first one is served", served.until_count(1));
        let calls: Vec<_> = (1..=100).map(|n| client.call(add(n, 0))).collect();
        gate.open();
        assert_eq!(world.wait("the first answer comes", first), Ok(Sum { sum: 0 }));
        let last = calls.into_iter().next_back().unwrap();
        assert_eq!(world.wait("the last answer comes", last), Ok(Sum { sum: 100 }));
    });
    let served = served.all();
    assert!(served.is_sorted_by(|one, next| one < next), "{served:?}");
    assert_eq!(served.len() as u64 + server.lost(LossCause::QueueFull), 101, "{served:?}");
}

/// Asynchronous and reentrant servers answer several requests at once.
pub fn asynchronous_and_reentrant_servers_answer<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.context.create_executor(ExecutorOptions::new("main").threads(2));
    let exclusive = main.create_group("exclusive", 0);
    let reentrant = main.create_reentrant_group("reentrant");
    let handle = main.handle();
    let pause = move || handle.sleep(ClockKind::Steady, Duration::from_millis(1));
    let and_again = pause.clone();
    let options = |name| ServiceOptions::new(name).keep_last(20);
    let node = &world.here;
    let _servers = [
        node.on(&exclusive).create_service(options("one"), move |served: Payload<u32>, summands: Summands| {
            served.with(|served| *served += 1);
            let pause = pause();
            async move {
                assert!(pause.await.is_ok());
                summands.add()
            }
        }),
        node.on(&reentrant).create_service(options("two"), Summands::add),
        node.on(&reentrant).create_service(options("three"), move |summands: Summands| {
            let pause = and_again();
            async move {
                assert!(pause.await.is_ok());
                summands.add()
            }
        }),
    ]
    .map(Result::unwrap);
    let clients = ["one", "two", "three"].map(|service| world.there.create_client::<AddTwoInts>(service).unwrap());
    for client in &clients {
        world.wait("the server is there", client.wait_for_service());
    }
    world.spinning(&[&main], || {
        let calls: Vec<_> = (0..8).flat_map(|n| clients.each_ref().map(|client| (n, client.call(add(n, n))))).collect();
        for (n, call) in calls {
            assert_eq!(world.wait("the answer comes", call), Ok(Sum { sum: 2 * n }));
        }
    });
    assert_eq!(exclusive.into_payload().unwrap(), 8);
    assert_eq!(world.panics(), 0);
}

/// A server whose callback panics answers the next request. The failed call gets no response; whether it ends depends
/// on the middleware.
pub fn a_panic_of_a_server_costs_one_call<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let group = main.create_group("server", ());
    let server = world.here.on(&group).create_service(SERVICE, |summands: Summands| {
        assert_ne!(summands.a, -1, "on purpose");
        summands.add()
    });
    let _server = server.unwrap();
    let client = client(&world.there);
    world.wait("the server is there", client.wait_for_service());
    world.spinning(&[&main], || {
        let lost = client.call(add(-1, 0));
        let next = client.call(add(1, 2));
        assert_eq!(world.wait("the next one is answered", next), Ok(Sum { sum: 3 }));
        // A later request was answered, so this one would have been answered before.
        let mut lost = std::pin::pin!(lost);
        let polled = lost.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop()));
        let is_unanswered = match &polled {
            std::task::Poll::Pending => true,
            std::task::Poll::Ready(outcome) => matches!(outcome, Err(CallError::Unanswered { .. })),
        };
        assert!(is_unanswered, "{polled:?}");
    });
    assert_eq!(world.panics(), 1);
    let incident = &world.incidents.all()[0];
    assert!(matches!(&incident.kind, IncidentKind::Panicked(why) if why.contains("on purpose")), "{incident}");
    assert_eq!(incident.entity, format!("server/{SERVICE}"));
}

/// A server is dropped with an unanswered request. The call gets no response, the client notices that the server is
/// gone, and a new server answers.
pub fn a_server_is_dropped_with_a_call_under_way<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let idle = world.executor("idle");
    let server = serve(&world.here, &idle);
    let client = client(&world.there);
    world.wait("the server is there", client.wait_for_service());
    let group = main.create_group("other", ());
    let other = world.here.on(&group).create_service("other", |summands: Summands| summands.add());
    let _other = other.unwrap();
    let asks = world.there.create_client::<AddTwoInts>("other").unwrap();
    world.wait("the other server is there", asks.wait_for_service());
    let call = client.call(add(1, 2));
    // A later request has arrived, so this one has, too.
    let later = world.spinning(&[&main], || world.wait("a later call is answered", asks.call(add(5, 6))));
    assert_eq!(later, Ok(Sum { sum: 11 }));
    drop(server);
    drop(idle);
    world.spinning(&[&main], || world.until("the server is gone", || !client.service_is_ready()));
    let mut call = std::pin::pin!(call);
    let polled = call.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop()));
    assert!(!matches!(polled, std::task::Poll::Ready(Ok(_))), "{polled:?}");
    let group = main.create_group("server", ());
    let served = Seen::new();
    let log = served.clone();
    let successor = world.here.on(&group).create_service(SERVICE, move |summands: Summands| {
        log.push(summands);
        summands.add()
    });
    let _successor = successor.unwrap();
    world.wait("its successor is there", client.wait_for_service());
    world.spinning(&[&main], || {
        assert_eq!(world.wait("it answers", client.call(add(3, 4))), Ok(Sum { sum: 7 }));
    });
    assert_eq!(served.all(), [add(3, 4)], "requests to its predecessor are not its business");
}

/// A client is dropped during a call. The call ends in some way, and the server answers others.
pub fn a_client_is_dropped_with_a_call_under_way<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let _server = serve(&world.here, &main);
    let dropped = client(&world.there);
    let other = client(&world.there);
    for client in [&dropped, &other] {
        world.wait("the server is there", client.wait_for_service());
    }
    let call = dropped.call(add(1, 2));
    drop(dropped);
    world.spinning(&[&main], || {
        let outcome = world.wait("the call ends", call);
        let ended = matches!(&outcome, Ok(Sum { sum: 3 }) | Err(CallError::ClientGone { .. }));
        assert!(ended, "{outcome:?}");
        assert_eq!(world.wait("others are answered", other.call(add(3, 4))), Ok(Sum { sum: 7 }));
    });
    assert_eq!(world.panics(), 0);
}

/// A call that is dropped does not affect other calls.
pub fn a_call_is_given_up<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let _server = serve(&world.here, &main);
    let client = client(&world.there);
    world.wait("the server is there", client.wait_for_service());
    world.spinning(&[&main], || {
        for n in 0..10 {
            drop(client.call(add(n, 0)));
            assert_eq!(world.wait("the answer comes", client.call(add(n, 1))), Ok(Sum { sum: n + 1 }));
        }
    });
    assert_eq!((client.undecodable(), world.panics()), (0, 0));
}

/// An executor that is halted during calls answers them when it spins again.
pub fn calls_wait_for_an_executor_that_was_halted<F: Fixture>() {
    let world = World::<F>::new();
    let main = world.executor("main");
    let serving = world.executor("serving");
    let _server = serve(&world.here, &serving);
    let client = client(&world.there);
    world.wait("the server is there", client.wait_for_service());
    let group = serving.create_group("count", ());
    let served = Seen::new();
    let log = served.clone();
    let counts = world.here.on(&group).create_subscription("count", move |number: Number| log.push(number.data));
    let publisher = world.there.create_publisher("count").unwrap();
    world.matched(&publisher, &[&counts.unwrap()]);
    world.spinning(&[&main], || {
        for n in 0..5 {
            let call = client.call(add(n, n));
            world.publish(&publisher, number(n));
            let response = world.spinning(&[&serving], || world.wait("the answer comes", call));
            assert_eq!(response, Ok(Sum { sum: 2 * n }));
        }
    });
}
