//! Words that ROS developers know: what they do here.

use std::sync::{Mutex, OnceLock};

use rospin::lifecycle::{Fault, State, Transition};
use rospin::log;
use rospin::msgs::example_interfaces::srv::{AddTwoInts, AddTwoIntsRequest, AddTwoIntsResponse};
use rospin::msgs::std_msgs::msg::UInt32;
use rospin::prelude::*;
use rospin::testing::Harness;

/// Texts of all log records of this process.
static LOGGED: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Kept;

impl log::Log for Kept {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        LOGGED.lock().unwrap().push(record.args().to_string());
    }

    fn flush(&self) {}
}

/// Returns how many log records have `text`.
fn logged(text: &str) -> usize {
    LOGGED.lock().unwrap().iter().filter(|record| record.contains(text)).count()
}

fn keep_log() {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        log::set_logger(&Kept).unwrap();
        log::set_max_level(log::LevelFilter::Warn);
    });
}

const SECOND: Duration = Duration::from_secs(1);

#[derive(Default)]
struct Lamp(Option<rospin::lifecycle::LifecyclePublisher<UInt32>>);

impl Lamp {
    fn say(&self, data: u32) {
        self.0.as_ref().unwrap().publish(UInt32 { data }).unwrap();
    }
}

impl Lifecycle for Lamp {
    fn on_configure(&mut self, node: &LifecycleHandle<Self>, _: State) -> Result<(), Fault> {
        self.0 = Some(node.create_publisher("lamp")?);
        self.say(1);
        Ok(())
    }

    fn on_activate(&mut self, _: &LifecycleHandle<Self>, _: State) -> Result<(), Fault> {
        self.say(2);
        Ok(())
    }
}

#[test]
fn publishers_of_a_managed_node_are_silent_until_it_is_active() {
    keep_log();
    let mut test = Harness::new();
    let heard = test.record::<UInt32>("lamp").unwrap();
    let executor = test.ros().executor().handle();
    let node = LifecycleNode::new(test.ros(), &executor, "lamp", Lamp::default()).unwrap();
    for transition in [Transition::Configure, Transition::Activate] {
        test.wait(node.request(transition), SECOND).unwrap().unwrap();
    }
    let _timer = node.group().create_timer(SECOND, |lamp: &mut Lamp, _: Tick| lamp.say(3)).unwrap();
    test.run_for(SECOND).unwrap();
    test.wait(node.request(Transition::Deactivate), SECOND).unwrap().unwrap();
    test.run_for(2 * SECOND).unwrap();
    assert_eq!(heard.take().iter().map(|(_, lamp)| lamp.data).collect::<Vec<_>>(), [3]);
    assert_eq!(logged("`lamp` was not published, because node `/lamp` is not active"), 2, "once before, once after");
}

#[test]
fn a_call_without_server_or_answer_is_an_error_at_once() {
    let mut test = Harness::new();
    let client = test.node().create_client::<AddTwoInts>("add").unwrap();
    let call = || client.call(AddTwoIntsRequest { a: 1, b: 2 });
    let unknown = test.wait(call(), Duration::ZERO).unwrap().unwrap_err();
    assert!(unknown.to_string().contains("wait_for_service"), "{unknown}");
    let node = test.create_node("calculator").unwrap();
    let breaks = |_: AddTwoIntsRequest| -> AddTwoIntsResponse { panic!("of the test") };
    let service = node.create_service("add", breaks).unwrap();
    let broken = test.wait(call(), Duration::ZERO).unwrap().unwrap_err();
    assert!(matches!(broken, rospin::errors::CallError::Unanswered { .. }), "{broken}");
    let waits = call();
    drop(service);
    assert!(test.wait(waits, Duration::ZERO).unwrap().is_err());
}
