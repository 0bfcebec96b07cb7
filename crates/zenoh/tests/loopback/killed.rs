//! Servers and clients that are killed while calls and goals are under way, again and again.

use std::pin::pin;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rospin_engine::{ClockKind, ExecutorOptions, Payload, SpinOptions};
use rospin_msgs::example_interfaces::action::{Fibonacci, FibonacciFeedback, FibonacciGoal};
use rospin_testkit::peers::KilledChild;
use rospin_zenoh::{CallError, CancelResponse, GoalHandle, GoalResponse, Mode, ResultError, Session};
use rustix::process::{Pid, Signal, kill_process};

use crate::common::{
    self, AddRequest, AddResponse, AddTwoInts, Place, context, executor, guest_options, process_of, spin, wait,
    wait_until,
};

/// The variable with the endpoint of this process, for the other one.
const ENDPOINT: &str = "ROSPIN_TEST_PEER_ENDPOINT";

/// Returns how often a process is killed: `ROSPIN_TEST_KILLS`, or a few times.
fn kills() -> u32 {
    std::env::var("ROSPIN_TEST_KILLS").map_or(4, |kills| kills.parse().expect("a number"))
}

/// Starts a process of this program with that role.
fn start(role: &str, place: &Place) -> KilledChild {
    let mut command = process_of(module_path!(), role);
    command.env(ENDPOINT, &place.endpoint);
    KilledChild(command.stdout(Stdio::null()).spawn().unwrap())
}

fn endpoint() -> Option<String> {
    std::env::var(ENDPOINT).ok()
}

/// Requests are sent before, while and after the server dies; Zenoh forgets some of those that it routes just then.
#[test]
fn calls_end_whenever_their_server_is_killed() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let place = Place::new();
    let node = place.host().ros(&context).create_node("caller").unwrap();
    let client = node.create_client::<AddTwoInts>("add_two_ints").unwrap();
    for _ in 0..kills() {
        let peer = start("the_servers_process", &place);
        wait(&executor, "the server is matched", client.wait_for_service());
        wait(&executor, "the server answers", client.call(AddRequest { a: 1, b: 2 })).unwrap();
        let is_dead = AtomicBool::new(false);
        let calls = std::thread::scope(|scope| {
            let calls = scope.spawn(|| {
                let mut calls = Vec::new();
                let mut rest = 100;
                while rest > 0 {
                    calls.push(client.call(AddRequest { a: 3, b: 4 }));
                    rest -= u32::from(is_dead.load(Ordering::Relaxed));
                    std::thread::yield_now();
                }
                calls
            });
            drop(peer);
            is_dead.store(true, Ordering::Relaxed);
            calls.join().unwrap()
        });
        let count = calls.len();
        for (n, call) in calls.into_iter().enumerate() {
            match wait(&executor, &format!("call {n} of {count} ends"), call) {
                Ok(response) => assert_eq!(response.sum, 7),
                Err(CallError::Unanswered { .. } | CallError::Unavailable { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        wait_until(&executor, "it is gone", || !client.service_is_ready());
    }
}

/// A server that hangs is matched until its lease ends, when another one is matched, too, that never heard of the call.
#[test]
fn a_call_ends_with_its_server_although_another_one_was_started() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let place = Place::new();
    let node = place.host().ros(&context).create_node("caller").unwrap();
    let client = node.create_client::<AddTwoInts>("add_two_ints").unwrap();
    let first = start("the_servers_process", &place);
    wait(&executor, "the server is matched", client.wait_for_service());
    // Its process and session are there before the first one hangs: on a busy machine, they may take longer than a lease.
    let mut second = process_of(module_path!(), "the_late_servers_process");
    second.env(ENDPOINT, &place.endpoint).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut second = KilledChild(second.spawn().unwrap());
    let its_name = "late_adder";
    wait_until(&executor, "the second node is known", || node.node_names().iter().any(|name| name.contains(its_name)));
    kill_process(Pid::from_child(&first), Signal::STOP).unwrap();
    let mut lost = pin!(client.call(AddRequest { a: 1, b: 2 }));
    drop(second.0.stdin.take());
    wait_until(&executor, "both are matched", || node.count_servers("add_two_ints").unwrap() == 2);
    let answered = wait(&executor, "the second server answers", client.call(AddRequest { a: 3, b: 4 }));
    assert_eq!(answered.unwrap().sum, 7);
    let is_pending = SpinOptions::new().timeout(Duration::from_millis(100));
    assert!(executor.spin_until(lost.as_mut(), is_pending).is_err());
    let ended = wait(&executor, "the call ends with the lease of its server", lost);
    assert!(matches!(ended, Err(CallError::Unanswered { .. })), "{ended:?}");
    assert!(client.service_is_ready());
}

#[test]
fn feedback_and_result_end_when_their_server_is_killed() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let place = Place::new();
    let node = place.host().ros(&context).create_node("caller").unwrap();
    let client = node.on(&executor.create_group("client", ())).create_action_client::<Fibonacci>("fibonacci").unwrap();
    for n in 0..kills() {
        let peer = start("the_action_servers_process", &place);
        wait(&executor, "the server is matched", client.wait_for_server());
        let goal = wait(&executor, "it is accepted", client.send_goal(FibonacciGoal { order: 3 })).unwrap();
        let mut feedback = goal.take_feedback().unwrap();
        assert!(wait(&executor, "there is feedback", feedback.next()).is_some());
        let asked_before = if n % 2 == 0 { Some(goal.result()) } else { None };
        drop(peer);
        wait(&executor, "the feedback ends", async { while feedback.next().await.is_some() {} });
        let result = asked_before.map(|result| wait(&executor, "the result ends", result));
        assert!(
            matches!(result, None | Some(Err(ResultError::ServerGone { .. } | ResultError::Call(_)))),
            "{result:?}"
        );
        let result = wait(&executor, "asking again ends", goal.result());
        assert!(matches!(result, Err(ResultError::ServerGone { .. })), "{result:?}");
        wait_until(&executor, "it is gone", || !client.server_is_ready());
    }
}

/// Clients that die take nothing along, and leave nothing behind.
#[test]
fn a_server_outlives_its_clients() {
    let (context, incidents) = context();
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let place = Place::new();
    let node = place.host().ros(&context).create_node("adder").unwrap();
    let group = executor.create_reentrant_group("server");
    let handle = executor.handle();
    let _server = node.on(&group).create_service::<AddTwoInts, _>("add_two_ints", move |request: AddRequest| {
        // The client has died before some of the responses are sent.
        let pause = handle.sleep(ClockKind::Steady, std::time::Duration::from_millis(5));
        async move {
            let _ = pause.await;
            AddResponse { sum: request.a + request.b }
        }
    });
    let started = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let count = std::sync::Arc::clone(&started);
    let actions = executor.create_group("actions", ());
    let _actions = node.on(&actions).create_action_server(
        "fibonacci",
        |(), _, _| GoalResponse::AcceptAndExecute,
        |(), _, _| CancelResponse::Accept,
        move |_: Payload<()>, goal: GoalHandle<Fibonacci>| {
            count.fetch_add(1, Ordering::Relaxed);
            async move {
                let _ = goal.publish_feedback(FibonacciFeedback { sequence: vec![0, 1] });
                goal.abort(Default::default());
            }
        },
    );
    for _ in 0..kills() {
        let before = started.load(Ordering::Relaxed);
        let client = start("the_clients_process", &place);
        wait_until(&executor, "goals are under way", || started.load(Ordering::Relaxed) >= before + 3);
        drop(client);
        wait_until(&executor, "it is gone", || node.count_clients("add_two_ints").unwrap() == 0);
    }
    let again = node.create_client::<AddTwoInts>("add_two_ints").unwrap();
    wait(&executor, "the server is matched", again.wait_for_service());
    assert_eq!(wait(&executor, "it still answers", again.call(AddRequest { a: 1, b: 2 })).unwrap().sum, 3);
    assert_eq!(common::take_failures(&incidents), 0);
}

/// Two sessions that meet only through a router, which is killed with calls under way.
#[test]
fn calls_end_and_are_answered_again_as_routers_go_and_come() {
    let (context, _) = context();
    let executor = context.create_executor(ExecutorOptions::new("main").threads(2));
    let place = Place::new();
    let mut router = start("the_routers_process", &place);
    let client_session = || {
        let options = guest_options(&place.endpoint).mode(Mode::Client);
        let patient = options.setting("connect/timeout_ms", "{ client: 20000 }");
        Session::open(patient).unwrap()
    };
    let serving = client_session();
    let calling = client_session();
    let adder = serving.ros(&context).create_node("adder").unwrap();
    let group = executor.create_group("server", ());
    let add = |request: AddRequest| AddResponse { sum: request.a + request.b };
    let _server = adder.on(&group).create_service::<AddTwoInts, _>("add_two_ints", add);
    let caller = calling.ros(&context).create_node("caller").unwrap();
    let client = caller.create_client::<AddTwoInts>("add_two_ints").unwrap();
    for _ in 0..kills() {
        wait(&executor, "the server is matched", client.wait_for_service());
        wait(&executor, "the server answers", client.call(AddRequest { a: 1, b: 2 })).unwrap();
        let calls: Vec<_> = (0..20).map(|a| client.call(AddRequest { a, b: 0 })).collect();
        drop(router);
        let calls = calls.into_iter().chain((0..20).map(|a| client.call(AddRequest { a, b: 0 })));
        for (n, call) in calls.collect::<Vec<_>>().into_iter().enumerate() {
            match wait(&executor, &format!("call {n} ends"), call) {
                Ok(_) | Err(CallError::Unanswered { .. } | CallError::Unavailable { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        wait_until(&executor, "the server is out of reach", || !client.service_is_ready());
        router = start("the_routers_process", &place);
    }
    wait(&executor, "the server is matched again", client.wait_for_service());
    assert_eq!(wait(&executor, "it answers", client.call(AddRequest { a: 1, b: 2 })).unwrap().sum, 3);
}

/// The router; without an endpoint, nothing.
#[test]
fn the_routers_process() {
    let Some(endpoint) = endpoint() else { return };
    let options = common::isolated().setting("mode", "\"router\"").listen([endpoint.as_str()]);
    let _router = Session::open(options).unwrap();
    loop {
        std::thread::park();
    }
}

/// The server's part; without an endpoint, nothing.
#[test]
fn the_servers_process() {
    serve("adder", || {});
}

/// The part of a server that is created when the standard input ends; without an endpoint, nothing.
#[test]
fn the_late_servers_process() {
    serve("late_adder", || {
        std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).unwrap();
    });
}

/// Serves until it is killed, from when `wait_first` returns.
fn serve(name: &str, wait_first: impl FnOnce()) {
    let Some(endpoint) = endpoint() else { return };
    let (context, _) = context();
    let executor = executor(&context, "main");
    // Shorter than usual, for the test in which it hangs.
    let options = guest_options(&endpoint).setting("transport/link/tx/lease", "10000");
    let node = Session::open(options).unwrap().ros(&context).create_node(name).unwrap();
    wait_first();
    let group = executor.create_group("server", ());
    let _server = node.on(&group).create_service::<AddTwoInts, _>("add_two_ints", |request: AddRequest| AddResponse {
        sum: request.a + request.b,
    });
    spin(&executor, "it is killed");
}

/// The action server's part; without an endpoint, nothing. Its goals never end.
#[test]
fn the_action_servers_process() {
    let Some(endpoint) = endpoint() else { return };
    let (context, _) = context();
    let executor = executor(&context, "main");
    let node = Session::open(guest_options(&endpoint)).unwrap().ros(&context).create_node("fibonacci").unwrap();
    let group = executor.create_group("server", ());
    let handle = executor.handle();
    let _server = node.on(&group).create_action_server(
        "fibonacci",
        |(), _, _| GoalResponse::AcceptAndExecute,
        |(), _, _| CancelResponse::Accept,
        move |_: Payload<()>, goal: GoalHandle<Fibonacci>| {
            let handle = handle.clone();
            async move {
                loop {
                    let _ = goal.publish_feedback(FibonacciFeedback { sequence: vec![0, 1] });
                    let _ = handle.sleep(ClockKind::Steady, std::time::Duration::from_millis(10)).await;
                }
            }
        },
    );
    spin(&executor, "it is killed");
}

/// The client's part; without an endpoint, nothing.
#[test]
fn the_clients_process() {
    let Some(endpoint) = endpoint() else { return };
    let (context, _) = context();
    let executor = executor(&context, "main");
    let node = Session::open(guest_options(&endpoint)).unwrap().ros(&context).create_node("caller").unwrap();
    let client = node.create_client::<AddTwoInts>("add_two_ints").unwrap();
    let actions = node.on(&executor.create_group("client", ())).create_action_client::<Fibonacci>("fibonacci").unwrap();
    let asking = async {
        client.wait_for_service().await;
        actions.wait_for_server().await;
        loop {
            let calls = [(); 10].map(|()| client.call(AddRequest { a: 1, b: 2 }));
            let goal = actions.send_goal(FibonacciGoal { order: 1 }).await;
            let _ = futures::future::join_all(calls).await;
            drop(goal);
        }
    };
    let _: Result<(), _> = executor.spin_until(asking, SpinOptions::new().timeout(common::PATIENCE));
}
