//! Messages whose bytes lie in memory of a device.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use rospin_node::{Blob, BlobMemory, BlobMemoryError};

use super::fixture::Fixture;
use super::messages::{Image, image};
use super::seen::Seen;
use super::world::World;

/// Memory of a device that counts how often its bytes are copied, for all messages.
struct OnDevice {
    content: Vec<u8>,
    copies: Arc<AtomicUsize>,
}

impl BlobMemory for OnDevice {
    fn len(&self) -> usize {
        self.content.len()
    }

    fn bytes(&self) -> Result<Bytes, BlobMemoryError> {
        self.copies.fetch_add(1, Ordering::SeqCst);
        Ok(self.content.clone().into())
    }
}

/// Bytes in memory of a device stay there for a subscription of the same process, and are copied once for all others,
/// who hear what they are.
pub fn bytes_on_a_device_are_copied_once_and_heard_everywhere<F: Fixture>() {
    const COUNT: usize = 10;
    let world = World::<F>::new();
    let main = world.executor("main");
    let publisher = world.here.create_publisher("images").unwrap();
    let group = main.create_group("group", ());
    let copies = Arc::new(AtomicUsize::new(0));
    let seen = Seen::new();
    let read = Seen::new();
    let log = seen.clone();
    let look = move |image: Image| {
        log.push(image.data.memory::<OnDevice>().map(|memory| memory.content.clone()));
    };
    let knowing = world.here.on(&group).create_subscription("images", look).unwrap();
    let log = read.clone();
    let others = [(); 2].map(|()| {
        let log = log.clone();
        let read = move |image: Image| log.push(image.data.into_vec());
        world.there.on(&group).create_subscription("images", read).unwrap()
    });
    world.matched(&publisher, &[&knowing, &others[0], &others[1]]);
    let content = |number: usize| vec![number as u8; 100_000 * number];
    world.spinning(&[&main], || {
        for number in 0..COUNT {
            let memory = OnDevice { content: content(number), copies: Arc::clone(&copies) };
            world.publish(&publisher, image(Blob::from_memory(Arc::new(memory))));
            world.wait("it is seen", seen.until_count(number + 1));
            world.wait("both read it", read.until_count(2 * (number + 1)));
        }
    });
    assert_eq!(seen.all(), (0..COUNT).map(|number| Some(content(number))).collect::<Vec<_>>());
    assert_eq!(read.all(), (0..2 * COUNT).map(|number| content(number / 2)).collect::<Vec<_>>());
    assert_eq!(copies.load(Ordering::SeqCst), COUNT);
}
