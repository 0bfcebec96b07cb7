//! A peer that shares no code with ours: Eclipse Cyclone DDS under Python, with the names that ROS 2 uses on the wire.
//!
//! See `rospin_testkit::peers::python` for what it wants.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rospin_dds::dynamic::{DynamicMessage, MessageType};
use rospin_dds::lifecycle::{Fault, State};
use rospin_dds::{Domain, Lifecycle, LifecycleHandle, LifecycleNode, Message};
use rospin_engine::{ClockKind, ExecutorHandle, SpinOptions};
use rospin_testkit::peers::matrix;
use serde::{Deserialize, Serialize};

use crate::common::{
    AddRequest, AddResponse, AddTwoInts, Text, context, cyclonedds, cyclonedds_wire, domain_id, executor, options,
    spin, text, wait,
};

#[test]
fn strings_go_there_and_back() {
    let id = domain_id();
    let Some(peer) = cyclonedds("cyclonedds_peer.py", "echo", id) else { return };
    let (context, _) = context();
    let executor = executor(&context, "main");
    let node = Domain::join(options(id)).unwrap().ros(&context).create_node("talker").unwrap();
    let publisher = node.create_publisher::<Text>("chatter").unwrap();
    let group = executor.create_group("echo", Vec::new());
    let handle = executor.handle();
    let pings = Arc::new(AtomicU32::new(0));
    let heard_pings = Arc::clone(&pings);
    let subscription = node
        .on(&group)
        .create_subscription("echo", move |heard: &mut Vec<String>, message: Text| match message.data.as_str() {
            "ping" => _ = heard_pings.fetch_add(1, Ordering::Relaxed),
            "the end" => handle.halt(),
            _ => heard.push(message.data),
        })
        .unwrap();
    wait(&executor, "the peer hears", publisher.wait_for_subscription());
    wait(&executor, "the peer is heard", subscription.wait_for_publisher());
    // The peer ignores a new writer until it gets the writer's first heartbeat, and never gets what was written before.
    wait(&executor, "the peer is there", async {
        while pings.load(Ordering::Relaxed) == 0 {
            publisher.publish(text("ping")).unwrap();
            let _ = executor.handle().sleep(ClockKind::Steady, Duration::from_millis(50)).await;
        }
    });
    let said = ["Hello World: 1", "", "größer als ASCII", "with \u{1} control", &"long ".repeat(20_000)];
    for data in said {
        publisher.publish(text(data)).unwrap();
    }
    publisher.publish(text("the end")).unwrap();
    spin(&executor, "all came back");
    assert_eq!(group.into_payload().unwrap(), said);
    drop((subscription, publisher, node, executor));
    peer.assert_success();
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Header {
    sec: i32,
    nanosec: u32,
    frame_id: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Image {
    header: Header,
    height: u32,
    width: u32,
    encoding: String,
    is_bigendian: u8,
    step: u32,
    data: Vec<u8>,
}

impl Message for Image {
    const TYPE: &str = "sensor_msgs/msg/Image";
}

impl Image {
    /// Returns a grey image of that size.
    fn new(height: u32, width: u32) -> Self {
        let header = Header { sec: 12, nanosec: 34, frame_id: "camera".to_owned() };
        let data = (0..height * width).map(|pixel| u8::try_from(pixel % 251).unwrap_or(0)).collect();
        Self { header, height, width, encoding: "mono8".to_owned(), is_bigendian: 0, step: width, data }
    }
}

#[test]
fn a_large_image_goes_there_and_back() {
    let id = domain_id();
    let Some(peer) = cyclonedds("cyclonedds_peer.py", "image", id) else { return };
    let (context, _) = context();
    let executor = executor(&context, "main");
    let node = Domain::join(options(id)).unwrap().ros(&context).create_node("camera").unwrap();
    let publisher = node.create_publisher::<Image>("image").unwrap();
    let group = executor.create_group("echo", None);
    let handle = executor.handle();
    let pings = Arc::new(AtomicU32::new(0));
    let heard_pings = Arc::clone(&pings);
    let subscription = node
        .on(&group)
        .create_subscription("image_echo", move |large: &mut Option<Image>, mut image: Image| match image.height {
            1 => _ = heard_pings.fetch_add(1, Ordering::Relaxed),
            0 => handle.halt(),
            _ => {
                image.data.reverse();
                *large = Some(image);
            }
        })
        .unwrap();
    wait(&executor, "the peer sees", publisher.wait_for_subscription());
    wait(&executor, "the peer is seen", subscription.wait_for_publisher());
    wait(&executor, "the peer is there", async {
        while pings.load(Ordering::Relaxed) == 0 {
            publisher.publish(Image::new(1, 1)).unwrap();
            let _ = executor.handle().sleep(ClockKind::Steady, Duration::from_millis(50)).await;
        }
    });
    let large = Image::new(1024, 1024);
    publisher.publish(large.clone()).unwrap();
    publisher.publish(Image::new(0, 0)).unwrap();
    spin(&executor, "the image came back");
    assert!(group.into_payload().unwrap() == Some(large), "it is as it was");
    drop((subscription, publisher, node, executor));
    peer.assert_success();
}

#[test]
fn an_image_of_a_type_known_at_run_time_goes_there_and_back() {
    let id = domain_id();
    let Some(peer) = cyclonedds("cyclonedds_peer.py", "image", id) else { return };
    let (context, _) = context();
    let executor = executor(&context, "main");
    let node = Domain::join(options(id)).unwrap().ros(&context).create_node("camera").unwrap();
    let install = [concat!(env!("CARGO_MANIFEST_DIR"), "/../dynamic/tests/install")];
    let image_type = MessageType::find_in("sensor_msgs/msg/Image", &install).unwrap();
    let image = |size: u32| {
        let mut image = DynamicMessage::new(&image_type);
        for (path, value) in [("height", size), ("width", size), ("step", size), ("header.stamp.nanosec", 34)] {
            image.set(path, value).unwrap();
        }
        image.set("header.frame_id", "camera").unwrap();
        image.set("encoding", "mono8").unwrap();
        image
            .set("data", (0..size * size).map(|pixel| u8::try_from(pixel % 251).unwrap()).collect::<Vec<_>>())
            .unwrap();
        image
    };
    let publisher = node.create_dynamic_publisher("image", &image_type).unwrap();
    let group = executor.create_group("echo", None);
    let handle = executor.handle();
    let pings = Arc::new(AtomicU32::new(0));
    let heard_pings = Arc::clone(&pings);
    let heard = move |large: &mut Option<DynamicMessage>, mut image: DynamicMessage| match image.get("height") {
        Ok(1_u32) => _ = heard_pings.fetch_add(1, Ordering::Relaxed),
        Ok(0) => handle.halt(),
        _ => {
            let mut data: Vec<u8> = image.get("data").unwrap();
            data.reverse();
            image.set("data", data).unwrap();
            *large = Some(image);
        }
    };
    let subscription = node.on(&group).create_dynamic_subscription("image_echo", &image_type, heard).unwrap();
    wait(&executor, "the peer sees", publisher.wait_for_subscription());
    wait(&executor, "the peer is seen", subscription.wait_for_publisher());
    wait(&executor, "the peer is there", async {
        while pings.load(Ordering::Relaxed) == 0 {
            publisher.publish(image(1)).unwrap();
            let _ = executor.handle().sleep(ClockKind::Steady, Duration::from_millis(50)).await;
        }
    });
    publisher.publish(image(200)).unwrap();
    publisher.publish(image(0)).unwrap();
    spin(&executor, "the image came back");
    assert!(group.into_payload().unwrap() == Some(image(200)), "it is as it was");
    drop((subscription, publisher, node, executor));
    peer.assert_success();
}

#[test]
fn the_peer_answers_calls() {
    let id = domain_id();
    let Some(peer) = cyclonedds("cyclonedds_peer.py", "add", id) else { return };
    let (context, _) = context();
    let executor = executor(&context, "main");
    let node = Domain::join(options(id)).unwrap().ros(&context).create_node("caller").unwrap();
    let client = node.create_client::<AddTwoInts>("add_two_ints").unwrap();
    wait(&executor, "the server is matched", client.wait_for_service());
    for (a, b) in [(1, 2), (i64::MAX - 1, 1), (-7, 5), (0, 0)] {
        // A server that does not know its client yet cannot answer, so the request is repeated.
        let patience = SpinOptions::new().timeout(Duration::from_secs(2));
        let mut calls = (0..15).map(|_| executor.spin_until(client.call(AddRequest { a, b }), patience));
        let response = calls.find_map(Result::ok).expect("the peer answers");
        assert_eq!(response.unwrap().sum, a + b);
    }
    drop((client, node, executor));
    peer.assert_success();
}

#[test]
fn the_peers_calls_are_answered() {
    let id = domain_id();
    let Some(peer) = cyclonedds("cyclonedds_peer.py", "call", id) else { return };
    let (context, _) = context();
    let executor = executor(&context, "main");
    let node = Domain::join(options(id)).unwrap().ros(&context).create_node("adder").unwrap();
    let group = executor.create_group("server", ());
    let handle = executor.handle();
    let server = node
        .on(&group)
        .create_service::<AddTwoInts, _>("add_two_ints", move |request: AddRequest| {
            if (request.a, request.b) == (0, 0) {
                handle.halt();
            }
            AddResponse { sum: request.a + request.b }
        })
        .unwrap();
    spin(&executor, "all is answered");
    assert_eq!(server.unsent_responses(), 0);
    drop((server, node, executor));
    peer.assert_success();
}

#[test]
fn the_peer_brings_a_lifecycle_node_up_and_down() {
    /// Device that halts the executor once it is shut down.
    struct Device(ExecutorHandle);
    impl Lifecycle for Device {
        fn on_shutdown(&mut self, _: &LifecycleHandle<Self>, previous: State) -> Result<(), Fault> {
            assert_eq!(previous, State::Active);
            self.0.halt();
            Ok(())
        }
    }
    let id = domain_id();
    let Some(peer) = cyclonedds("cyclonedds_peer.py", "lifecycle", id) else { return };
    let (context, _) = context();
    let executor = executor(&context, "main");
    let domain = Domain::join(options(id)).unwrap();
    let node =
        LifecycleNode::new(&domain.ros(&context), &executor.handle(), "device", Device(executor.handle())).unwrap();
    spin(&executor, "it is shut down");
    // The peer still gets its response: the transition ends before the executor does.
    peer.assert_success();
    assert_eq!(node.state(), State::Finalized);
}

#[test]
fn everything_works_both_ways() {
    let id = domain_id();
    let Some(peer) = cyclonedds_wire(id) else { return };
    let join = || Domain::join(options(id)).unwrap().ros(&context().0);
    matrix::all_parts_work("Cyclone DDS under Python", &|part| peer.start(part), join);
}
