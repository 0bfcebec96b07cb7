//! Messages whose bytes lie in memory of a device: as they are for subscriptions that know the device, and as bytes,
//! copied once, for all others. Quality of service is that of any message.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bytes::Bytes;
use rospin_engine::{Context, ContextOptions, Executor, ExecutorOptions, GroupOptions, LossCause, SpinOptions};
use rospin_msgs::std_msgs::msg::UInt8MultiArray as Picture;
use rospin_node::{
    Blob, BlobMemory, BlobMemoryError, MessageInfo, Node, Publisher, PublisherOptions, Qos, Ros, SerializedMessage,
    SubscriptionOptions, TypeName,
};

use crate::actions::set_up::watchdog;

const BYTES: usize = 100_000;

/// Counts of a device.
#[derive(Default)]
struct Device {
    /// Bytes that were copied from it.
    copied: AtomicUsize,
    /// Pictures that it has.
    pictures: AtomicUsize,
    is_lost: AtomicBool,
}

/// Memory of the device with one picture, whose bytes all have that value.
struct OnDevice {
    value: u8,
    device: Arc<Device>,
}

impl Drop for OnDevice {
    fn drop(&mut self) {
        self.device.pictures.fetch_sub(1, Ordering::SeqCst);
    }
}

impl BlobMemory for OnDevice {
    fn len(&self) -> usize {
        BYTES
    }

    fn bytes(&self) -> Result<Bytes, BlobMemoryError> {
        if self.device.is_lost.load(Ordering::SeqCst) {
            return Err(BlobMemoryError("it is lost".to_owned()));
        }
        self.device.copied.fetch_add(BYTES, Ordering::SeqCst);
        Ok(vec![self.value; BYTES].into())
    }
}

struct World {
    device: Arc<Device>,
    executor: Executor,
    node: Node,
}

impl World {
    fn new() -> Self {
        let context = Context::new(ContextOptions::new().on_incident(|_| {}));
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let node = Ros::in_process(&context).create_node("node").unwrap();
        Self { device: Arc::default(), executor, node }
    }

    fn picture(&self, value: u8) -> Picture {
        self.device.pictures.fetch_add(1, Ordering::SeqCst);
        let memory = OnDevice { value, device: Arc::clone(&self.device) };
        Picture { data: Blob::from_memory(Arc::new(memory)), ..Picture::default() }
    }

    fn camera(&self) -> Publisher<Picture> {
        self.node.create_publisher("pictures").unwrap()
    }

    fn spin_all(&self) {
        self.executor.spin(SpinOptions::spin_all()).unwrap();
    }

    fn copied(&self) -> usize {
        self.device.copied.load(Ordering::SeqCst)
    }

    fn pictures(&self) -> usize {
        self.device.pictures.load(Ordering::SeqCst)
    }
}

/// Notes the value of a picture in memory of the device, which is not read.
fn look(seen: &mut Vec<u8>, picture: &Picture) {
    let memory = picture.data.memory::<OnDevice>().expect("it is on the device");
    assert_eq!(picture.data.len(), BYTES);
    seen.push(memory.value);
}

/// Notes the value of a picture's bytes.
fn read(seen: &mut Vec<u8>, bytes: &[u8]) {
    assert!(bytes.len() == BYTES && bytes.iter().all(|byte| *byte == bytes[0]));
    seen.push(bytes[0]);
}

fn read_serialized(seen: &mut Vec<u8>, picture: SerializedMessage) {
    read(seen, &picture.deserialize::<Picture>().unwrap().data);
}

fn picture_type() -> TypeName {
    TypeName::of_message::<Picture>().unwrap()
}

#[test]
fn subscriptions_that_know_the_device_get_the_memory_and_nothing_is_copied() {
    let world = World::new();
    let group = world.executor.create_group("group", Vec::new());
    let on = world.node.on(&group);
    let by_value = |seen: &mut Vec<u8>, picture: Picture| look(seen, &picture);
    let by_arc = |seen: &mut Vec<u8>, picture: Arc<Picture>| look(seen, &picture);
    let informed = |seen: &mut Vec<u8>, picture: Picture, _: MessageInfo| look(seen, &picture);
    let _subscriptions = [
        on.create_subscription("pictures", by_value).unwrap(),
        on.create_subscription("pictures", by_arc).unwrap(),
        on.create_subscription("pictures", |seen: &mut Vec<u8>, picture: &Picture| look(seen, picture)).unwrap(),
        on.create_subscription("pictures", informed).unwrap(),
    ];
    let camera = world.camera();
    camera.publish(world.picture(1)).unwrap();
    camera.publish(Arc::new(world.picture(2))).unwrap();
    let kept = world.picture(3);
    camera.publish(&kept).unwrap();
    world.spin_all();
    assert_eq!((world.copied(), world.pictures()), (0, 1));
    drop(kept);
    assert_eq!(world.pictures(), 0);
    let mut seen = group.into_payload().unwrap();
    seen.sort_unstable();
    assert_eq!(seen, [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]);
}

#[test]
fn all_others_get_equal_bytes_that_are_copied_once() {
    let world = World::new();
    let group = world.executor.create_group("bytes", Vec::new());
    let knowing = world.executor.create_group("memory", Vec::new());
    let by_value = |seen: &mut Vec<u8>, picture: Picture| read(seen, &picture.data);
    let by_vector = |seen: &mut Vec<u8>, picture: Picture| read(seen, &picture.data.into_vec());
    let on = world.node.on(&group);
    let _subscriptions = [
        on.create_subscription("pictures", by_value).unwrap(),
        on.create_subscription("pictures", by_vector).unwrap(),
        on.create_serialized_subscription("pictures", &picture_type(), read_serialized).unwrap(),
        on.create_serialized_subscription("pictures", &picture_type(), read_serialized).unwrap(),
        world
            .node
            .on(&knowing)
            .create_subscription("pictures", |seen: &mut Vec<u8>, it: Picture| look(seen, &it))
            .unwrap(),
    ];
    let camera = world.camera();
    for (value, total) in [(7, BYTES), (8, 2 * BYTES)] {
        camera.publish(world.picture(value)).unwrap();
        world.spin_all();
        assert_eq!((world.copied(), world.pictures()), (total, 0));
    }
    assert_eq!(group.into_payload().unwrap(), [[7; 4], [8; 4]].concat());
    assert_eq!(knowing.into_payload().unwrap(), [7, 8]);
}

#[test]
fn nothing_is_copied_for_a_publisher_of_another_type() {
    let world = World::new();
    let group = world.executor.create_group("group", Vec::new());
    let _look =
        world.node.on(&group).create_subscription("pictures", |seen: &mut Vec<u8>, it: Picture| look(seen, &it));
    let other = world.node.create_serialized_publisher("pictures", &picture_type()).unwrap();
    let camera = world.camera();
    camera.publish(world.picture(1)).unwrap();
    world.spin_all();
    assert_eq!((world.copied(), other.subscription_count()), (0, 1));
}

#[test]
fn late_subscriptions_get_the_memory_or_the_bytes() {
    let world = World::new();
    let latched = PublisherOptions::new("pictures").keep_last(2).transient_local();
    let camera = world.node.create_publisher(latched).unwrap();
    for value in 1..=3 {
        camera.publish(world.picture(value)).unwrap();
    }
    assert_eq!((world.copied(), world.pictures()), (0, 2));
    let late = || SubscriptionOptions::new("pictures").keep_last(5).transient_local();
    let knowing = world.executor.create_group("memory", Vec::new());
    let _look = world.node.on(&knowing).create_subscription(late(), |seen: &mut Vec<u8>, it: Picture| look(seen, &it));
    world.spin_all();
    assert_eq!(world.copied(), 0);
    let group = world.executor.create_group("bytes", Vec::new());
    let on = world.node.on(&group);
    let _first = on.create_serialized_subscription(late(), &picture_type(), read_serialized).unwrap();
    let _second = on.create_serialized_subscription(late(), &picture_type(), read_serialized).unwrap();
    let _third = on.create_subscription(late(), |seen: &mut Vec<u8>, it: Picture| read(seen, &it.data)).unwrap();
    world.spin_all();
    assert_eq!((world.copied(), world.pictures()), (2 * BYTES, 2));
    drop(camera);
    assert_eq!(world.pictures(), 0);
    assert_eq!(knowing.into_payload().unwrap(), [2, 3]);
    let mut seen = group.into_payload().unwrap();
    seen.sort_unstable();
    assert_eq!(seen, [2, 2, 2, 3, 3, 3]);
}

#[test]
fn pictures_beyond_the_depth_are_counted_and_their_memory_is_free() {
    let world = World::new();
    let group = world.executor.create_group("memory", Vec::new());
    let bytes = world.executor.create_group("bytes", Vec::new());
    let last = || SubscriptionOptions::new("pictures").keep_last(2);
    let look = |seen: &mut Vec<u8>, it: Picture| look(seen, &it);
    let memory = world.node.on(&group).create_subscription(last(), look).unwrap();
    let encoded =
        world.node.on(&bytes).create_serialized_subscription(last(), &picture_type(), read_serialized).unwrap();
    let camera = world.camera();
    for value in 1..=5 {
        camera.publish(world.picture(value)).unwrap();
    }
    assert_eq!((world.pictures(), memory.lost(LossCause::QueueFull), encoded.lost(LossCause::QueueFull)), (2, 3, 3));
    world.spin_all();
    assert_eq!(world.pictures(), 0);
    assert_eq!([group, bytes].map(|group| group.into_payload().unwrap()), [[4, 5], [4, 5]]);
}

#[test]
fn a_publisher_that_loses_nothing_waits_for_room() {
    watchdog(|| {
        let world = World::new();
        let group = world.executor.create_group("memory", Vec::new());
        let look = |seen: &mut Vec<u8>, it: Picture| look(seen, &it);
        let all = SubscriptionOptions::new("pictures").qos(Qos::keep_all());
        let subscription = world.node.on(&group).create_subscription(all, look).unwrap();
        let camera: Publisher<Picture> =
            world.node.create_publisher(PublisherOptions::new("pictures").qos(Qos::keep_all())).unwrap();
        for value in 0..200 {
            camera.publish(world.picture(value)).unwrap();
        }
        assert_eq!(world.pictures(), 200);
        world.spin_all();
        assert_eq!((subscription.missed(), world.pictures(), world.copied()), (0, 0, 0));
        assert_eq!(group.into_payload().unwrap(), Vec::from_iter(0..200));
    });
}

#[test]
fn a_lost_device_is_an_error_of_the_publisher_only_if_bytes_are_needed() {
    let world = World::new();
    let group = world.executor.create_group("memory", Vec::new());
    let look = |seen: &mut Vec<u8>, it: Picture| look(seen, &it);
    let _subscription = world.node.on(&group).create_subscription("pictures", look).unwrap();
    let camera = world.camera();
    world.device.is_lost.store(true, Ordering::SeqCst);
    camera.publish(world.picture(1)).unwrap();
    world.spin_all();
    let options = GroupOptions::new("bytes");
    let bytes = world.executor.create_group(options, Vec::new());
    let encoded = world.node.on(&bytes).create_serialized_subscription("pictures", &picture_type(), read_serialized);
    let error = camera.publish(world.picture(2)).unwrap_err();
    assert!(error.to_string().contains("it is lost"), "{error}");
    drop(encoded);
    // A callback that reads the bytes panics, and the others are called as always.
    let read = |seen: &mut Vec<u8>, it: Picture| read(seen, &it.data);
    let _reader = world.node.on(&bytes).create_subscription("pictures", read).unwrap();
    camera.publish(world.picture(3)).unwrap();
    world.spin_all();
    world.device.is_lost.store(false, Ordering::SeqCst);
    camera.publish(world.picture(4)).unwrap();
    world.spin_all();
    assert_eq!((group.into_payload().unwrap(), bytes.into_payload().unwrap()), (vec![1, 3, 4], vec![4]));
    assert_eq!(world.pictures(), 0);
}
