//! Numbers in place of addresses.
//!
//! ros2_tracing names objects by their addresses. The objects of rclcpp and rcl that it means do not exist here, so
//! each has a number of its own: its kind in the bits above 52, and below them what tells it from others of its kind.
//! No real object is at such an address, and the numbers fit into signed ones, which tools use.

/// A number in place of the address of an object. Nothing is ever read from there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Address(pub(crate) u64);

/// The bits of a number below its kind.
const BITS: u32 = 52;

/// The kinds of objects of rclcpp and rcl that have addresses.
#[derive(Clone, Copy)]
enum Kind {
    Context = 1,
    Node,
    RmwNode,
    Publisher,
    RmwPublisher,
    Message,
    Callback,
    /// The handle of an entity in rcl.
    Entity,
    RmwEntity,
    /// A subscription of rclcpp.
    Subscription,
    Queue,
    /// The intra-process buffer of rclcpp, which owns the queue.
    Buffer,
    Client,
    RmwClient,
}

impl Address {
    const fn new(kind: Kind, number: u64) -> Self {
        Self((kind as u64) << BITS | number & ((1 << BITS) - 1))
    }

    pub(crate) const fn context() -> Self {
        Self::new(Kind::Context, 1)
    }

    pub(crate) fn node(name: &str) -> Self {
        Self::new(Kind::Node, hash(name.as_bytes()))
    }

    pub(crate) fn rmw_node(name: &str) -> Self {
        Self::new(Kind::RmwNode, hash(name.as_bytes()))
    }

    pub(crate) fn publisher(id: [u8; 16]) -> Self {
        Self::new(Kind::Publisher, hash(&id))
    }

    pub(crate) fn rmw_publisher(id: [u8; 16]) -> Self {
        Self::new(Kind::RmwPublisher, hash(&id))
    }

    /// Returns the address of a message of the publisher with that number.
    pub(crate) fn sent(id: [u8; 16], number: u64) -> Self {
        Self::new(Kind::Message, hash(&id) ^ number)
    }

    /// Returns the address of a message that the subscription takes.
    pub(crate) const fn taken(entity: EntityKey, published_ns: u64) -> Self {
        Self::new(Kind::Message, entity.number() ^ published_ns)
    }

    pub(crate) const fn callback(entity: EntityKey) -> Self {
        Self::new(Kind::Callback, entity.number())
    }

    pub(crate) const fn entity(entity: EntityKey) -> Self {
        Self::new(Kind::Entity, entity.number())
    }

    pub(crate) const fn rmw_entity(entity: EntityKey) -> Self {
        Self::new(Kind::RmwEntity, entity.number())
    }

    pub(crate) const fn subscription(entity: EntityKey) -> Self {
        Self::new(Kind::Subscription, entity.number())
    }

    pub(crate) const fn queue(number: u64) -> Self {
        Self::new(Kind::Queue, number)
    }

    pub(crate) const fn buffer(number: u64) -> Self {
        Self::new(Kind::Buffer, number)
    }

    pub(crate) const fn client(number: u64) -> Self {
        Self::new(Kind::Client, number)
    }

    pub(crate) const fn rmw_client(number: u64) -> Self {
        Self::new(Kind::RmwClient, number)
    }
}

/// An entity of an executor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct EntityKey {
    pub(crate) executor: u16,
    /// The entity's bits: its generation above its place in the executor's table.
    pub(crate) bits: u64,
}

impl EntityKey {
    /// Returns the entity's place in the executor's table.
    pub(crate) const fn place(self) -> (u16, u32) {
        (self.executor, self.bits as u32)
    }

    /// Returns the entity as a number of 52 bits: it differs from all others unless a program has more than 4096
    /// executors, a million entities on one of them, or an entity whose place 1,048,576 others had before.
    const fn number(self) -> u64 {
        let place = self.bits & 0xf_ffff;
        let generation = self.bits >> 32 & 0xf_ffff;
        (self.executor as u64 & 0xfff) << 40 | generation << 20 | place
    }
}

/// Returns the FNV-1a hash.
fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, step);
    // The upper bits are cut off, so they are folded into the lower ones.
    hash ^ hash >> BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_objects_have_different_numbers() {
        let key = |executor, generation: u64, place| EntityKey { executor, bits: generation << 32 | place };
        let keys = [key(0, 0, 0), key(1, 0, 0), key(0, 1, 0), key(0, 0, 1), key(4095, 0xf_ffff, 0xf_ffff)];
        let mut all: Vec<u64> = keys
            .iter()
            .flat_map(|key| [Address::callback(*key), Address::entity(*key), Address::rmw_entity(*key)])
            .chain(["/a", "/b"].iter().flat_map(|name| [Address::node(name), Address::rmw_node(name)]))
            .map(|address| address.0)
            .collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        assert!(all.iter().all(|number| *number > 1 << BITS && *number < 1 << 62));
    }
}
