//! Topic statistics and counts of missed deadlines, under the harness's clock.

use std::sync::Arc;
use std::time::Duration;

use rospin::errors::TopicError;
use rospin::monitoring::{TopicStatisticsOptions, TopicStatisticsState};
use rospin::msgs::statistics_msgs::msg::MetricsMessage;
use rospin::msgs::std_msgs::msg::UInt32;
use rospin::testing::{Harness, Recording};
use rospin::time::ClockKind;
use rospin::{MessageInfo, Node, NodeOptions, Subscription, SubscriptionOptions};

const SECOND: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);

/// Average, maximum, minimum, count and standard deviation, by which data points come.
fn numbers(message: &MetricsMessage) -> [f64; 5] {
    assert_eq!(message.statistics.iter().map(|point| point.data_type).collect::<Vec<_>>(), [1, 3, 2, 5, 4]);
    message.statistics.iter().map(|point| point.data).collect::<Vec<_>>().try_into().unwrap()
}

/// Subscribes with a callback that takes that long, and holds its group.
fn subscribe(test: &Harness, node: &Node, options: SubscriptionOptions, duration: Duration) -> Subscription {
    let handle = test.ros().executor().handle();
    let callback = move |_: Arc<UInt32>| {
        let pause = handle.sleep(ClockKind::Steady, duration);
        async move { pause.await.unwrap() }
    };
    node.create_subscription(options, callback).unwrap()
}

fn take(heard: &Recording<MetricsMessage>) -> Vec<(Duration, Arc<MetricsMessage>)> {
    heard.take()
}

/// Three messages come at once, and the callback takes 30 ms for each.
#[test]
fn ages_and_periods_of_a_second_are_published_once_a_second() {
    let mut test = Harness::new();
    let heard = test.record::<MetricsMessage>("/statistics").unwrap();
    let node = test.create_node(NodeOptions::new("brake").namespace("/left")).unwrap();
    let _scans = subscribe(&test, &node, SubscriptionOptions::new("scan").topic_statistics(true), 30 * MS);
    let scans = test.node().create_publisher::<UInt32>("/left/scan").unwrap();
    test.run().unwrap();
    for data in 0..3 {
        scans.publish(UInt32 { data }).unwrap();
    }
    test.run_for(SECOND).unwrap();
    let reports = take(&heard);
    assert_eq!(reports.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [SECOND; 2]);
    let (age, period) = (&reports[0].1, &reports[1].1);
    assert_eq!((&*age.measurement_source_name, &*age.metrics_source, &*age.unit), ("brake", "message_age", "ms"));
    assert_eq!((&*period.measurement_source_name, &*period.metrics_source), ("brake", "message_period"));
    let window = |message: &MetricsMessage| [message.window_start, message.window_stop].map(rospin::Time::from);
    let [begin, end] = window(age);
    assert_eq!((end.saturating_since(begin), window(period)), (SECOND, [begin, end]));
    // They were taken after 0, 30 and 60 ms.
    assert_eq!(numbers(age)[..4], [30.0, 60.0, 0.0, 3.0]);
    assert!((numbers(age)[4] - 600f64.sqrt()).abs() < 1e-9);
    assert_eq!(numbers(period), [30.0, 30.0, 30.0, 2.0, 0.0]);

    // A second without messages; and the next period begins with the last message of the first second.
    test.run_for(SECOND).unwrap();
    for (_, empty) in take(&heard) {
        let [average, max, min, count, deviation] = numbers(&empty);
        assert!([average, max, min, deviation].into_iter().all(f64::is_nan) && count == 0.0, "{empty:?}");
        assert_eq!(window(&empty)[0], end);
    }
    scans.publish(UInt32 { data: 3 }).unwrap();
    test.run_for(SECOND).unwrap();
    let reports = take(&heard);
    assert_eq!(
        (numbers(&reports[0].1)[0], numbers(&reports[1].1)[..4].to_vec()),
        (0.0, vec![1940.0, 1940.0, 1940.0, 1.0])
    );
}

#[test]
fn the_node_decides_unless_the_subscription_does() {
    let mut test = Harness::new();
    let heard = test.record::<MetricsMessage>("/statistics").unwrap();
    let other = test.record::<MetricsMessage>("/left/other").unwrap();
    let plain = test.create_node("plain").unwrap();
    let measured =
        test.create_node(NodeOptions::new("measured").namespace("left").enable_topic_statistics(true)).unwrap();
    let sources = |heard: &Recording<MetricsMessage>| {
        let mut sources: Vec<_> =
            take(heard).iter().map(|(_, message)| message.measurement_source_name.clone()).collect();
        sources.dedup();
        sources
    };
    let none = |options: TopicStatisticsOptions| options.state(TopicStatisticsState::NodeDefault);
    let of = |options: TopicStatisticsOptions| SubscriptionOptions::new("scan").topic_statistics(options);
    let _off = subscribe(&test, &plain, of(none(TopicStatisticsOptions::new())), MS);
    let _also_off = subscribe(&test, &measured, of(false.into()), MS);
    test.run_for(SECOND).unwrap();
    assert!(heard.is_empty());

    let on = subscribe(&test, &measured, "scan".into(), MS);
    test.run_for(SECOND).unwrap();
    assert_eq!(sources(&heard), ["measured"]);
    drop(on);
    test.run_for(SECOND).unwrap();
    assert!(heard.is_empty());

    let elsewhere = none(TopicStatisticsOptions::new()).publish_topic("other").publish_period(250 * MS);
    let _elsewhere = subscribe(&test, &measured, of(elsewhere), MS);
    test.run_for(SECOND).unwrap();
    assert_eq!((heard.len(), other.len()), (0, 8));
}

#[test]
fn a_period_of_zero_is_an_error_only_where_statistics_are_enabled() {
    let test = Harness::new();
    let zero = TopicStatisticsOptions::new().publish_period(Duration::ZERO);
    let subscribe = |statistics| {
        let options = SubscriptionOptions::new("scan").topic_statistics(statistics);
        test.node().create_subscription(options, |_: UInt32| {})
    };
    let error = subscribe(zero.clone()).unwrap_err();
    assert!(matches!(error, TopicError::StatisticsPeriod { .. }), "{error}");
    assert!(subscribe(zero.state(TopicStatisticsState::Disable)).is_ok());
    assert!(matches!(subscribe(TopicStatisticsOptions::new().publish_topic("a b")), Err(TopicError::Name(_))));
}

/// The callbacks get the same with and without statistics, and the info is that of the message.
#[test]
fn measured_messages_are_those_that_callbacks_get() {
    let mut test = Harness::new();
    let node = test.create_node(NodeOptions::new("brake").enable_topic_statistics(true)).unwrap();
    let (heard, again) =
        (Arc::new(std::sync::Mutex::new(Vec::new())), test.record::<MetricsMessage>("/statistics").unwrap());
    let note = Arc::clone(&heard);
    let callback = move |message: UInt32, info: MessageInfo| {
        note.lock().unwrap().push((message.data, info.publication_sequence_number));
    };
    let _informed = node.create_subscription("scan", callback).unwrap();
    let message_type = rospin::message::TypeName::of_message::<UInt32>().unwrap();
    let group = node.create_reentrant_group("parallel").unwrap();
    let _raw = node
        .on(&group)
        .create_serialized_subscription("scan", &message_type, |_: rospin::message::SerializedMessage| {})
        .unwrap();
    let scans = test.node().create_publisher::<UInt32>("scan").unwrap();
    for data in 0..3 {
        scans.publish(UInt32 { data }).unwrap();
        test.run_for(10 * MS).unwrap();
    }
    test.run_for(SECOND).unwrap();
    assert_eq!(*heard.lock().unwrap(), [(0, Some(1)), (1, Some(2)), (2, Some(3))]);
    let reports = take(&again);
    assert_eq!(reports.len(), 4);
    for (_, report) in reports {
        let expected =
            if report.metrics_source == "message_age" { [0.0, 0.0, 0.0, 3.0] } else { [10.0, 10.0, 10.0, 2.0] };
        assert_eq!(numbers(&report)[..4], expected, "{report:?}");
    }
}

#[test]
fn a_handle_counts_the_missed_deadlines_of_its_callback() {
    let mut test = Harness::new();
    let node = test.create_node("brake").unwrap();
    let late = subscribe(&test, &node, SubscriptionOptions::new("scan").name("late").deadline(50 * MS), 30 * MS);
    let handle = test.ros().executor().handle();
    let echo = move |request: rospin::msgs::example_interfaces::srv::AddTwoIntsRequest| {
        let pause = handle.sleep(ClockKind::Steady, Duration::from_millis(request.a.unsigned_abs()));
        async move {
            pause.await.unwrap();
            rospin::msgs::example_interfaces::srv::AddTwoIntsResponse { sum: request.a + request.b }
        }
    };
    let group = node.create_group("sums", ()).unwrap();
    let options = rospin::ServiceOptions::new("add").deadline(10 * MS);
    let server =
        node.on(&group).create_service::<rospin::msgs::example_interfaces::srv::AddTwoInts, _>(options, echo).unwrap();
    let scans = test.node().create_publisher::<UInt32>("scan").unwrap();
    let add = test.node().create_client::<rospin::msgs::example_interfaces::srv::AddTwoInts>("add").unwrap();
    for data in 0..3 {
        scans.publish(UInt32 { data }).unwrap();
    }
    for a in [10, 11] {
        let call = add.call(rospin::msgs::example_interfaces::srv::AddTwoIntsRequest { a, b: 1 });
        assert_eq!(test.wait(call, SECOND).unwrap().unwrap().sum, a + 1);
    }
    test.run_for(SECOND).unwrap();
    // They ended after 30, 60 and 90 ms, and after 10 and 11 ms.
    assert_eq!((late.missed_deadlines(), server.missed_deadlines()), (2, 1));
}
