//! A program's start and end: a talker, a listener, and a signal that ends them.

use std::time::Duration;

use rospin::msgs::std_msgs::msg::String as Text;
use rospin::{ContextOptions, Middlewares, RosArguments, SpinOptions};

/// The node's own group hears messages until a signal halts the executor. This file has only one test, because signals
/// are sent to the whole process.
#[test]
fn a_signal_halts_the_main_executor() {
    let ros = rospin::init_with(ContextOptions::new(), Middlewares::InProcess, RosArguments::default()).unwrap();
    let node = ros.create_node("node").unwrap();
    let chatter = node.create_publisher::<Text>("chatter").unwrap();
    let _timer =
        node.create_timer(Duration::from_millis(1), move |_| chatter.publish(Text { data: "hello".to_owned() }));
    let mut heard = 0;
    let _subscription = node.create_subscription("chatter", move |message: &Text| {
        assert_eq!(message.data, "hello");
        heard += 1;
        if heard == 3 {
            let itself = rustix::process::getpid();
            rustix::process::kill_process(itself, rustix::process::Signal::TERM).unwrap();
        }
    });
    ros.spin().unwrap();
    // The executor can be spun again.
    ros.executor().spin(SpinOptions::spin_all()).unwrap();
}
