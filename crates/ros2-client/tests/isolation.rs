//! A callback that blocks delays nothing but its own executor; in the bare library it delays all that is polled with it.

mod common;

use std::pin::pin;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use common::{Text, context, domain_id, executor, join, spin, text, wait};
use futures::executor::LocalPool;
use futures::task::LocalSpawnExt;
use futures::{StreamExt, future};
use ros2_client::{Context, MessageTypeName, Name, NodeName, NodeOptions, QosProfile};
use rospin_ros2_client::ros2_client;

const BLOCK: Duration = Duration::from_millis(400);

#[test]
fn a_blocked_callback_does_not_delay_another_executors_topic() {
    let (context, _) = context();
    let (slow, quick, talker) = (executor(&context, "slow"), executor(&context, "quick"), executor(&context, "talker"));
    let domain = join(&talker, domain_id());
    let node = domain.ros().create_node("robot").unwrap();
    let (images, commands) =
        (node.create_publisher::<Text>("images").unwrap(), node.create_publisher::<Text>("commands").unwrap());

    let (blocked, blocks) = mpsc::channel();
    let group = slow.create_group("camera", ());
    let handle = slow.handle();
    let camera = node
        .on(&group)
        .create_subscription("images", move |_: Text| {
            blocked.send(Instant::now()).unwrap();
            thread::sleep(BLOCK);
            handle.halt();
        })
        .unwrap();
    let (arrived, arrivals) = mpsc::channel();
    let group = quick.create_group("motor", ());
    let motor =
        node.on(&group).create_subscription("commands", move |_: Text| arrived.send(Instant::now()).unwrap()).unwrap();
    for publisher in [&images, &commands] {
        wait(&talker, "a publisher is matched", publisher.wait_for_subscription());
    }
    for subscription in [&camera, &motor] {
        wait(&talker, "a subscription is matched", subscription.wait_for_publisher());
    }

    let handle = quick.handle();
    thread::scope(|scope| {
        scope.spawn(|| spin(&slow, "the image is dealt with"));
        scope.spawn(|| spin(&quick, "the test ends"));
        images.publish(text("an image")).unwrap();
        let began = blocks.recv_timeout(common::PATIENCE).unwrap();
        // One after the other, all while the camera blocks.
        let mut latest = began;
        for _ in 0..10 {
            commands.publish(text("a command")).unwrap();
            latest = arrivals.recv_timeout(common::PATIENCE).unwrap();
        }
        handle.halt();
        let took = latest - began;
        assert!(took < BLOCK, "ten commands took {took:?}, as if they had waited for the camera");
    });
}

/// The library as its examples use it: the streams of a node's subscriptions, polled by one executor of futures.
#[test]
fn in_the_bare_library_it_delays_the_other_topic() {
    let (context, _) = context();
    let talker = executor(&context, "talker");
    let id = domain_id();
    let node = join(&talker, id).ros().create_node("talker").unwrap();
    let (images, commands) =
        (node.create_publisher::<Text>("images").unwrap(), node.create_publisher::<Text>("commands").unwrap());

    let (blocked, blocks) = mpsc::channel();
    let (arrived, arrivals) = mpsc::channel();
    let bare = thread::spawn(move || {
        let participant = ros2_client::dds::rustdds::DomainParticipantBuilder::new(id)
            .with_only_networks([std::net::Ipv4Addr::LOCALHOST])
            .build()
            .unwrap();
        let context = Context::from_domain_participant(participant).unwrap();
        let name = NodeName::new("/", "bare").unwrap();
        let mut node = context.new_node(name, NodeOptions::new().enable_rosout(false)).unwrap();
        let mut subscribe = |topic| {
            let qos = QosProfile::publisher_default();
            let string = MessageTypeName::new("std_msgs", "String");
            let topic = node.create_topic(&Name::parse(topic).unwrap(), string, &qos).unwrap();
            node.create_subscription::<Text>(&topic, Some(qos)).unwrap()
        };
        let (camera, motor) = (subscribe("/images"), subscribe("/commands"));
        let mut pool = LocalPool::new();
        let camera = async move {
            pin!(camera.async_stream()).next().await.unwrap().unwrap();
            blocked.send(Instant::now()).unwrap();
            thread::sleep(BLOCK);
        };
        pool.spawner().spawn_local(camera).unwrap();
        pool.run_until(async move {
            let commands = motor.async_stream().take(1);
            let tell = |_| {
                arrived.send(Instant::now()).unwrap();
                future::ready(())
            };
            commands.for_each(tell).await;
        });
    });
    for publisher in [&images, &commands] {
        wait(&talker, "a publisher is matched", publisher.wait_for_subscription());
    }
    images.publish(text("an image")).unwrap();
    let began = blocks.recv_timeout(common::PATIENCE).unwrap();
    commands.publish(text("a command")).unwrap();
    let took = arrivals.recv_timeout(common::PATIENCE).unwrap() - began;
    bare.join().unwrap();
    assert!(took >= BLOCK, "the command took {took:?} only");
}
