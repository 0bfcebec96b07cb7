//! Asynchronous callbacks of a node's own group await what other callbacks of the group do.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use futures::channel::oneshot;
use rospin::msgs::example_interfaces::action::{Fibonacci, FibonacciFeedback, FibonacciGoal, FibonacciResult};
use rospin::msgs::example_interfaces::srv::{AddTwoInts, AddTwoIntsRequest, AddTwoIntsResponse};
use rospin::msgs::std_msgs::msg::UInt32;
use rospin::prelude::*;
use rospin::testing::Harness;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

fn add(AddTwoIntsRequest { a, b }: AddTwoIntsRequest) -> AddTwoIntsResponse {
    AddTwoIntsResponse { sum: a + b }
}

/// Runs `work` in the callback of a one-shot timer of the node, and returns its output.
fn in_a_callback<F, Fut>(test: &mut Harness, node: &Node, work: F) -> Fut::Output
where
    F: FnOnce() -> Fut + Send + 'static,
    Fut: Future<Output: Send + 'static> + Send + 'static,
{
    let (sender, output) = oneshot::channel();
    let mut work = Some((work, sender));
    let _timer = node
        .create_timer(TimerOptions::one_shot(Duration::ZERO), move |_: Tick| {
            let (work, sender) = work.take().expect("the timer fires once");
            let work = work();
            async move { drop(sender.send(work.await)) }
        })
        .unwrap();
    test.wait(output, 10 * SECOND).unwrap().unwrap()
}

#[test]
fn two_callbacks_of_a_node_overlap_at_their_awaits() {
    let mut test = Harness::new();
    let node = test.create_node("fleet").unwrap();
    let started = Arc::new(AtomicU32::new(0));
    let timers = [0, 1].map(|_| {
        let of_timer = node.clone();
        let started = Arc::clone(&started);
        let run = move |_: Tick| {
            started.fetch_add(1, Ordering::Relaxed);
            let pause = of_timer.sleep(5 * SECOND);
            async move { Ok::<(), rospin::Error>(pause?.await?) }
        };
        node.create_timer(TimerOptions::one_shot(Duration::ZERO), run).unwrap()
    });
    test.run_for(SECOND).unwrap();
    assert_eq!(started.load(Ordering::Relaxed), 2, "the second one did not wait for the first");
    drop(timers);
}

#[test]
fn a_service_awaits_a_timer_of_its_node() {
    let mut test = Harness::new();
    let node = test.create_node("arm").unwrap();
    let moves = Arc::new(Mutex::new(Vec::<oneshot::Sender<()>>::new()));
    let waiting = Arc::clone(&moves);
    let tell = move || {
        for told in waiting.lock().unwrap().drain(..) {
            told.send(()).unwrap();
        }
    };
    let _timer = node.create_timer(100 * MS, tell);
    let serve = move |request| {
        let (told, tick) = oneshot::channel();
        moves.lock().unwrap().push(told);
        async move {
            tick.await.unwrap();
            add(request)
        }
    };
    let _service = node.create_service::<AddTwoInts, _>("add", serve).unwrap();
    let client = test.node().create_client::<AddTwoInts>("add").unwrap();
    let response = test.wait(client.call(AddTwoIntsRequest { a: 1, b: 2 }), SECOND).unwrap();
    assert_eq!(response.unwrap().sum, 3);
}

#[test]
fn a_callback_calls_a_service_and_sets_a_parameter_of_its_own_node() {
    let mut test = Harness::new();
    let node = test.create_node("robot").unwrap();
    let _service = node.create_service::<AddTwoInts, _>("add", add).unwrap();
    let _rate = node.declare_parameter("rate", 10_i64).unwrap();
    let of_work = node.clone();
    let (sum, rate) = in_a_callback(&mut test, &node, move || async move {
        let call = of_work.create_client::<AddTwoInts>("add").unwrap().call(AddTwoIntsRequest { a: 20, b: 22 });
        let sum = call.await.unwrap().sum;
        let parameters = of_work.create_parameter_client("/robot").unwrap();
        (sum, parameters.get_one::<i64>("rate").await.unwrap())
    });
    assert_eq!((sum, rate), (42, 10));
}

#[test]
fn a_callback_awaits_a_goal_of_an_action_server_of_its_own_node() {
    let mut test = Harness::new();
    let node = test.create_node("arm").unwrap();
    let of_goals = node.clone();
    let _server = node
        .create_action_server(
            "count",
            |_, _: &FibonacciGoal| GoalResponse::AcceptAndExecute,
            |_, _| CancelResponse::Accept,
            move |goal: GoalHandle<Fibonacci>| {
                let node = of_goals.clone();
                async move {
                    for n in 0..goal.goal().order {
                        node.sleep(100 * MS).unwrap().await.unwrap();
                        goal.publish_feedback(FibonacciFeedback { sequence: vec![n] }).unwrap();
                    }
                    goal.succeed(FibonacciResult { sequence: vec![7] });
                }
            },
        )
        .unwrap();
    let client = node.create_action_client::<Fibonacci>("count").unwrap();
    let (feedback, result) = in_a_callback(&mut test, &node, move || async move {
        client.wait_for_server().await;
        let goal = client.send_goal(FibonacciGoal { order: 3 }).await.unwrap();
        let mut partial = goal.take_feedback().unwrap();
        let mut all = Vec::new();
        while let Some(next) = partial.next().await {
            all.extend(next.sequence);
        }
        (all, goal.result().await.unwrap().result.sequence)
    });
    assert_eq!((feedback, result), (vec![0, 1, 2], vec![7]));
}

#[test]
fn timers_tick_while_a_loop_of_the_same_node_awaits_a_rate() {
    let mut test = Harness::new();
    let node = test.create_node("robot").unwrap();
    let ticks = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&ticks);
    let _timer = node.create_timer(100 * MS, move || _ = counted.fetch_add(1, Ordering::Relaxed)).unwrap();
    let mut rate = node.create_rate(250 * MS).unwrap();
    let seen = in_a_callback(&mut test, &node, move || async move {
        let mut seen = Vec::new();
        for _ in 0..3 {
            rate.tick().await.unwrap();
            seen.push(ticks.load(Ordering::Relaxed));
        }
        seen
    });
    assert_eq!(seen, [2, 5, 7]);
}

/// Publishes three messages at once to a callback that awaits 100 ms for each. Returns what it did.
fn three_messages(options: SubscriptionOptions) -> Vec<String> {
    let mut test = Harness::new();
    let node = test.create_node("planner").unwrap();
    let log = Arc::new(Mutex::new(Vec::new()));
    let of_callback = node.clone();
    let logged = Arc::clone(&log);
    let hear = move |message: UInt32| {
        let pause = of_callback.sleep(100 * MS);
        let log = Arc::clone(&logged);
        log.lock().unwrap().push(format!("begin {}", message.data));
        async move {
            pause.unwrap().await.unwrap();
            log.lock().unwrap().push(format!("end {}", message.data));
        }
    };
    let _subscription = node.create_subscription(options, hear).unwrap();
    let publisher = test.node().create_publisher::<UInt32>("goals").unwrap();
    for data in 1..=3 {
        publisher.publish(UInt32 { data }).unwrap();
    }
    test.run_for(SECOND).unwrap();
    let log = log.lock().unwrap();
    log.clone()
}

#[test]
fn messages_of_a_topic_are_handled_one_after_the_other_unless_more_may_be_in_flight() {
    let one_by_one = ["begin 1", "end 1", "begin 2", "end 2", "begin 3", "end 3"];
    assert_eq!(three_messages(SubscriptionOptions::new("goals")), one_by_one);
    let two_at_once = ["begin 1", "begin 2", "end 1", "end 2", "begin 3", "end 3"];
    let mut seen = three_messages(SubscriptionOptions::new("goals").max_in_flight(2));
    // Both sleep until the same time.
    seen[2..5].sort_by_key(|line| line.starts_with("begin"));
    assert_eq!(seen, two_at_once);
}
