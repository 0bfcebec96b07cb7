//! A callback that blocks delays nothing but its own executor.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{self, Text, context, domain_id, executor, join, spin, text, wait};

const BLOCK: Duration = Duration::from_millis(400);

#[test]
fn a_blocked_callback_does_not_delay_another_executors_topic() {
    let (context, _) = context();
    let slow = executor(&context, "slow");
    let quick = executor(&context, "quick");
    let talker = executor(&context, "talker");
    let domain = join(domain_id());
    let node = domain.ros(&context).create_node("robot").unwrap();
    let images = node.create_publisher::<Text>("images").unwrap();
    let commands = node.create_publisher::<Text>("commands").unwrap();

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
        // One message after the other arrives while the camera's callback blocks.
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
