//! What the cases send. The types are those of ROS 2, so that a middleware that checks names finds nothing to refuse.

use rospin_node::{Action, Message, Service};
use serde::{Deserialize, Serialize};

/// A number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Number {
    /// The number.
    pub data: i64,
}

impl Message for Number {
    const TYPE: &str = "std_msgs/msg/Int64";
    const TYPE_HASH: Option<&str> = Some("RIHS01_8cd1048c2f186b6bd9a92472dc1ce51723c0833a221e2b7aecfff111774f4b49");
}

/// A number.
#[must_use]
pub const fn number(data: i64) -> Number {
    Number { data }
}

/// A text.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Text {
    /// The text.
    pub data: String,
}

impl Message for Text {
    const TYPE: &str = "std_msgs/msg/String";
    const TYPE_HASH: Option<&str> = Some("RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18");
}

/// What is to be added.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Summands {
    /// One.
    pub a: i64,
    /// The other.
    pub b: i64,
}

/// What they add up to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Sum {
    /// The sum.
    pub sum: i64,
}

/// Adds.
pub enum AddTwoInts {}

impl Service for AddTwoInts {
    type Request = Summands;
    type Response = Sum;
    const TYPE: &str = "example_interfaces/srv/AddTwoInts";
    const TYPE_HASH: Option<&str> = Some("RIHS01_e118de6bf5eeb66a2491b5bda11202e7b68f198d6f67922cf30364858239c81a");
}

impl Summands {
    /// Their sum.
    #[must_use]
    pub const fn add(self) -> Sum {
        Sum { sum: self.a.wrapping_add(self.b) }
    }
}

/// How many numbers a [`Fibonacci`] sequence is to have beyond its first two.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Order {
    /// The count.
    pub order: i32,
}

/// Numbers in their order.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Sequence {
    /// The numbers.
    pub sequence: Vec<i32>,
}

/// The numbers in their order.
#[must_use]
pub fn sequence(numbers: impl IntoIterator<Item = i32>) -> Sequence {
    Sequence { sequence: numbers.into_iter().collect() }
}

/// Takes its time.
pub enum Fibonacci {}

impl Action for Fibonacci {
    type Goal = Order;
    type Result = Sequence;
    type Feedback = Sequence;
    const TYPE: &str = "example_interfaces/action/Fibonacci";
}
