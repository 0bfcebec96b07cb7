//! Services between nodes: answers, awaiting inside callbacks, several clients, and who ends early.

use std::pin::pin;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rospin_dds::{CallError, Client, Node, Service};
use rospin_engine::{ExecutorOptions, LossCause, Payload, SpinOptions};

use crate::common::{
    self, AddRequest, AddResponse, AddTwoInts, Text, context, domain_id, executor, join, process_of, spin, text, wait,
};

fn add(request: &AddRequest) -> AddResponse {
    AddResponse { sum: request.a.wrapping_add(request.b) }
}

fn serve(executor: &rospin_engine::Executor, node: &Node) -> Service {
    let group = executor.create_group("server", ());
    node.on(&group).create_service::<AddTwoInts, _>("add_two_ints", |request| add(&request)).unwrap()
}

#[test]
fn a_service_answers() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let domain = join(domain_id());
    let node = domain.ros(&context).create_node("adder").unwrap();
    let server = serve(&executor, &node);
    let client = domain.ros(&context).create_node("caller").unwrap().create_client::<AddTwoInts>("add_two_ints");
    let client = client.unwrap();
    let early = wait(&executor, "a call fails", client.call(AddRequest { a: 0, b: 0 }));
    assert!(matches!(early, Err(CallError::Unavailable { .. })) || client.service_is_ready());
    wait(&executor, "the server is matched", client.wait_for_service());
    for n in 0..20 {
        let response = wait(&executor, "the response comes", client.call(AddRequest { a: n, b: 40 })).unwrap();
        assert_eq!(response.sum, n + 40);
    }
    assert_eq!(server.unsent_responses() + server.lost(LossCause::TakeFailed) + client.undecodable(), 0);
}

/// On one thread, a callback that holds its group awaits calls whose responses need that thread.
#[test]
fn calls_are_awaited_inside_callbacks() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let domain = join(domain_id());
    let node = domain.ros(&context).create_node("adder").unwrap();
    let _server = serve(&executor, &node);
    let client = node.create_client::<AddTwoInts>("add_two_ints").unwrap();
    let trigger = node.create_publisher::<Text>("trigger").unwrap();
    let group = executor.create_group("caller", Vec::new());
    let handle = executor.handle();
    let caller = client.clone();
    let subscription = node
        .on(&group)
        .create_subscription("trigger", move |sums: Payload<Vec<i64>>, _: Text| {
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
        })
        .unwrap();
    wait(&executor, "the server is matched", client.wait_for_service());
    wait(&executor, "the trigger is matched", trigger.wait_for_subscription());
    wait(&executor, "the subscription is matched", subscription.wait_for_publisher());
    trigger.publish(text("go")).unwrap();
    spin(&executor, "the callback has its sums");
    assert_eq!(group.into_payload().unwrap(), [3, 7]);
}

/// DDS brings every response to every client.
#[test]
fn clients_get_their_own_responses_only() {
    let (context, incidents) = context();
    let executor = context.create_executor(ExecutorOptions::new("main").threads(2));
    let domain = join(domain_id());
    let node = domain.ros(&context).create_node("adder").unwrap();
    let _server = serve(&executor, &node);
    let clients: Vec<Client<AddTwoInts>> = (0..4).map(|_| node.create_client("add_two_ints").unwrap()).collect();
    for client in &clients {
        wait(&executor, "the server is matched", client.wait_for_service());
    }
    for round in 0..10 {
        let calls: Vec<_> = (0..).zip(&clients).map(|(n, client)| client.call(AddRequest { a: n, b: round })).collect();
        for (n, call) in (0..).zip(calls) {
            assert_eq!(wait(&executor, "the response comes", call).unwrap().sum, n + round);
        }
    }
    assert_eq!(common::take_failures(&incidents), 0);
}

#[test]
fn asynchronous_and_reentrant_servers_answer() {
    let (context, _) = context();
    let executor = context.create_executor(ExecutorOptions::new("main").threads(2));
    let node = join(domain_id()).ros(&context).create_node("adder").unwrap();
    let exclusive = executor.create_group("exclusive", 0);
    let reentrant = executor.create_reentrant_group("reentrant");
    let handle = executor.handle();
    let pause = move || handle.sleep(rospin_engine::ClockKind::Steady, Duration::from_millis(1));
    let _servers = [
        node.on(&exclusive).create_service::<AddTwoInts, _>("one", {
            let pause = pause.clone();
            move |served: Payload<i32>, request: AddRequest| {
                served.with(|served| *served += 1);
                let pause = pause();
                async move {
                    assert!(pause.await.is_ok());
                    add(&request)
                }
            }
        }),
        node.on(&reentrant).create_service::<AddTwoInts, _>("two", |request| add(&request)),
        node.on(&reentrant).create_service::<AddTwoInts, _>("three", move |request| {
            let pause = pause();
            async move {
                assert!(pause.await.is_ok());
                add(&request)
            }
        }),
    ]
    .map(Result::unwrap);
    for service in ["one", "two", "three"] {
        let client = node.create_client::<AddTwoInts>(service).unwrap();
        wait(&executor, "the server is matched", client.wait_for_service());
        let calls: Vec<_> = (0..8).map(|n| client.call(AddRequest { a: n, b: n })).collect();
        for (n, call) in (0..).zip(calls) {
            assert_eq!(wait(&executor, "the response comes", call).unwrap().sum, 2 * n, "{service}");
        }
    }
    assert_eq!(exclusive.into_payload().unwrap(), 8);
}

#[test]
fn a_call_ends_with_its_client_and_a_dropped_call_is_forgotten() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let node = join(domain_id()).ros(&context).create_node("adder").unwrap();
    let served = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&served);
    let group = executor.create_group("server", ());
    let _server = node
        .on(&group)
        .create_service::<AddTwoInts, _>("add_two_ints", move |request: AddRequest| {
            count.fetch_add(1, Ordering::Relaxed);
            assert!(request.a >= 0, "on purpose: this one is never answered");
            add(&request)
        })
        .unwrap();
    let client = node.create_client::<AddTwoInts>("add_two_ints").unwrap();
    wait(&executor, "the server is matched", client.wait_for_service());
    drop(client.call(AddRequest { a: 1, b: 1 }));
    let mut unanswered = pin!(client.call(AddRequest { a: -1, b: 0 }));
    let answered = wait(&executor, "the next one is answered", client.call(AddRequest { a: 2, b: 2 }));
    assert_eq!((answered.unwrap().sum, served.load(Ordering::Relaxed)), (4, 3));
    let timeout = SpinOptions::new().timeout(Duration::from_millis(1));
    assert!(executor.spin_until(unanswered.as_mut(), timeout).is_err());
    drop(client);
    let ended = wait(&executor, "the call ends", unanswered);
    assert_eq!(ended, Err(CallError::ClientGone { service: "/add_two_ints".to_owned() }));
}

/// The domain that the other process of [`another_process_answers`] is to join.
const PEER_DOMAIN: &str = "ROSPIN_TEST_PEER_DOMAIN";

#[test]
fn another_process_answers() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let id = domain_id();
    let node = join(id).ros(&context).create_node("caller").unwrap();
    let client = node.create_client::<AddTwoInts>("add_two_ints").unwrap();
    let done = node.create_publisher::<Text>("done").unwrap();
    let mut peer = process_of(module_path!(), "the_other_process")
        .env(PEER_DOMAIN, id.to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait(&executor, "the server is matched", client.wait_for_service());
    let sums = Mutex::new(Vec::new());
    for n in 0..10 {
        let response = wait(&executor, "the response comes", client.call(AddRequest { a: n, b: 1 })).unwrap();
        sums.lock().unwrap().push(response.sum);
    }
    wait(&executor, "the end can be told", done.wait_for_subscription());
    done.publish(text("")).unwrap();
    assert!(peer.wait().unwrap().success());
    assert_eq!(sums.into_inner().unwrap(), (1..11).collect::<Vec<i64>>());
}

/// The part of the other process in [`another_process_answers`]; without it, nothing.
#[test]
fn the_other_process() {
    let Ok(id) = std::env::var(PEER_DOMAIN) else { return };
    let (context, _) = context();
    let executor = executor(&context, "main");
    let node = join(id.parse().unwrap()).ros(&context).create_node("adder").unwrap();
    let _server = serve(&executor, &node);
    let group = executor.create_group("end", ());
    let handle = executor.handle();
    let _subscription = node.on(&group).create_subscription("done", move |_: Text| handle.halt()).unwrap();
    spin(&executor, "the end is told");
}
