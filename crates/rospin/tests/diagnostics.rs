//! Diagnostics under the harness's clock: what is on `/diagnostics`, and when.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rospin::diagnostics::{Level, Program, Updater, UpdaterError};
use rospin::msgs::diagnostic_msgs::msg::{DiagnosticArray, DiagnosticStatus};
use rospin::msgs::std_msgs::msg::UInt32;
use rospin::os::{CoreSet, OnShortfall, ThreadOptions};
use rospin::testing::{Harness, Recording};
use rospin::time::ClockKind;
use rospin::{ExecutorOptions, NodeOptions, SubscriptionOptions};

const SECOND: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);

/// Returns the times and statuses since the last call.
fn take(heard: &Recording<DiagnosticArray>) -> Vec<(Duration, Vec<DiagnosticStatus>)> {
    heard.take().into_iter().map(|(at, array)| (at, array.status.clone())).collect()
}

fn told(status: &DiagnosticStatus) -> (u8, &str, &str) {
    (status.level, &status.name, &status.message)
}

fn value<'a>(status: &'a DiagnosticStatus, key: &str) -> Option<&'a str> {
    status.values.iter().find(|pair| pair.key == key).map(|pair| pair.value.as_str())
}

#[test]
fn tasks_are_reported_once_a_period_under_the_name_of_their_node() {
    let mut test = Harness::new();
    let heard = test.record::<DiagnosticArray>("/diagnostics").unwrap();
    let options = NodeOptions::new("lidar").namespace("/left").parameter_override("diagnostic_updater.period", 0.5);
    let node = test.create_node(options).unwrap();
    let updater = Updater::new(&node).unwrap();
    updater.set_hardware_id("0815");
    let mut runs = 0;
    updater.add("motor", move |status| {
        runs += 1;
        status.summary(Level::Stale, "turns");
        status.add("runs", runs);
    });
    updater.add("silent", |_| {});
    test.run().unwrap();
    let begin = take(&heard);
    assert_eq!(begin.len(), 2);
    assert_eq!(told(&begin[0].1[0]), (0, "lidar: motor", "Node starting up"));
    test.run_for(SECOND).unwrap();
    let reports = heard.take();
    assert_eq!(reports.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [500 * MS, SECOND]);
    let last = &reports[1].1;
    assert_eq!(rospin::Time::from(last.header.stamp), node.now());
    assert_eq!(told(&last.status[0]), (3, "lidar: motor", "turns"));
    assert_eq!((value(&last.status[0], "runs"), &*last.status[0].hardware_id), (Some("2"), "0815"));
    assert_eq!(told(&last.status[1]), (2, "lidar: silent", "No message was set"));

    assert!(updater.remove("motor") && !updater.remove("motor"));
    updater.broadcast(Level::Warn, "calibrating").unwrap();
    updater.force_update().unwrap();
    test.run().unwrap();
    let forced = take(&heard);
    assert_eq!(told(&forced[0].1[0]), (1, "lidar: silent", "calibrating"));
    assert_eq!((forced.len(), told(&forced[1].1[0])), (2, (2, "lidar: silent", "No message was set")));
    drop(updater);
    test.run_for(2 * SECOND).unwrap();
    assert!(heard.is_empty());
}

#[test]
fn a_task_that_panics_is_an_error_and_the_others_go_on() {
    let mut test = Harness::new();
    let heard = test.record::<DiagnosticArray>("/diagnostics").unwrap();
    let updater = Updater::new(&test.create_node("lidar").unwrap()).unwrap();
    updater.add("broken", |status| {
        status.add("before", 1);
        panic!("no {}", "laser");
    });
    updater.add("sound", |status| status.summary(Level::Ok, "fine"));
    test.run().unwrap();
    drop(heard.take());
    test.run_for(2 * SECOND).unwrap();
    let reports = take(&heard);
    assert_eq!(reports.len(), 2);
    for (_, statuses) in reports {
        assert_eq!(told(&statuses[0]), (2, "lidar: broken", "the task panicked: no laser"));
        assert_eq!(told(&statuses[1]), (0, "lidar: sound", "fine"));
    }
}

#[test]
fn a_task_may_use_its_own_updater() {
    let mut test = Harness::new();
    let heard = test.record::<DiagnosticArray>("/diagnostics").unwrap();
    let updater = Arc::new(Updater::new(&test.create_node("lidar").unwrap()).unwrap());
    let own: Arc<OnceLock<std::sync::Weak<Updater>>> = Arc::default();
    own.set(Arc::downgrade(&updater)).unwrap();
    updater.add("once", move |status| {
        let updater = own.get().unwrap().upgrade().unwrap();
        updater.force_update().unwrap();
        updater.add("child", |status| status.summary(Level::Ok, "here"));
        assert!(updater.remove("once"));
        status.summary(Level::Ok, "done");
    });
    test.run().unwrap();
    drop(heard.take());
    test.run_for(2 * SECOND).unwrap();
    let last = heard.last().unwrap();
    assert_eq!((last.status.len(), told(&last.status[0])), (1, (0, "lidar: child", "here")));
}

#[test]
fn summaries_are_merged_as_in_cpp() {
    let mut status = rospin::diagnostics::Status::default();
    assert_eq!(status.get_summary(), None);
    status.merge_summary(Level::Ok, "a");
    status.merge_summary(Level::Ok, "b");
    assert_eq!(status.get_summary(), Some((Level::Ok, "a; b")));
    status.merge_summary(Level::Error, "c");
    status.merge_summary(Level::Ok, "d");
    status.merge_summary(Level::Warn, "e");
    assert_eq!(status.get_summary(), Some((Level::Error, "c; e")));
}

#[test]
fn a_period_that_is_no_time_is_an_error_and_two_updaters_share_the_parameter() {
    let test = Harness::new();
    for seconds in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let options = NodeOptions::new("lidar").parameter_override("diagnostic_updater.period", seconds);
        let error = Updater::new(&test.create_node(options).unwrap()).unwrap_err();
        assert!(matches!(error, UpdaterError::Period { .. }), "{error}");
    }
    let node = test.create_node(NodeOptions::new("lidar").parameter_override("diagnostic_updater.period", "fast"));
    assert!(matches!(Updater::new(&node.unwrap()).unwrap_err(), UpdaterError::Parameter(_)));
    let node = test.create_node("camera").unwrap();
    let _both = (Updater::new(&node).unwrap(), Updater::new(&node).unwrap());
    assert!(node.set_parameter("diagnostic_updater.period", 2.0).is_err());
}

/// Three messages come at once for a queue of one, and the callback takes 30 ms instead of 10 ms for the one that is
/// left.
#[test]
fn losses_and_missed_deadlines_are_reported_once() {
    let mut test = Harness::new();
    let heard = test.record::<DiagnosticArray>("/diagnostics").unwrap();
    let node = test.create_node("controller").unwrap();
    let updater = Updater::new(&node).unwrap();
    updater.add_program(test.ros());
    let handle = test.ros().executor().handle();
    let options = SubscriptionOptions::new("steer").keep_last(1).deadline(10 * MS);
    let steer = move |message: Arc<UInt32>| {
        let pause = handle.sleep(ClockKind::Steady, u32::min(message.data, 30) * MS);
        async move { pause.await.unwrap() }
    };
    let _steer = node.create_subscription(options, steer).unwrap();
    let commands = test.node().create_publisher::<UInt32>("steer").unwrap();
    test.run().unwrap();
    drop(heard.take());

    // A loss alone is a warning.
    for _ in 0..3 {
        commands.publish(UInt32 { data: 1 }).unwrap();
    }
    test.run_for(SECOND).unwrap();
    let lost = heard.last().unwrap();
    assert_eq!(told(&lost.status[0]), (1, "controller: program", "controller/steer: queue full (2)"));
    // Both are an error, which says both.
    for _ in 0..2 {
        commands.publish(UInt32 { data: 30 }).unwrap();
    }
    test.run_for(SECOND).unwrap();
    let both = heard.last().unwrap();
    let message = "controller/steer: missed deadline (1); controller/steer: queue full (1)";
    assert_eq!(told(&both.status[0]), (2, "controller: program", message));
    assert_eq!(value(&both.status[0], "controller/steer: queue full"), Some("3"));
    assert_eq!(value(&both.status[0], "controller/steer: queue full (new)"), Some("1"));
    // Totals stay, and all is well.
    test.run_for(SECOND).unwrap();
    let calm = heard.last().unwrap();
    assert_eq!(told(&calm.status[0]), (0, "controller: program", "no losses, no missed deadlines"));
    assert_eq!(value(&calm.status[0], "controller/steer: missed deadline"), Some("1"));
    assert_eq!(value(&calm.status[0], "controller/steer: missed deadline (new)"), None);
    assert_eq!(heard.len(), 3);
}

/// A subscription without a name of its own loses a message, and is dropped afterwards with another one in its queue.
#[test]
fn a_callback_that_is_gone_is_not_reported_again_under_its_group() {
    let mut test = Harness::new();
    let heard = test.record::<DiagnosticArray>("/diagnostics").unwrap();
    let node = test.create_node("controller").unwrap();
    let updater = Updater::new(&node).unwrap();
    updater.add_program(test.ros());
    let steer = node.create_subscription(SubscriptionOptions::new("steer").keep_last(1), |_: UInt32| {}).unwrap();
    let commands = test.node().create_publisher::<UInt32>("steer").unwrap();
    for _ in 0..2 {
        commands.publish(UInt32 { data: 1 }).unwrap();
    }
    test.run_for(SECOND).unwrap();
    assert_eq!(heard.last().unwrap().status[0].message, "controller/steer: queue full (1)");
    drop(steer);
    test.run_for(SECOND).unwrap();
    assert_eq!(told(&heard.last().unwrap().status[0]), (0, "controller: program", "no losses, no missed deadlines"));
    // The total is kept.
    let kept = heard.last().unwrap().status[0].values.clone();
    assert!(kept.len() == 1 && kept[0].key.ends_with(": queue full") && kept[0].value == "1", "{kept:?}");
}

/// The thread of an executor is asked to run on a core that no machine has.
#[test]
fn settings_that_a_thread_lacks_are_a_warning_for_as_long_as_it_lacks_them() {
    let mut test = Harness::new();
    let heard = test.record::<DiagnosticArray>("/diagnostics").unwrap();
    let thread = ThreadOptions::new().cores(CoreSet::new([1000])).on_shortfall(OnShortfall::Warn);
    let control = test.ros().context().create_executor(ExecutorOptions::new("control").thread(thread));
    let updater = Updater::new(&test.create_node("controller").unwrap()).unwrap();
    updater.add_program(Program::from(test.ros()).executor(&control.handle()));
    test.add_executor(control);
    test.run().unwrap();
    drop(heard.take());
    test.run_for(2 * SECOND).unwrap();
    let reports = take(&heard);
    assert_eq!(reports.len(), 2);
    for (_, statuses) in reports {
        let status = &statuses[0];
        assert_eq!(status.level, 1, "{status:?}");
        assert!(status.message.contains("lacks settings"), "{status:?}");
        assert!(status.values.iter().any(|pair| pair.key.starts_with("control/")), "{status:?}");
    }
}
