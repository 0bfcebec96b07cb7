//! Services between two sessions, and within one: answers, calls in flight, and calls that nobody answers.

use std::time::Duration;

use rospin_engine::{ClockKind, Executor, ExecutorOptions, LossCause, Payload, SpinOptions};
use rospin_zenoh::{CallError, Client, Node, Service, ServiceInterface, ServiceOptions, ServicePart, Session};

use crate::common::{
    self, AddRequest, AddResponse, AddTwoInts, Place, Text, context, executor, guest_options, isolated, spin, text,
    wait, wait_until,
};

fn add(request: &AddRequest) -> AddResponse {
    AddResponse { sum: request.a.wrapping_add(request.b) }
}

fn serve(executor: &Executor, node: &Node) -> Service {
    let group = executor.create_group("server", ());
    node.on(&group).create_service::<AddTwoInts, _>("add_two_ints", |request| add(&request)).unwrap()
}

fn client(node: &Node) -> Client<AddTwoInts> {
    node.create_client("add_two_ints").unwrap()
}

#[test]
fn a_service_answers_across_sessions_and_within_one() {
    let (host, guest) = Place::new().both();
    let alone = Session::open(isolated()).unwrap();
    for (served, called) in [(&host, &guest), (&guest, &host), (&alone, &alone)] {
        let (context, _) = context();
        let executor = executor(&context, "main");
        let adder = served.ros(&context).create_node("adder").unwrap();
        let caller = called.ros(&context).create_node("caller").unwrap();
        let client = client(&caller);
        let early = wait(&executor, "a call fails", client.call(AddRequest { a: 0, b: 0 }));
        assert_eq!(early, Err(CallError::Unavailable { service: "/add_two_ints".to_owned() }));
        let server = serve(&executor, &adder);
        wait(&executor, "the server is matched", client.wait_for_service());
        for n in 0..20 {
            let response = wait(&executor, "the response comes", client.call(AddRequest { a: n, b: 40 })).unwrap();
            assert_eq!(response.sum, n + 40);
        }
        assert_eq!(server.unsent_responses() + server.lost(LossCause::TakeFailed) + client.undecodable(), 0);
        drop(server);
        wait_until(&executor, "the server is gone", || !client.service_is_ready());
    }
}

/// On one thread, a callback that holds its group awaits calls whose responses need that thread.
#[test]
fn calls_are_awaited_inside_callbacks() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let node = Session::open(isolated()).unwrap().ros(&context).create_node("adder").unwrap();
    let _server = serve(&executor, &node);
    let client = client(&node);
    let trigger = node.create_publisher::<Text>("trigger").unwrap();
    let group = executor.create_group("caller", Vec::new());
    let handle = executor.handle();
    let caller = client.clone();
    let subscription = node.on(&group).create_subscription("trigger", move |sums: Payload<Vec<i64>>, _: Text| {
        let caller = caller.clone();
        let handle = handle.clone();
        async move {
            let both = [caller.call(AddRequest { a: 1, b: 2 }), caller.call(AddRequest { a: 3, b: 4 })];
            let [first, second] = both;
            // The responses arrive out of order, and both find their calls.
            let second = second.await.unwrap().sum;
            let first = first.await.unwrap().sum;
            sums.with(|sums| sums.extend([first, second]));
            handle.halt();
        }
    });
    let subscription = subscription.unwrap();
    wait(&executor, "the server is matched", client.wait_for_service());
    wait(&executor, "the trigger is matched", trigger.wait_for_subscription());
    wait(&executor, "the subscription is matched", subscription.wait_for_publisher());
    trigger.publish(text("go")).unwrap();
    spin(&executor, "the callback has its sums");
    assert_eq!(group.into_payload().unwrap(), [3, 7]);
}

#[test]
fn many_calls_of_many_clients_are_in_flight() {
    let (context, incidents) = context();
    let executor = context.create_executor(ExecutorOptions::new("main").threads(2));
    let (host, guest) = Place::new().both();
    let adder = host.ros(&context).create_node("adder").unwrap();
    let group = executor.create_reentrant_group("server");
    let handle = executor.handle();
    let options = ServiceOptions::new("add_two_ints").keep_last(1000).max_in_flight(8);
    let server = adder.on(&group).create_service::<AddTwoInts, _>(options, move |request: AddRequest| {
        // Later requests are answered first.
        let pause = handle.sleep(ClockKind::Steady, Duration::from_millis(5 - request.b.cast_unsigned() % 5));
        async move {
            assert!(pause.await.is_ok());
            add(&request)
        }
    });
    let server = server.unwrap();
    let callers: Vec<_> =
        (0..4).map(|n| guest.ros(&context).create_node(format!("caller_{n}").as_str()).unwrap()).collect();
    let clients: Vec<_> = callers.iter().map(client).collect();
    for client in &clients {
        wait(&executor, "the server is matched", client.wait_for_service());
    }
    let request = |n, client| AddRequest { a: client * 1000, b: n };
    let calls: Vec<_> = (0..50)
        .flat_map(|n| (0..).zip(&clients).map(move |(i, client)| (i * 1000 + n, client.call(request(n, i)))))
        .collect();
    for (expected, call) in calls {
        assert_eq!(wait(&executor, "the response comes", call).unwrap().sum, expected);
    }
    assert_eq!((server.lost(LossCause::QueueFull), common::take_failures(&incidents)), (0, 0));
}

#[test]
fn a_caller_without_an_answer_is_told() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let (host, guest) = Place::new().both();
    let adder = host.ros(&context).create_node("adder").unwrap();
    let caller = guest.ros(&context).create_node("caller").unwrap();
    let serving = context.create_executor(ExecutorOptions::new("serving"));
    let group = serving.create_group("server", 0_u32);
    let options = ServiceOptions::new("add_two_ints").keep_last(2);
    let server = adder.on(&group).create_service::<AddTwoInts, _>(options, |served: &mut u32, request: AddRequest| {
        *served += 1;
        assert!(request.a >= 0, "no negative numbers");
        add(&request)
    });
    let server = server.unwrap();
    let client = client(&caller);
    wait(&executor, "the server is matched", client.wait_for_service());

    let unanswered = |outcome: Result<AddResponse, CallError>| match outcome {
        Err(CallError::Unanswered { service, reason }) => {
            assert_eq!(service, "/add_two_ints");
            reason
        }
        other => panic!("{other:?}"),
    };
    // The server's executor does not spin, so the oldest of three requests makes room.
    let calls = [1, 2, 3].map(|a| client.call(AddRequest { a, b: 0 }));
    let [displaced, second, third] = calls;
    assert!(unanswered(wait(&executor, "the first one is displaced", displaced)).contains("displaced"));
    assert_eq!(server.lost(LossCause::QueueFull), 1);
    serving.spin(SpinOptions::spin_all()).unwrap();
    assert_eq!(wait(&executor, "the second one is answered", second).unwrap().sum, 2);
    assert_eq!(wait(&executor, "the third one is answered", third).unwrap().sum, 3);

    let panicked = client.call(AddRequest { a: -1, b: 0 });
    let halt = serving.handle();
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| serving.spin(SpinOptions::new().timeout(common::PATIENCE)).unwrap());
        let outcome = wait(&executor, "the callback has panicked", panicked);
        halt.halt();
        outcome
    });
    unanswered(outcome);

    let forgotten = client.call(AddRequest { a: 4, b: 0 });
    drop(server);
    unanswered(wait(&executor, "the server is gone", forgotten));
}

/// The request is on its way while its server goes.
#[test]
fn nobody_waits_for_a_server_that_ends_meanwhile() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let idle = context.create_executor(ExecutorOptions::new("idle"));
    let (host, guest) = Place::new().both();
    let adder = host.ros(&context).create_node("adder").unwrap();
    let caller = guest.ros(&context).create_node("caller").unwrap();
    for n in 0..100 {
        let name = format!("add_{n}");
        let group = idle.create_group("server", ());
        let server = adder.on(&group).create_service::<AddTwoInts, _>(name.as_str(), |request| add(&request));
        let server = server.unwrap();
        let client = caller.create_client::<AddTwoInts>(name.as_str()).unwrap();
        wait(&executor, "the server is matched", client.wait_for_service());
        let call = client.call(AddRequest { a: 1, b: 2 });
        for _ in 0..n * 20 {
            std::hint::spin_loop();
        }
        drop(server);
        let outcome = wait(&executor, "the call ends", call);
        assert!(matches!(outcome, Err(CallError::Unanswered { .. })), "{outcome:?}");
    }
}

#[test]
fn a_call_ends_with_its_timeout() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let place = Place::new();
    let host = place.host();
    let guest = Session::open(guest_options(&place.endpoint).call_timeout(Duration::from_millis(100))).unwrap();
    let adder = host.ros(&context).create_node("adder").unwrap();
    let caller = guest.ros(&context).create_node("caller").unwrap();
    // The executor of this server never spins.
    let idle = context.create_executor(ExecutorOptions::new("idle"));
    let _server = serve(&idle, &adder);
    let client = client(&caller);
    wait(&executor, "the server is matched", client.wait_for_service());
    let outcome = wait(&executor, "the call ends", client.call(AddRequest { a: 1, b: 2 }));
    let Err(CallError::Unanswered { reason, .. }) = outcome else { panic!("{outcome:?}") };
    assert_eq!(reason, "Timeout");
}

/// A request and a response that are longer than a packet.
#[test]
fn long_requests_and_responses_arrive() {
    enum Reverse {}
    impl ServiceInterface for Reverse {
        type Request = Text;
        type Response = Text;
        const TYPE: &str = "test_interfaces/srv/Reverse";
    }

    impl ServicePart<Reverse> for Text {}
    let (context, _) = context();
    let executor = executor(&context, "main");
    let (host, guest) = Place::new().both();
    let server_node = host.ros(&context).create_node("server").unwrap();
    let caller = guest.ros(&context).create_node("caller").unwrap();
    let group = executor.create_group("server", ());
    let _server = server_node
        .on(&group)
        .create_service::<Reverse, _>("reverse", |request: Text| text(request.data.chars().rev().collect::<String>()))
        .unwrap();
    let client = caller.create_client::<Reverse>("reverse").unwrap();
    wait(&executor, "the server is matched", client.wait_for_service());
    let long = "abc".repeat(1_000_000);
    let response = wait(&executor, "the response comes", client.call(text(long.as_str()))).unwrap();
    assert_eq!(response.data, "cba".repeat(1_000_000));
}
