//! Options of the local path: which topics take it, and how much memory they may have.

use rospin_node::{Durability, History, Liveliness, Qos, Reliability, TypeName};

/// Types of ROS 2 whose messages consist of bytes for the most part.
const BULKY: [&str; 8] = [
    "sensor_msgs/msg/CompressedImage",
    "sensor_msgs/msg/Image",
    "sensor_msgs/msg/PointCloud2",
    "std_msgs/msg/ByteMultiArray",
    "std_msgs/msg/UInt8MultiArray",
    "stereo_msgs/msg/DisparityImage",
    "theora_image_transport/msg/Packet",
    "ffmpeg_image_transport_msgs/msg/FFMPEGPacket",
];

/// Options of [`Local`](crate::Local).
///
/// The processes of a machine should have the same ones. Those of the first process that has a topic decide: another
/// process that wants more room than there is leaves its end of the topic to the middleware.
#[derive(Clone, Debug)]
pub struct LocalOptions {
    pub(crate) types: Types,
    pub(crate) ends: usize,
    pub(crate) waiting: usize,
    pub(crate) held: usize,
    pub(crate) loans: usize,
}

/// Types of messages.
#[derive(Clone, Debug)]
pub(crate) enum Types {
    All,
    /// The [bulky](BULKY) ones and those.
    Bulky(Vec<String>),
}

impl LocalOptions {
    /// Returns the default options.
    #[must_use]
    pub fn new() -> Self {
        Self { types: Types::Bulky(Vec::new()), ends: 8, waiting: 16, held: 8, loans: 4 }
    }

    /// Has topics of that type take the local path, too, such as `my_msgs/msg/Frame`. By default those of images,
    /// compressed images, point clouds and arrays of bytes take it.
    #[must_use]
    pub fn with_type(mut self, type_name: impl Into<String>) -> Self {
        if let Types::Bulky(more) = &mut self.types {
            more.push(type_name.into());
        }
        self
    }

    /// Has topics of all types take the local path. Each publisher and each subscription then has shared memory, and
    /// each subscription a thread.
    #[must_use]
    pub fn with_all_types(mut self) -> Self {
        self.types = Types::All;
        self
    }

    /// Sets how many publishers, and how many subscriptions, a topic may have on the local path: 8 by default. Further
    /// ones use the middleware.
    #[must_use]
    pub fn with_ends(mut self, ends: usize) -> Self {
        self.ends = ends.max(1);
        self
    }

    /// Sets how many messages of a publisher may wait for a subscription whose process does not run: 16 by default. A
    /// publisher then waits for up to 100 ms, and the messages after that are lost to the subscription, and counted.
    /// Messages that wait for an executor are not among them: the subscription's queue has them.
    #[must_use]
    pub fn with_waiting(mut self, messages: usize) -> Self {
        self.waiting = messages.max(1);
        self
    }

    /// Sets how many messages of at least 64 KiB a subscription may hold in shared memory: in its queue, or in
    /// callbacks and what they keep of the messages. By default 8. Further ones are copied, until one is dropped.
    #[must_use]
    pub fn with_held(mut self, messages: usize) -> Self {
        self.held = messages.max(1);
        self
    }

    /// Sets how many loans of a publisher may exist at a time: 4 by default.
    #[must_use]
    pub fn with_loans(mut self, loans: usize) -> Self {
        self.loans = loans.max(1);
        self
    }

    /// Returns the most messages that the memory of a publisher holds: those that wait for subscriptions and are held
    /// by them, loans, and the one that is being published. The memory of each is the size of the publisher's longest
    /// message, rounded up to a power of two. Memory that was never used takes no place in the machine's.
    ///
    /// ```
    /// # use rospin_local::LocalOptions;
    /// assert_eq!(LocalOptions::new().slots(), 213);
    /// assert_eq!(LocalOptions::new().with_ends(1).with_waiting(2).with_held(2).with_loans(1).slots(), 8);
    /// ```
    #[must_use]
    pub const fn slots(&self) -> usize {
        self.ends * (self.waiting + self.borrowed()) + self.most_loans()
    }

    /// Returns the number of messages that a subscription takes out of shared memory at a time: those that it holds,
    /// and the two that are being looked at or copied.
    pub(crate) const fn borrowed(&self) -> usize {
        self.held + 2
    }

    /// Returns the number of loans, with that of a message which is copied into shared memory.
    pub(crate) const fn most_loans(&self) -> usize {
        self.loans + 1
    }

    /// Returns true if an end of that type and quality of service takes the local path. The middleware has all others:
    /// ends that keep messages for late ones, that have limits of time, or that must not lose anything.
    pub(crate) fn takes(&self, message_type: &TypeName, qos: &Qos) -> bool {
        let keeps_all = qos.reliability == Reliability::Reliable && qos.history == History::KeepAll;
        let is_timed = qos.deadline().is_some()
            || qos.lifespan().is_some()
            || qos.liveliness_lease().is_some()
            || qos.liveliness != Liveliness::Automatic;
        let is_plain = qos.durability == Durability::Volatile && !keeps_all && !is_timed;
        let name = message_type.to_string();
        let is_of_type = match &self.types {
            Types::All => true,
            Types::Bulky(more) => BULKY.contains(&name.as_str()) || more.contains(&name),
        };
        is_plain && is_of_type
    }
}

impl Default for LocalOptions {
    fn default() -> Self {
        Self::new()
    }
}
