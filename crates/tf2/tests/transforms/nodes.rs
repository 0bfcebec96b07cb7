//! Listeners, broadcasters and waiting futures as parts of nodes, on a manual clock.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context as TaskContext, Poll, Wake};
use std::time::Duration;

use rospin::monitoring::LossCause;
use rospin::msgs::builtin_interfaces::msg::Time;
use rospin::msgs::geometry_msgs::msg::{
    PointStamped, PoseStamped, Quaternion, QuaternionStamped, TransformStamped, Vector3Stamped,
};
use rospin::msgs::std_msgs::msg::Header;
use rospin::prelude::*;
use rospin::tf2::{
    Buffer, Latest, SetTransformError, StaticTransformBroadcaster, TransformBroadcaster, TransformError,
    TransformErrorKind, TransformListener, WaitError,
};
use rospin::time::ManualClock;

const SECOND: Duration = Duration::from_secs(1);

/// Returns a transform along x whose length is `sec` metres, with the stamp `sec`.
fn transform(parent: &str, child: &str, sec: i32) -> TransformStamped {
    let mut transform = TransformStamped { child_frame_id: child.to_owned(), ..TransformStamped::default() };
    transform.header.frame_id = parent.to_owned();
    transform.header.stamp.sec = sec;
    transform.transform.translation.x = sec.into();
    transform
}

const fn at(sec: i32) -> Time {
    Time { sec, nanosec: 0 }
}

struct World {
    clock: ManualClock,
    context: Context,
    ros: Ros,
    node: Node,
}

impl World {
    /// Returns a process whose ROS time is driven, and shows 100 s.
    fn new() -> Self {
        let clock = ManualClock::new();
        let context = Context::new(ContextOptions::new().manual_clock(clock.clone()));
        drop(context.ros_time().set(rospin::Time::from_millis(100_000)));
        drop(context.ros_time().set_active(true));
        let ros = Ros::in_process(&context);
        let node = ros.create_node("robot").unwrap();
        Self { clock, context, ros, node }
    }

    fn spin(&self) {
        self.ros.executor().spin(SpinOptions::spin_all()).unwrap();
    }

    fn set_time(&self, millis: u64) {
        drop(self.context.ros_time().set(rospin::Time::from_millis(millis)));
        self.spin();
    }
}

/// A waker that counts its calls.
#[derive(Default)]
struct Wakes(AtomicU32);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn poll<F: Future>(future: &mut std::pin::Pin<Box<F>>, wakes: &Arc<Wakes>) -> Poll<F::Output> {
    future.as_mut().poll(&mut TaskContext::from_waker(&Arc::clone(wakes).into()))
}

#[test]
fn a_listener_hears_both_topics_and_late_ones_get_all_static_transforms() {
    let world = World::new();
    let moving = TransformBroadcaster::new(&world.node).unwrap();
    let fixed = StaticTransformBroadcaster::new(&world.node).unwrap();
    fixed.send([transform("base", "camera", 1), transform("base", "lidar", 2)]).unwrap();
    fixed.send_transform(transform("base", "camera", 3)).unwrap();
    let listener = TransformListener::new(&world.node).unwrap();
    moving.send([transform("map", "base", 98), transform("map", "base", 100), transform("map", "base", 1)]).unwrap();
    world.spin();
    let x = |target: &str, source: &str| {
        listener.buffer().lookup_transform(target, source, Latest).unwrap().transform.translation.x
    };
    assert_eq!(
        (x("base", "camera"), x("base", "lidar"), x("map", "lidar"), x("camera", "map")),
        (3.0, 2.0, 102.0, -103.0)
    );
    assert_eq!((listener.dynamic().name(), listener.fixed().name()), ("robot/tf", "robot/tf_static"));
    assert_eq!((listener.dynamic().lost(LossCause::QueueFull), listener.refused()), (0, 1), "one is too old");
}

#[test]
fn a_listener_can_be_on_any_group_and_share_a_buffer() {
    let world = World::new();
    let buffer = Buffer::with_cache_time(SECOND);
    let exclusive = world.ros.executor().create_group("exclusive", 7);
    let reentrant = world.ros.executor().create_reentrant_group("reentrant");
    let listeners = [
        TransformListener::on(&world.node, &exclusive, buffer.clone()).unwrap(),
        TransformListener::on(&world.node, &reentrant, Buffer::new()).unwrap(),
    ];
    TransformBroadcaster::new(&world.node).unwrap().send_transform(transform("map", "base", 5)).unwrap();
    world.spin();
    assert!(buffer.has_frame("base") && listeners[1].buffer().has_frame("map"));
    drop(listeners);
    assert!(buffer.can_transform("map", "base", at(5)).is_ok(), "the buffer outlives its listener");
}

#[test]
fn a_jump_back_of_ros_time_clears_what_is_not_static() {
    let world = World::new();
    let listener = TransformListener::new(&world.node).unwrap();
    TransformBroadcaster::new(&world.node).unwrap().send([transform("map", "base", 100)]).unwrap();
    StaticTransformBroadcaster::new(&world.node).unwrap().send([transform("base", "camera", 0)]).unwrap();
    world.set_time(101_000);
    assert!(listener.buffer().can_transform("map", "camera", at(100)).is_ok());
    world.set_time(50_000);
    let error = listener.buffer().lookup_transform("map", "camera", at(100)).unwrap_err();
    assert!(matches!(&error, TransformError::TooFew { frame, only_ns: None, .. } if frame == "base"), "{error}");
    assert!(listener.buffer().can_transform("base", "camera", at(1)).is_ok());
}

#[test]
fn an_asynchronous_callback_waits_for_a_transform_of_its_own_executor() {
    let world = World::new();
    let group = world.ros.executor().create_group("tf", ());
    let listener = Arc::new(TransformListener::on(&world.node, &group, Buffer::new()).unwrap());
    let found = world.ros.executor().create_group("found", Vec::new());
    let waiting = Arc::clone(&listener);
    let _points =
        world.node.on(&found).create_subscription("points", move |all: Payload<Vec<f64>>, point: PointStamped| {
            let wait = waiting.wait_for_transform("map", "base", point.header.stamp, 5 * SECOND);
            let listener = Arc::clone(&waiting);
            async move {
                wait.await?;
                let point = listener.buffer().transform(&point, "map").expect("it is there now");
                all.with(|all| all.push(point.point.x));
                Ok::<(), WaitError>(())
            }
        });
    let _points = _points.unwrap();
    let mut point = PointStamped::default();
    point.header.frame_id = "base".to_owned();
    point.header.stamp = at(99);
    point.point.x = 0.5;
    world.node.create_publisher("points").unwrap().publish(point).unwrap();
    world.spin();
    let moving = TransformBroadcaster::new(&world.node).unwrap();
    moving.send([transform("map", "base", 98)]).unwrap();
    world.spin();
    moving.send([transform("map", "base", 100)]).unwrap();
    world.spin();
    assert_eq!(found.into_payload().unwrap(), [99.5]);
}

#[test]
fn a_callback_awaits_a_transform_that_its_own_nodes_group_hears() {
    let world = World::new();
    let group = world.node.own_group().unwrap();
    let listener = TransformListener::on(&world.node, group, Buffer::new()).unwrap();
    let (found, is_found) = std::sync::mpsc::channel();
    let hear = move |header: Header| {
        let wait = listener.wait_for_transform("map", "base", header.stamp, 5 * SECOND);
        let found = found.clone();
        async move { found.send(wait.await.is_ok()).unwrap() }
    };
    let _points = world.node.create_subscription("points", hear).unwrap();
    world.node.create_publisher("points").unwrap().publish(Header { stamp: at(99), ..Header::default() }).unwrap();
    world.spin();
    let moving = TransformBroadcaster::new(&world.node).unwrap();
    moving.send([transform("map", "base", 98), transform("map", "base", 100)]).unwrap();
    world.spin();
    assert_eq!(is_found.try_recv(), Ok(true));
}

#[test]
fn the_timeout_is_on_the_nodes_clock_and_has_the_reason() {
    let world = World::new();
    let listener = TransformListener::new(&world.node).unwrap();
    let group = world.ros.executor().create_group("group", Vec::new());
    let _go = world.node.on(&group).create_subscription("go", move |ends: Payload<Vec<WaitError>>, _: Header| {
        let wait = listener.wait_for_transform("map", "base", at(100), 2 * SECOND);
        async move {
            let end = wait.await.expect_err("there is no transform");
            ends.with(|ends| ends.push(end));
        }
    });
    let _go = _go.unwrap();
    world.node.create_publisher("go").unwrap().publish(Header::default()).unwrap();
    world.spin();
    world.clock.advance(60 * SECOND);
    world.set_time(101_999);
    let transforms = TransformBroadcaster::new(&world.node).unwrap();
    transforms.send([transform("map", "base", 102)]).unwrap();
    world.set_time(102_000);
    let ends = group.into_payload().unwrap();
    let [WaitError::Timeout { timeout: Some(timeout), reason }] = &ends[..] else { panic!("{ends:?}") };
    assert_eq!(*timeout, 2 * SECOND);
    assert!(
        matches!(reason, TransformError::TooFew { only_ns: Some(102_000_000_000), .. }),
        "it waited until then: {reason}"
    );
}

#[test]
fn a_future_is_woken_by_the_frame_that_it_lacks_and_by_no_other() {
    let buffer = Buffer::new();
    let set = |parent, child, sec| buffer.set_transform(&transform(parent, child, sec), "test").unwrap();
    set("map", "base", 10);
    set("base", "arm", 10);
    let wakes = Arc::new(Wakes::default());
    let mut wait = Box::pin(buffer.wait_for_transform("map", "arm", at(12)));
    let count = || wakes.0.load(Ordering::Relaxed);
    assert!(poll(&mut wait, &wakes).is_pending());
    set("map", "base", 11);
    assert_eq!(count(), 0, "`arm` stands in the way, not `base`");
    set("base", "arm", 13);
    assert_eq!(count(), 1);
    assert!(poll(&mut wait, &wakes).is_pending(), "now `base` does");
    set("base", "arm", 14);
    assert_eq!(count(), 1);
    set("map", "base", 12);
    assert_eq!(count(), 2);
    let Poll::Ready(found) = poll(&mut wait, &wakes) else { panic!("it is there") };
    assert_eq!(found.unwrap().header.stamp, at(12));
}

/// The error is about `base`, where the search from the target ends. But a transform of `arm` alone makes the look-up
/// possible.
#[test]
fn a_future_waits_for_the_frames_of_both_ways() {
    let buffer = Buffer::new();
    let set = |parent, child, sec| buffer.set_transform(&transform(parent, child, sec), "test").unwrap();
    set("map", "base", 2);
    set("base", "arm", 1);
    let wakes = Arc::new(Wakes::default());
    let mut wait = Box::pin(buffer.wait_for_transform("base", "arm", at(3)));
    assert!(poll(&mut wait, &wakes).is_pending());
    set("base", "arm", 4);
    assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
    assert!(poll(&mut wait, &wakes).is_ready());
}

#[test]
fn frames_that_do_not_exist_or_are_not_connected_yet_are_waited_for() {
    let buffer = Buffer::new();
    let set = |parent, child, sec| buffer.set_transform(&transform(parent, child, sec), "test").unwrap();
    let wakes = Arc::new(Wakes::default());
    let mut wait = Box::pin(buffer.wait_for_transform("map", "arm", Latest));
    assert!(poll(&mut wait, &wakes).is_pending());
    set("base", "arm", 1);
    assert!(poll(&mut wait, &wakes).is_pending());
    set("map", "odom", 1);
    assert!(poll(&mut wait, &wakes).is_pending());
    set("odom", "base", 1);
    assert_eq!(wakes.0.load(Ordering::Relaxed), 3);
    assert!(poll(&mut wait, &wakes).is_ready());
    // A dropped future leaves no waker behind.
    let mut dropped = Box::pin(buffer.wait_for_transform("map", "nowhere", Latest));
    assert!(poll(&mut dropped, &wakes).is_pending());
    drop(dropped);
    set("map", "new", 1);
    assert_eq!(wakes.0.load(Ordering::Relaxed), 3);
}

/// The frame without data at the latest common time is `arm`, and what helps is a transform of `base`.
#[test]
fn the_latest_time_is_waited_for_by_all_frames() {
    let buffer = Buffer::with_cache_time(5 * SECOND);
    let set = |parent, child, sec| buffer.set_transform(&transform(parent, child, sec), "test").unwrap();
    set("map", "base", 10);
    set("base", "arm", 20);
    let wakes = Arc::new(Wakes::default());
    let mut wait = Box::pin(buffer.wait_for_transform("map", "arm", Latest));
    assert!(poll(&mut wait, &wakes).is_pending());
    set("map", "base", 20);
    assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
    assert!(poll(&mut wait, &wakes).is_ready());
}

/// Waker that notes its number when it is called.
struct Noted {
    number: usize,
    order: Arc<Mutex<Vec<usize>>>,
}

impl Wake for Noted {
    fn wake(self: Arc<Self>) {
        self.order.lock().unwrap().push(self.number);
    }
}

#[test]
fn futures_are_woken_in_the_order_in_which_they_began_to_wait() {
    let buffer = Buffer::new();
    let order = Arc::<Mutex<Vec<usize>>>::default();
    let mut waits = Vec::new();
    for number in 0..8 {
        let frame = format!("frame{number}");
        buffer.set_transform(&transform("map", &frame, 1), "test").unwrap();
        waits.push(Box::pin(buffer.wait_for_transform("map", frame, at(5))));
    }
    for (number, wait) in waits.iter_mut().enumerate() {
        let waker = Arc::new(Noted { number, order: Arc::clone(&order) }).into();
        assert!(wait.as_mut().poll(&mut TaskContext::from_waker(&waker)).is_pending());
    }
    // A new frame changes the structure, which may help each of them.
    buffer.set_transform(&transform("map", "new", 1), "test").unwrap();
    assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn waiting_ends_at_once_if_it_would_be_in_vain() {
    let buffer = Buffer::with_cache_time(5 * SECOND);
    for sec in [10, 20] {
        buffer.set_transform(&transform("map", "base", sec), "test").unwrap();
    }
    let wakes = Arc::new(Wakes::default());
    let end = |target: &str, time| {
        let Poll::Ready(end) = poll(&mut Box::pin(buffer.wait_for_transform(target, "base", time)), &wakes) else {
            return None;
        };
        Some(end.unwrap_err())
    };
    assert!(matches!(end("map", at(4)), Some(WaitError::Never(TransformError::Past { .. }))));
    assert!(matches!(end("/map", at(20)), Some(WaitError::Never(TransformError::InvalidFrame { .. }))));
    assert!(end("map", at(21)).is_none() && end("odom", at(20)).is_none());
}

#[test]
fn errors_name_frames_and_times() {
    let buffer = Buffer::new();
    for (parent, child, sec) in [("map", "base", 10), ("map", "base", 12), ("base", "arm", 11), ("x", "y", 1)] {
        buffer.set_transform(&transform(parent, child, sec), "test").unwrap();
    }
    let error = |target: &str, source: &str, sec| buffer.lookup_transform(target, source, at(sec)).unwrap_err();
    let cases = [
        (
            error("map", "base", 13),
            TransformErrorKind::Extrapolation,
            "no transform from `base` to `map` at 13.000000000 s: the newest transform of `base` is of 12.000000000 \
             s, and nothing is extrapolated into the future",
        ),
        (
            error("base", "map", 9),
            TransformErrorKind::Extrapolation,
            "no transform from `map` to `base` at 9.000000000 s: the oldest transform of `base` that is kept is of \
             10.000000000 s, and nothing is extrapolated into the past",
        ),
        (
            error("map", "arm", 12),
            TransformErrorKind::Extrapolation,
            "no transform from `arm` to `map` at 12.000000000 s: `arm` has one transform, of 11.000000000 s, and \
             interpolation needs two",
        ),
        (
            error("map", "y", 12),
            TransformErrorKind::Extrapolation,
            "no transform from `y` to `map` at 12.000000000 s: `y` has one transform, of 1.000000000 s, and \
             interpolation needs two",
        ),
        (
            error("map", "x", 12),
            TransformErrorKind::Connectivity,
            "frames `map` and `x` are not connected: they are in different trees",
        ),
        (
            error("map", "z", 12),
            TransformErrorKind::Lookup,
            "frame `z` does not exist: no transform from or to it has come",
        ),
        (error("map", "", 12), TransformErrorKind::InvalidArgument, "`` is not the name of a frame: it is empty"),
    ];
    for (error, kind, text) in cases {
        assert_eq!((error.to_string().as_str(), error.kind()), (text, kind));
    }
    let mut invalid = transform("map", "map", 1);
    assert!(matches!(buffer.set_transform(&invalid, ""), Err(SetTransformError::SameFrame { .. })));
    invalid.child_frame_id = "base".to_owned();
    let error = buffer.set_transform(&invalid, "").unwrap_err().to_string();
    assert_eq!(
        error,
        "the transform of `base` of 1.000000000 s was ignored: the newest one is of 12.000000000 s, and only \
         10.000000000 s are kept"
    );
    invalid.transform.rotation.w = 0.0;
    assert!(
        matches!(buffer.set_transform(&invalid, ""), Err(SetTransformError::NotNormalized { length, .. }) if length == "0.000")
    );
    invalid.transform.translation.y = f64::NAN;
    assert!(matches!(buffer.set_transform(&invalid, ""), Err(SetTransformError::NotANumber { .. })));
    invalid.child_frame_id = "/".to_owned();
    assert!(matches!(buffer.set_transform(&invalid, ""), Err(SetTransformError::NoChild { .. })));
    invalid.header.frame_id = String::new();
    invalid.child_frame_id = "base".to_owned();
    assert!(matches!(buffer.set_transform(&invalid, ""), Err(SetTransformError::NoParent { .. })));
}

#[test]
fn points_vectors_poses_and_rotations_are_transformed() {
    let buffer = Buffer::new();
    let half = std::f64::consts::FRAC_1_SQRT_2;
    let quarter_turn = Quaternion { x: 0.0, y: 0.0, z: half, w: half };
    for sec in [10, 12] {
        let mut mount = transform("map", "base", sec);
        mount.transform.rotation = quarter_turn;
        buffer.set_transform(&mount, "test").unwrap();
    }
    let mut point = PointStamped::default();
    point.header.frame_id = "base".to_owned();
    point.header.stamp = at(11);
    point.point.x = 1.0;
    let header = point.header.clone();
    let near = |one: f64, other: f64| (one - other).abs() < 1e-12;
    let moved = buffer.transform(&point, "map").unwrap();
    assert!(near(moved.point.x, 11.0) && near(moved.point.y, 1.0), "{moved:?}");
    assert_eq!((moved.header.frame_id.as_str(), moved.header.stamp), ("map", at(11)));
    let mut vector = Vector3Stamped { header: header.clone(), ..Vector3Stamped::default() };
    vector.vector.x = 1.0;
    let turned = buffer.transform(&vector, "map").unwrap().vector;
    assert!(near(turned.x, 0.0) && near(turned.y, 1.0), "a vector is not moved: {turned:?}");
    let rotation = QuaternionStamped { header: header.clone(), quaternion: quarter_turn };
    let twice = buffer.transform(&rotation, "map").unwrap().quaternion;
    assert!(near(twice.z, 1.0) && near(twice.w, 0.0), "{twice:?}");
    let mut pose = PoseStamped { header, ..PoseStamped::default() };
    pose.pose.position.x = 1.0;
    let pose = buffer.transform(&pose, "map").unwrap().pose;
    assert!(near(pose.position.y, 1.0) && near(pose.orientation.z, half), "{pose:?}");
    // Seen at 11 s and again at 12 s: the base moved by a metre along x of the map, so the point seems to move back.
    let later = buffer.transform_to_time(&point, "base", at(12), "map").unwrap();
    assert!(near(later.point.x, 1.0) && near(later.point.y, 1.0), "{later:?}");
    assert!(buffer.transform(&point, "nowhere").is_err());
}

#[test]
fn frames_are_shown_as_yaml_and_as_a_tree() {
    let buffer = Buffer::new();
    assert_eq!((buffer.all_frames_as_yaml().as_str(), buffer.all_frames_as_tree().as_str()), ("[]", ""));
    for sec in [10, 11, 12] {
        buffer.set_transform(&transform("map", "base", sec), "odometry").unwrap();
    }
    buffer.set_static_transform(&transform("base", "camera", 1), "").unwrap();
    let expected = "base:\n  parent: 'map'\n  broadcaster: 'odometry'\n  rate: 1.500\n  most_recent_transform: \
                    12.000000000\n  oldest_transform: 10.000000000\n  buffer_length: 2.000\ncamera:\n  parent: \
                    'base'\n  broadcaster: 'no recorded authority'\n  rate: 10000.000\n  most_recent_transform: \
                    0.000000000\n  oldest_transform: 0.000000000\n  buffer_length: 0.000\n";
    assert_eq!(buffer.all_frames_as_yaml(), expected);
    let tree = "map\n  base: 3 transforms, 10.000000000 s to 12.000000000 s\n    camera: static\n";
    assert_eq!(buffer.all_frames_as_tree(), tree);
    assert_eq!((buffer.parent("camera", Latest), buffer.parent("map", Latest)), (Some("base".to_owned()), None));
    assert_eq!(buffer.frame_names(), ["base", "map", "camera"]);
    assert_eq!(buffer.latest_common_time("map", "camera"), Ok(Some(at(12))));
    assert_eq!(buffer.latest_common_time("base", "camera"), Ok(None));
    // The tree shows a loop, too, and each of its frames once.
    buffer.set_transform(&transform("camera", "map", 12), "").unwrap();
    assert_eq!(buffer.all_frames_as_tree().lines().count(), 3);
    let error = buffer.lookup_transform("map", "nobody", Latest).unwrap_err();
    assert!(matches!(error, TransformError::UnknownFrame { .. }));
}

/// The file sets the depths of a listener's queues: one on the node's own group, in a namespace, and one on a further
/// group.
#[test]
fn a_deployment_file_names_the_listeners_subscriptions() {
    let file = "callback = [
        { name = 'planner/tf', depth = 2 },
        { name = 'planner/tf_static', depth = 9 },
        { name = 'planner/frames/tf', depth = 1 },
    ]";
    let deployment = rospin::deployment::Deployment::parse(file).unwrap();
    let mut test = rospin::testing::Harness::with_deployment(deployment, rospin::RosArguments::default());
    let node = test.create_node(NodeOptions::new("planner").namespace("robot1")).unwrap();
    let frames = node.create_group("frames", ()).unwrap();
    let own = TransformListener::new(&node).unwrap();
    let other = TransformListener::on(&node, &frames, Buffer::new()).unwrap();
    let broadcaster = TransformBroadcaster::new(test.node()).unwrap();
    for sec in 1..=5 {
        broadcaster.send([transform("map", "base", sec)]).unwrap();
    }
    test.run().unwrap();
    assert_eq!([own.dynamic().missed(), other.dynamic().missed()], [3, 4]);
}
