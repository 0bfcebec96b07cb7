//! Every form of a callback, on every kind of group.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rospin_engine::{
    Context, ContextOptions, Executor, ExecutorOptions, IncidentKind, ManualClock, Payload, SpinOptions,
};
use rospin_msgs::example_interfaces::srv::{AddTwoInts, AddTwoIntsRequest, AddTwoIntsResponse};
use rospin_msgs::std_msgs::msg::Int32;
use rospin_node::{
    Message, MessageInfo, Node, Publisher, PublisherOptions, Ros, Service, SubscriptionOptions, Tick, TimerOptions,
};
use serde::{Deserialize, Serialize};

struct Fixture {
    ros: Ros,
    node: Node,
    executor: Executor,
    publisher: Publisher<Int32>,
}

fn fixture() -> Fixture {
    let context = Context::new(ContextOptions::new());
    let ros = Ros::in_process(&context);
    let node = ros.create_node("node").unwrap();
    let executor = context.create_executor(ExecutorOptions::new("other"));
    let publisher = node.create_publisher("numbers").unwrap();
    Fixture { ros, node, executor, publisher }
}

/// Returns a sum that can be read anywhere, and a closure that adds to it.
fn adder() -> (Arc<AtomicU32>, impl Fn(i32) + Clone + Send + Sync + 'static) {
    let sum = Arc::new(AtomicU32::new(0));
    let shown = Arc::clone(&sum);
    (shown, move |n| _ = sum.fetch_add(n.unsigned_abs(), Ordering::Relaxed))
}

#[test]
fn subscriptions_of_a_node_alone() {
    let Fixture { ros, node, publisher, .. } = fixture();
    let (sum, add) = adder();
    let [one, two, three, four, five] = std::array::from_fn(|_| add.clone());
    let _kept = [
        node.create_subscription("numbers", move |number: Int32| one(number.data)),
        node.create_subscription("numbers", move |number: Arc<Int32>| two(number.data)),
        node.create_subscription("numbers", move |number: &Int32| three(number.data)),
        node.create_subscription("numbers", move |number: Int32| {
            let four = four.clone();
            async move { four(number.data) }
        }),
        node.create_subscription("numbers", move |number: Arc<Int32>| {
            let five = five.clone();
            async move { five(number.data) }
        }),
    ]
    .map(Result::unwrap);
    publisher.publish(Int32 { data: 7 }).unwrap();
    ros.executor().spin(SpinOptions::spin_all()).unwrap();
    assert_eq!(sum.load(Ordering::Relaxed), 35);
}

#[test]
fn subscriptions_on_a_group_with_a_payload() {
    let Fixture { node, executor, publisher, .. } = fixture();
    let group = executor.create_group("group", 0_i32);
    let (sum, add) = adder();
    let on = node.on(&group);
    let _kept = [
        on.create_subscription("numbers", |sum: &mut i32, number: Int32| *sum += number.data),
        on.create_subscription("numbers", |sum: &mut i32, number: Arc<Int32>| *sum += number.data),
        on.create_subscription::<Int32, _>("numbers", |sum: &mut i32, number: &Int32| *sum += number.data),
        on.create_subscription("numbers", |sum: Payload<i32>, number: Int32| async move {
            sum.with(|sum| *sum += number.data);
        }),
        on.create_subscription("numbers", move |number: Int32| add(number.data)),
    ]
    .map(Result::unwrap);
    publisher.publish(Int32 { data: 7 }).unwrap();
    executor.spin(SpinOptions::spin_all()).unwrap();
    assert_eq!((group.into_payload().unwrap(), sum.load(Ordering::Relaxed)), (28, 7));
}

#[test]
fn subscriptions_on_a_reentrant_group() {
    let Fixture { node, executor, publisher, .. } = fixture();
    let group = executor.create_reentrant_group("group");
    let (sum, add) = adder();
    let [one, two, three, four] = std::array::from_fn(|_| add.clone());
    let on = node.on(&group);
    let _kept = [
        on.create_subscription("numbers", move |number: Int32| one(number.data)),
        on.create_subscription("numbers", move |number: Arc<Int32>| two(number.data)),
        on.create_subscription("numbers", move |number: &Int32| three(number.data)),
        on.create_subscription("numbers", move |number: Int32| {
            let four = four.clone();
            async move { four(number.data) }
        }),
    ]
    .map(Result::unwrap);
    publisher.publish(Int32 { data: 7 }).unwrap();
    executor.spin(SpinOptions::spin_all()).unwrap();
    assert_eq!(sum.load(Ordering::Relaxed), 28);
}

#[test]
fn one_message_is_shared_by_all_callbacks_that_take_an_arc() {
    let Fixture { ros, node, publisher, .. } = fixture();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let _kept = [(); 2].map(|()| {
        let seen = Arc::clone(&seen);
        let see = move |number: Arc<Int32>| seen.lock().unwrap().push(number);
        node.create_subscription("numbers", see).unwrap()
    });
    publisher.publish(Int32 { data: 7 }).unwrap();
    ros.executor().spin(SpinOptions::spin_all()).unwrap();
    let seen = seen.lock().unwrap();
    assert!(seen.len() == 2 && Arc::ptr_eq(&seen[0], &seen[1]));
}

#[test]
fn callbacks_that_ask_for_infos_share_the_message_with_those_that_do_not() {
    let Fixture { ros, node, publisher, .. } = fixture();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let [one, two, three] = std::array::from_fn(|_| {
        let seen = Arc::clone(&seen);
        move |number: Arc<Int32>| seen.lock().unwrap().push(number)
    });
    let _kept = [
        node.create_subscription("numbers", move |number: Arc<Int32>, _: MessageInfo| one(number)),
        node.create_subscription("numbers", two),
        node.create_subscription("numbers", move |number: Arc<Int32>, _: MessageInfo| three(number)),
    ]
    .map(Result::unwrap);
    publisher.publish(Int32 { data: 7 }).unwrap();
    ros.executor().spin(SpinOptions::spin_all()).unwrap();
    let seen = seen.lock().unwrap();
    assert!(seen.len() == 3 && seen.iter().all(|number| Arc::ptr_eq(number, &seen[0])));
}

/// A message that counts its copies.
#[derive(Serialize, Deserialize)]
struct Copied {
    #[serde(skip)]
    copies: Arc<AtomicU32>,
}

impl Clone for Copied {
    fn clone(&self) -> Self {
        self.copies.fetch_add(1, Ordering::Relaxed);
        Self { copies: Arc::clone(&self.copies) }
    }
}

impl Message for Copied {
    const TYPE: &str = "test_msgs/msg/Empty";
}

#[test]
fn the_last_callback_gets_a_message_by_value_without_a_copy_also_if_it_asks_for_its_info() {
    let Fixture { ros, node, .. } = fixture();
    let publisher = node.create_publisher("copied").unwrap();
    for count in 1..=2 {
        let take = |_: &()| node.create_subscription("copied", |_: Copied, _: MessageInfo| {}).unwrap();
        let _kept: Vec<_> = [(), ()][..count].iter().map(take).collect();
        let copies = Arc::new(AtomicU32::new(0));
        publisher.publish(Copied { copies: Arc::clone(&copies) }).unwrap();
        ros.executor().spin(SpinOptions::spin_all()).unwrap();
        assert_eq!(copies.load(Ordering::Relaxed) as usize, count - 1);
    }
}

/// Another Rust type for the same messages, which therefore come encoded.
#[derive(Clone, Serialize, Deserialize)]
struct Another {
    data: i32,
}

impl Message for Another {
    const TYPE: &str = Int32::TYPE;
    const TYPE_HASH: Option<&str> = Int32::TYPE_HASH;
}

/// The clock is moved between publishing, a late subscription and taking.
#[test]
fn infos_have_the_times_of_publishing_and_arrival_also_of_messages_that_were_kept_or_encoded() {
    let clock = ManualClock::new();
    let context = Context::new(ContextOptions::new().manual_clock(clock.clone()));
    let ros = Ros::in_process(&context);
    let node = ros.create_node("node").unwrap();
    let executor = context.create_executor(ExecutorOptions::new("other"));
    let group = executor.create_group("group", Vec::new());
    let publisher = node.create_publisher(PublisherOptions::new("numbers").transient_local().keep_last(1)).unwrap();
    let options = || SubscriptionOptions::new("numbers").transient_local();
    let on = node.on(&group);
    let note_one =
        |infos: &mut Vec<(i32, MessageInfo)>, number: &Int32, info: MessageInfo| infos.push((number.data, info));
    let note_other =
        |infos: &mut Vec<(i32, MessageInfo)>, other: Another, info: MessageInfo| infos.push((other.data, info));
    let _early = (on.create_subscription(options(), note_one), on.create_subscription(options(), note_other));
    let start = context.clock().time_of_day();
    let second = Duration::from_secs(1);
    for data in 1..=2 {
        publisher.publish(Int32 { data }).unwrap();
        clock.advance(second);
    }
    let _late = (on.create_subscription(options(), note_one), on.create_subscription(options(), note_other));
    clock.advance(second);
    executor.spin(SpinOptions::spin_all()).unwrap();
    let mut infos = group.into_payload().unwrap();
    assert!(infos.iter().all(|(_, info)| info.is_in_process && info.publisher_gid == infos[0].1.publisher_gid));
    assert!(infos.iter().all(|(data, info)| info.publication_sequence_number == u64::try_from(*data).ok()));
    let since = |time: std::time::SystemTime| time.duration_since(start).unwrap().as_secs();
    let times =
        |(data, info): (i32, MessageInfo)| (data, info.source_timestamp.map(since), since(info.received_timestamp));
    infos.sort_by_key(|(data, info)| (*data, info.received_timestamp));
    let times: Vec<_> = infos.into_iter().map(times).collect();
    assert_eq!(
        times,
        [(1, 0, 0), (1, 0, 0), (2, 1, 1), (2, 1, 1), (2, 1, 2), (2, 1, 2)]
            .map(|(data, sent, received)| { (data, Some(sent), received) })
    );
}

#[test]
fn timers() {
    let Fixture { ros, node, executor, .. } = fixture();
    let (group, reentrant) = (executor.create_group("group", 0), executor.create_reentrant_group("reentrant"));
    let (sum, add) = adder();
    let now = || TimerOptions::one_shot(Duration::ZERO);
    let [one, two, three, four, five, six] = std::array::from_fn(|_| add.clone());
    let _kept = [
        node.create_timer(now(), move |_| one(1)),
        node.create_timer(now(), move || two(10)),
        node.create_timer(now(), move || {
            let three = three.clone();
            async move { three(100) }
        }),
        node.on(&group).create_timer(now(), |sum: &mut i32| *sum += 1),
        node.on(&group).create_timer(now(), |sum: &mut i32, _: Tick| *sum += 10),
        node.on(&group).create_timer(now(), |sum: Payload<i32>, _: Tick| async move { sum.with(|sum| *sum += 100) }),
        node.on(&group).create_timer(now(), move || four(1000)),
        node.on(&reentrant).create_timer(now(), move || five(10_000)),
        node.on(&reentrant).create_timer(now(), move |_: Tick| six(100_000)),
    ]
    .map(Result::unwrap);
    ros.executor().spin(SpinOptions::spin_all()).unwrap();
    executor.spin(SpinOptions::spin_all()).unwrap();
    assert_eq!((sum.load(Ordering::Relaxed), group.into_payload().unwrap()), (111_111, 111));
}

#[test]
fn services() {
    let Fixture { ros, node, executor, .. } = fixture();
    let group = executor.create_group("group", 0_u32);
    let reentrant = executor.create_reentrant_group("reentrant");
    let add = |both: &AddTwoIntsRequest| AddTwoIntsResponse { sum: both.a + both.b };
    let _kept = [
        node.create_service("a", move |both: AddTwoIntsRequest| add(&both)),
        node.create_service("b", move |both: AddTwoIntsRequest| async move { add(&both) }),
        node.on(&group).create_service("c", move |served: &mut u32, both: AddTwoIntsRequest| {
            *served += 1;
            add(&both)
        }),
        node.on(&group).create_service("d", move |served: Payload<u32>, both: AddTwoIntsRequest| async move {
            served.with(|served| *served += 1);
            add(&both)
        }),
        node.on(&reentrant).create_service("e", move |both: AddTwoIntsRequest| add(&both)),
    ]
    .map(Result::unwrap);
    for service in ["a", "b", "c", "d", "e"] {
        let spinning = if matches!(service, "a" | "b") { ros.executor() } else { &executor };
        let client = node.create_client::<AddTwoInts>(service).unwrap();
        let response = spinning.spin_until(client.call(AddTwoIntsRequest { a: 40, b: 2 }), SpinOptions::new());
        assert_eq!(response.unwrap().unwrap().sum, 42, "{service}");
    }
    assert_eq!(group.into_payload().unwrap(), 2);
}

/// The type of the service is inferred from the request's, or is given as in rclrs.
#[test]
fn the_service_of_a_callback_is_inferred_or_given() {
    let Fixture { ros, node, .. } = fixture();
    let add = |both: AddTwoIntsRequest| AddTwoIntsResponse { sum: both.a + both.b };
    let by_reference = move |both: &AddTwoIntsRequest| add(*both);
    let always = || AddTwoIntsResponse { sum: 42 };
    let group = node.create_group("group", ()).unwrap();
    let _kept: [Service; 6] = [
        node.create_service("inferred", add),
        node.create_service("inferred_async", move |both: AddTwoIntsRequest| async move { add(both) }),
        node.create_service::<AddTwoInts, _>("given", add),
        node.create_service::<AddTwoInts, _>("by_use", move |both| by_reference(&both)),
        node.on(&group).create_service::<AddTwoInts, _>("on_group", move |both| by_reference(&both)),
        node.create_service::<AddTwoInts, _>("always", always),
    ]
    .map(Result::unwrap);
    for service in ["inferred", "inferred_async", "given", "by_use", "on_group", "always"] {
        let client = node.create_client::<AddTwoInts>(service).unwrap();
        let response = ros.executor().spin_until(client.call(AddTwoIntsRequest { a: 40, b: 2 }), SpinOptions::new());
        assert_eq!(response.unwrap().unwrap().sum, 42, "{service}");
    }
}

/// A loop that never ends has no value that a callback could return, so its type falls back to `!`.
#[test]
fn an_endless_loop_is_an_asynchronous_callback() {
    let clock = ManualClock::new();
    let ros = Ros::in_process(&Context::new(ContextOptions::new().manual_clock(clock.clone())));
    let node = ros.create_node("node").unwrap();
    let count = Arc::new(AtomicU32::new(0));
    let (counted, of_rate) = (Arc::clone(&count), node.clone());
    let _timer = node.create_timer(TimerOptions::one_shot(Duration::ZERO), move |_: Tick| {
        let (counted, mut rate) = (Arc::clone(&counted), of_rate.create_rate(Duration::from_millis(10)).unwrap());
        async move {
            loop {
                rate.tick().await.unwrap();
                counted.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    let _endless = [
        node.create_subscription("go", |_: Int32| async {
            loop {
                std::future::pending::<()>().await
            }
        }),
        node.create_subscription("stay", async |_: Arc<Int32>, _: MessageInfo| {
            loop {
                std::future::pending::<()>().await
            }
        }),
    ]
    .map(Result::unwrap);
    for _ in 0..3 {
        ros.executor().spin(SpinOptions::spin_all()).unwrap();
        clock.advance(Duration::from_millis(10));
    }
    ros.executor().spin(SpinOptions::spin_all()).unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 3);
}

#[test]
fn errors_that_callbacks_return_are_incidents() {
    let incidents = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&incidents);
    let options = ContextOptions::new().on_incident(move |incident| seen.lock().unwrap().push(incident.clone()));
    let ros = Ros::in_process(&Context::new(options));
    let node = ros.create_node("node").unwrap();
    let _subscription = node.create_subscription("numbers", |number: Int32| match number.data {
        0 => Err("none"),
        _ => Ok(()),
    });
    let _timer =
        node.create_timer(TimerOptions::one_shot(Duration::ZERO).name("late"), async || Err::<(), _>("too late"));
    // A timer without a name of its own is called as deployment files call it.
    let unnamed = node.create_timer(TimerOptions::one_shot(Duration::ZERO), || Err::<(), _>("too early")).unwrap();
    let publisher = node.create_publisher("numbers").unwrap();
    for data in [0, 1] {
        publisher.publish(Int32 { data }).unwrap();
    }
    ros.executor().spin(SpinOptions::spin_all()).unwrap();
    let mut told: Vec<_> = incidents.lock().unwrap().iter().map(|one| (one.entity.clone(), one.kind.clone())).collect();
    told.sort_by(|one, other| one.0.cmp(&other.0));
    let failed = |text: &str| IncidentKind::Failed(text.to_owned());
    let expected = [("late", "too late"), ("node/numbers", "none"), ("node/timer0", "too early")];
    assert_eq!(told, expected.map(|(entity, text)| (entity.to_owned(), failed(text))));
    assert_eq!(unnamed.name(), "node/timer0");
}

#[test]
fn a_node_whose_ros_is_gone_says_so() {
    let node = Ros::in_process(&Context::new(ContextOptions::new())).create_node("node").unwrap();
    let error = node.create_timer(Duration::from_secs(1), || {}).unwrap_err();
    assert!(error.to_string().contains("group `node`"), "{error}");
    let error = node.create_rate(Duration::from_secs(1)).unwrap_err();
    assert!(error.to_string().contains("group `node`"), "{error}");
}

#[test]
fn a_nodes_rate_ticks_on_ros_time() {
    let context = Context::new(ContextOptions::new());
    let (ros, time) = (Ros::in_process(&context), context.ros_time());
    time.set_active(true);
    let node = ros.create_node("node").unwrap();
    let ticks = Arc::new(AtomicU32::new(0));
    let (mut rate, count) = (node.create_rate(Duration::from_millis(10)).unwrap(), Arc::clone(&ticks));
    let group = ros.executor().create_group("loop", ());
    let ticking = async move {
        while rate.tick().await.is_ok() {
            count.fetch_add(1, Ordering::Relaxed);
        }
    };
    let _entity = group.create_stream_async("loop", futures::stream::iter([ticking]), |_, ticking| ticking).unwrap();
    for (millis, expected) in [(9, 0), (10, 1), (19, 1), (20, 2)] {
        time.set(rospin_engine::Time::from_millis(millis));
        ros.executor().spin(SpinOptions::spin_all()).unwrap();
        assert_eq!(ticks.load(Ordering::Relaxed), expected);
    }
}
