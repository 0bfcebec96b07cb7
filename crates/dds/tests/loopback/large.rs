//! Large messages between two participants that share nothing but the network.

use std::time::{Duration, Instant};

use rospin_dds::{PublishError, PublisherOptions, SubscriptionOptions};
use rospin_engine::ClockKind;
use rospin_msgs::std_msgs::msg::UInt8MultiArray;

use crate::common::{context, domain_id, executor, join, spin, wait};

const SIZE: usize = 10 << 20;
const COUNT: u8 = 10;

/// Ten of ten mebibytes, at up to ten a second: none is lost, and none takes seconds.
#[test]
#[expect(clippy::print_stderr, reason = "it says what it measured")]
fn ten_mebibytes_arrive() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let id = domain_id();
    let camera = join(id).ros(&context).create_node("camera").unwrap();
    let viewer = join(id).ros(&context).create_node("viewer").unwrap();
    let publisher = camera.create_publisher(PublisherOptions::new("image").keep_last(10)).unwrap();
    let group = executor.create_group("viewer", Vec::new());
    let handle = executor.handle();
    let options = SubscriptionOptions::new("image").keep_last(10);
    let subscription = viewer
        .on(&group)
        .create_subscription(options, move |seen: &mut Vec<u8>, image: UInt8MultiArray| {
            assert!(image.data.len() == SIZE && image.data.iter().all(|byte| *byte == image.data[0]), "it is whole");
            seen.push(image.data[0]);
            if image.data[0] + 1 == COUNT {
                handle.halt();
            }
        })
        .unwrap();
    wait(&executor, "the viewer is matched", publisher.wait_for_subscription());
    let begin = Instant::now();
    for number in 0..COUNT {
        let image = UInt8MultiArray { data: vec![number; SIZE].into(), ..UInt8MultiArray::default() };
        // The publisher is too far ahead of the network.
        while let Err(error) = publisher.publish(image.clone()) {
            assert!(matches!(error, PublishError::Full { .. }), "{error}");
        }
        let pause = executor.handle().sleep(ClockKind::Steady, Duration::from_millis(100));
        if number + 1 < COUNT {
            wait(&executor, "time passes", pause).unwrap();
        }
    }
    spin(&executor, "the last one is seen");
    eprintln!("{COUNT} of {SIZE} bytes took {:?}", begin.elapsed());
    assert_eq!(group.into_payload().unwrap(), (0..COUNT).collect::<Vec<_>>());
    assert_eq!(subscription.missed(), 0);
}
