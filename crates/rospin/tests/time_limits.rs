//! Limits of time on a node's clock, in callbacks and elsewhere: under the clock of a test, and under `/clock`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rospin::errors::CallError;
use rospin::msgs::builtin_interfaces::msg::Time;
use rospin::msgs::example_interfaces::srv::{AddTwoInts, AddTwoIntsRequest, AddTwoIntsResponse};
use rospin::msgs::rosgraph_msgs::msg::Clock;
use rospin::testing::Harness;
use rospin::time::TimeoutError;
use rospin::{Node, Service};

const SECOND: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);

/// Creates a service that answers after 300 ms.
fn slow_service(test: &Harness) -> (Node, Service) {
    let node = test.create_node("slow").unwrap();
    let of_callback = node.clone();
    let add = move |request: AddTwoIntsRequest| {
        let pause = of_callback.sleep(300 * MS);
        async move {
            pause.unwrap().await.unwrap();
            AddTwoIntsResponse { sum: request.a + request.b }
        }
    };
    let service = node.create_service("add", add).unwrap();
    (node, service)
}

type Outcome = Result<Result<AddTwoIntsResponse, CallError>, TimeoutError>;

/// Calls the slow service in a callback of a timer that fires once, with that limit of time. Returns what came of it,
/// and when.
fn call_in_a_callback(test: &mut Harness, limit: Duration) -> (Outcome, Duration) {
    let node = test.create_node("caller").unwrap();
    let came = Arc::new(Mutex::new(None));
    let client = node.create_client::<AddTwoInts>("add").unwrap();
    let of_callback = node.clone();
    let comes = Arc::clone(&came);
    let call = move || {
        let call = of_callback.timeout(limit, client.call(AddTwoIntsRequest { a: 2, b: 3 }));
        let comes = Arc::clone(&comes);
        async move {
            let outcome = call.await;
            *comes.lock().unwrap() = Some(outcome);
        }
    };
    let begin = test.elapsed();
    let _timer = node.create_timer(rospin::TimerOptions::one_shot(Duration::ZERO), call).unwrap();
    test.run_until(|| came.lock().unwrap().is_some(), 10 * SECOND).unwrap();
    let outcome = came.lock().unwrap().take().unwrap();
    (outcome, test.elapsed() - begin)
}

#[test]
fn a_call_in_a_callback_ends_at_its_limit_on_the_clock_of_the_test() {
    let mut test = Harness::new();
    let _service = slow_service(&test);
    let (outcome, after) = call_in_a_callback(&mut test, 200 * MS);
    assert_eq!((outcome.unwrap_err(), after), (TimeoutError::Elapsed(200 * MS), 200 * MS));
}

#[test]
fn an_answer_that_comes_within_the_limit_counts() {
    for limit in [301 * MS, SECOND] {
        let mut test = Harness::new();
        let _service = slow_service(&test);
        let (outcome, after) = call_in_a_callback(&mut test, limit);
        assert_eq!((outcome.unwrap().unwrap().sum, after), (5, 300 * MS));
    }
    let mut test = Harness::new();
    let at_once = test.node().timeout(Duration::ZERO, async { 7 });
    assert_eq!(test.wait(at_once, SECOND).unwrap(), Ok(7));
}

/// The clock of the test goes on for an hour, but `/clock` stands still. Then `/clock` gets to the limit.
#[test]
fn a_limit_follows_the_simulated_clock() {
    let mut test = Harness::new();
    let node = test.create_node("caller").unwrap();
    node.set_parameter("use_sim_time", true).unwrap();
    test.run().unwrap();
    let clock = test.node().create_publisher("/clock").unwrap();
    let show = |sec, nanosec| clock.publish(Clock { clock: Time { sec, nanosec } }).unwrap();
    show(100, 0);
    test.run().unwrap();

    let came = Arc::new(Mutex::new(None));
    let of_callback = node.clone();
    let comes = Arc::clone(&came);
    let wait = move || {
        let limited = of_callback.timeout(2 * SECOND, std::future::pending::<()>());
        let comes = Arc::clone(&comes);
        async move { *comes.lock().unwrap() = Some(limited.await) }
    };
    let _timer = node.create_wall_timer(rospin::TimerOptions::one_shot(Duration::ZERO), wait).unwrap();
    test.run_for(3600 * SECOND).unwrap();
    show(101, 999_999_999);
    test.run().unwrap();
    assert!(came.lock().unwrap().is_none(), "{came:?}");
    show(102, 0);
    test.run().unwrap();
    assert_eq!(came.lock().unwrap().take(), Some(Err(TimeoutError::Elapsed(2 * SECOND))));
}

#[test]
fn a_limit_that_nobody_measures_is_an_error() {
    let mut test = Harness::new();
    let ros = rospin::Ros::in_process(test.ros().context());
    let node = ros.create_node("orphan").unwrap();
    let before = node.timeout(SECOND, std::future::pending::<()>());
    drop(ros);
    let after = node.timeout(SECOND, std::future::pending::<()>());
    let before = test.wait(before, SECOND).unwrap().unwrap_err();
    assert!(matches!(before, TimeoutError::Sleep(_)), "{before}");
    let after = test.wait(after, SECOND).unwrap().unwrap_err();
    assert!(matches!(after, TimeoutError::GroupGone(_)), "{after}");
}
