//! Quality of service, in the terms of ROS 2.

/// Quality of service that a publisher offers, or that a subscription demands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Qos {
    /// Treatment of messages that the network lost: see [`Reliability`].
    pub reliability: Reliability,
    /// Treatment of subscriptions that come late: see [`Durability`].
    pub durability: Durability,
    /// Number of messages that are kept: see [`History`].
    pub history: History,
}

impl Qos {
    /// Returns reliable, volatile quality of service that keeps the last `depth`. The default profile of ROS 2 has a
    /// depth of 10.
    #[must_use]
    pub const fn keep_last(depth: usize) -> Self {
        Self {
            reliability: Reliability::Reliable,
            durability: Durability::Volatile,
            history: History::KeepLast(if depth == 0 { 1 } else { depth }),
        }
    }

    /// Returns the sensor data profile of ROS 2: best effort, keep the last 5.
    #[must_use]
    pub const fn sensor_data() -> Self {
        Self { reliability: Reliability::BestEffort, ..Self::keep_last(5) }
    }

    /// Sets the depth, to at least 1.
    #[must_use]
    pub(crate) fn with_depth(self, depth: usize) -> Self {
        Self { history: History::KeepLast(depth.max(1)), ..self }
    }

    /// Returns the depth, which is at least 1, or `None` if everything is kept.
    #[must_use]
    pub const fn depth(&self) -> Option<usize> {
        match self.history {
            History::KeepLast(0) => Some(1),
            History::KeepLast(depth) => Some(depth),
            History::KeepAll => None,
        }
    }
}

impl Default for Qos {
    fn default() -> Self {
        Self::keep_last(10)
    }
}

/// Treatment of messages that the network lost.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reliability {
    /// Each message is sent once. A subscription that requests it receives from all publishers.
    BestEffort,
    /// Each message is sent until it has arrived. A subscription that requests it receives from reliable publishers
    /// only.
    Reliable,
}

/// Treatment of subscriptions that are created after a message was published.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Durability {
    /// Later subscriptions do not get the message.
    Volatile,
    /// Later subscriptions get the message if they ask for it, and if its publisher still exists and still keeps it.
    TransientLocal,
}

/// Messages that are kept until they are taken, or acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum History {
    /// The newest messages, as many as this number; at least one.
    KeepLast(usize),
    /// All messages, within the limits of the middleware.
    KeepAll,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_least_one_is_kept() {
        let depths =
            [Qos::keep_last(0), Qos::default().with_depth(0), Qos { history: History::KeepLast(0), ..Qos::default() }];
        assert_eq!(depths.map(|qos| qos.depth()), [Some(1); 3]);
    }
}
