//! Log records on `/rosout`.

use std::sync::{Mutex, Once};

use log::{LevelFilter, Log, Metadata, Record};
use rospin_engine::{Context, ContextOptions, Executor, ExecutorOptions, SpinOptions};
use rospin_node::interfaces::rcl_interfaces::Log as LogMessage;
use rospin_node::{Node, NodeOptions, Ros, RosoutError, RosoutLog, SubscriptionOptions};

/// Records that the program's logger got, from all tests.
static CONSOLE: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Console;

impl Log for Console {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        !metadata.target().starts_with("silent")
    }

    fn log(&self, record: &Record<'_>) {
        CONSOLE.lock().unwrap().push(record.args().to_string());
    }

    fn flush(&self) {}
}

fn on_console(text: &str) -> usize {
    CONSOLE.lock().unwrap().iter().filter(|line| line.contains(text)).count()
}

fn set_up(name: &str) -> (Executor, Node) {
    static LOGGER: Once = Once::new();
    LOGGER.call_once(|| {
        // The program's logger belongs to a node of its own, which publishes nothing.
        let node = Ros::in_process(&Context::new(ContextOptions::new())).create_node("program").unwrap();
        log::set_boxed_logger(Box::new(RosoutLog::new(node.logger(), Console))).unwrap();
        log::set_max_level(LevelFilter::Trace);
    });
    let context = Context::new(ContextOptions::new());
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let options = NodeOptions::new(name).namespace("/robot");
    let node = Ros::in_process(&context).create_node(options.enable_rosout(false)).unwrap();
    (executor, node)
}

/// Returns the records on `/rosout`, including those kept for late subscriptions.
fn published(executor: &Executor, node: &Node) -> Vec<LogMessage> {
    let group = executor.create_group("console", Vec::new());
    let options = SubscriptionOptions::new("/rosout").keep_last(1000).transient_local();
    let hear = |heard: &mut Vec<LogMessage>, record| heard.push(record);
    let _subscription = node.on(&group).create_subscription(options, hear).unwrap();
    executor.spin(SpinOptions::spin_all()).unwrap();
    group.into_payload().unwrap()
}

#[test]
fn records_of_a_node_are_published_and_on_the_console() {
    let (executor, node) = set_up("arm");
    let logger = node.logger();
    log::error!(logger: logger, "before anybody published");
    let rosout = node.publish_rosout(&executor.handle()).unwrap();
    log::error!(logger: logger, "{} broke", "gripper");
    let line = line!() - 1;
    log::info!(logger: logger, target: "silent", "not on the console");
    log::debug!(logger: logger, "details");
    executor.spin(SpinOptions::spin_all()).unwrap();
    let records = published(&executor, &node);
    let texts: Vec<_> = records.iter().map(|record| record.msg.as_str()).collect();
    assert_eq!(texts, ["gripper broke", "not on the console", "details"]);
    let first = &records[0];
    assert_eq!((first.name.as_str(), first.level, first.line), ("robot.arm", LogMessage::ERROR, line));
    assert_eq!((first.file.as_str(), first.function.as_str()), (file!(), module_path!()));
    assert!(first.stamp.sec > 0);
    assert_eq!((on_console("gripper broke"), on_console("not on the console")), (1, 0));
    assert_eq!((logger.name(), rosout.missed()), ("robot.arm", 0));
}

#[test]
fn a_program_s_logger_publishes_what_it_should() {
    let (executor, node) = set_up("arm");
    let _rosout = node.publish_rosout(&executor.handle()).unwrap();
    let logger = RosoutLog::new(node.logger(), Console).level(LevelFilter::Warn).without("noisy");
    log::warn!(logger: logger, "published by the program's");
    log::info!(logger: logger, "too little for rosout");
    log::error!(logger: logger, target: "noisy::inner", "of a noisy library");
    log::error!(logger: logger, target: "noisy_not", "of another library");
    let texts: Vec<_> = published(&executor, &node).into_iter().map(|record| record.msg).collect();
    assert_eq!(texts, ["published by the program's", "of another library"]);
    assert_eq!((on_console("too little for rosout"), on_console("of a noisy library")), (1, 1));
}

#[test]
fn one_publisher_a_node_and_what_makes_room_is_counted() {
    let (executor, node) = set_up("arm");
    let rosout = node.publish_rosout(&executor.handle()).unwrap();
    let error = node.publish_rosout(&executor.handle()).unwrap_err();
    assert!(matches!(error, RosoutError::AlreadyPublished { .. }), "{error}");
    for n in 0..1003 {
        log::trace!(logger: node.logger(), target: "silent", "{n}");
    }
    assert_eq!(rosout.missed(), 3);
    let records = published(&executor, &node);
    assert_eq!((records.len(), records[0].msg.as_str()), (1000, "3"));
    drop(rosout);
    let _again = node.publish_rosout(&executor.handle()).unwrap();
}
