//! Quality of service, in the words of ROS 2.

/// What a publisher offers, and what a subscription asks for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Qos {
    /// Whether what the network lost is sent again.
    pub reliability: Reliability,
    /// Whether late subscriptions get what was published before.
    pub durability: Durability,
    /// How much is kept.
    pub history: History,
}

impl Qos {
    /// Reliable, volatile, keeping the last `depth`: the default profile of ROS 2 has 10.
    #[must_use]
    pub const fn keep_last(depth: usize) -> Self {
        Self {
            reliability: Reliability::Reliable,
            durability: Durability::Volatile,
            history: History::KeepLast(if depth == 0 { 1 } else { depth }),
        }
    }

    /// Best effort, keeping the last 5: the sensor data profile of ROS 2.
    #[must_use]
    pub const fn sensor_data() -> Self {
        Self { reliability: Reliability::BestEffort, ..Self::keep_last(5) }
    }

    /// Sets how many are kept. At least 1.
    #[must_use]
    pub(crate) fn with_depth(self, depth: usize) -> Self {
        Self { history: History::KeepLast(depth.max(1)), ..self }
    }

    /// How many are kept, if that has a limit; at least 1.
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

/// Whether what the network lost is sent again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reliability {
    /// Sent once. A subscription that asks for it receives from all publishers.
    BestEffort,
    /// Sent until it arrived. A subscription that asks for it receives from reliable publishers only.
    Reliable,
}

/// Whether late subscriptions get what was published before.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Durability {
    /// They do not.
    Volatile,
    /// They do, if they ask for it, as far as the publisher keeps it and is still there.
    TransientLocal,
}

/// How much is kept until it is taken, or acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum History {
    /// The newest so many; at least one.
    KeepLast(usize),
    /// Everything, as far as the middleware's limits go.
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
