//! Messages of the cases. Their types are those of ROS 2, because a middleware may check names.

use rospin_node::{Action, Blob, Message, ServiceInterface, ServicePart};
use serde::{Deserialize, Serialize};

/// Message with a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Number {
    /// The number.
    pub data: i64,
}

impl Message for Number {
    const TYPE: &str = "std_msgs/msg/Int64";
    const TYPE_HASH: Option<&str> = Some("RIHS01_8cd1048c2f186b6bd9a92472dc1ce51723c0833a221e2b7aecfff111774f4b49");
}

/// Returns a number.
#[must_use]
pub const fn number(data: i64) -> Number {
    Number { data }
}

/// Message with a text.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Text {
    /// The text.
    pub data: String,
}

impl Message for Text {
    const TYPE: &str = "std_msgs/msg/String";
    const TYPE_HASH: Option<&str> = Some("RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18");
}

/// Message with a compressed image.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Image {
    /// The time as seconds and nanoseconds, and the coordinate frame.
    pub header: ((i32, u32), String),
    /// The compression.
    pub format: String,
    /// The bytes.
    pub data: Blob,
}

impl Message for Image {
    const TYPE: &str = "sensor_msgs/msg/CompressedImage";
    const TYPE_HASH: Option<&str> = Some("RIHS01_15640771531571185e2efc8a100baf923961a4d15d5569652e6cb6691e8e371a");
}

/// Returns an image of these bytes.
#[must_use]
pub fn image(data: impl Into<Blob>) -> Image {
    Image { header: Default::default(), format: "png".to_owned(), data: data.into() }
}

/// Request to add two numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Summands {
    /// First summand.
    pub a: i64,
    /// Second summand.
    pub b: i64,
}

/// Response with a sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Sum {
    /// The sum.
    pub sum: i64,
}

/// The service that adds two numbers.
pub enum AddTwoInts {}

impl ServiceInterface for AddTwoInts {
    type Request = Summands;
    type Response = Sum;
    const TYPE: &str = "example_interfaces/srv/AddTwoInts";
    const TYPE_HASH: Option<&str> = Some("RIHS01_e118de6bf5eeb66a2491b5bda11202e7b68f198d6f67922cf30364858239c81a");
    const EVENT_TYPE_HASH: Option<&str> =
        Some("RIHS01_32c1d140259c71e5c355115942bcb31df98b4330e4d906b1b75ccb1c9b3ce6c8");
}

impl ServicePart<AddTwoInts> for Summands {}
impl ServicePart<AddTwoInts> for Sum {}

impl Summands {
    /// Returns their sum.
    #[must_use]
    pub const fn add(self) -> Sum {
        Sum { sum: self.a.wrapping_add(self.b) }
    }
}

/// Goal of the action: the length of the [`Fibonacci`] sequence to compute, without its first two numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FibonacciGoal {
    /// The count.
    pub order: i32,
}

/// Result and feedback of the action: a sequence of numbers.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Sequence {
    /// The numbers.
    pub sequence: Vec<i32>,
}

/// Returns a sequence of these numbers.
#[must_use]
pub fn sequence(numbers: impl IntoIterator<Item = i32>) -> Sequence {
    Sequence { sequence: numbers.into_iter().collect() }
}

/// The action that computes a Fibonacci sequence.
pub enum Fibonacci {}

impl Action for Fibonacci {
    type Goal = FibonacciGoal;
    type Result = Sequence;
    type Feedback = Sequence;
    const TYPE: &str = "example_interfaces/action/Fibonacci";
    const SEND_GOAL_HASH: Option<&str> =
        Some("RIHS01_d1a57fb2a4afe8c21e34fb10db206f16ce6729b28531141472df92277c55b557");
    const GET_RESULT_HASH: Option<&str> =
        Some("RIHS01_1b0de0d5d29dc955d92f546706568428632771db13ec84c15ec1c1a59f424a57");
    const FEEDBACK_MESSAGE_HASH: Option<&str> =
        Some("RIHS01_c1de71afd52e49a89c53d8262366884185bc0a02f78ce051c4e46b0a7fe59bb2");
}

/// Request to turn something on or off.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Switch {
    /// True for on.
    pub data: bool,
}

/// Response to a [`Switch`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Switched {
    /// True if it worked.
    pub success: bool,
    /// The failure in words.
    pub message: String,
}

/// The service that turns something on or off.
pub enum SetBool {}

impl ServiceInterface for SetBool {
    type Request = Switch;
    type Response = Switched;
    const TYPE: &str = "std_srvs/srv/SetBool";
    const TYPE_HASH: Option<&str> = Some("RIHS01_abe9e4bb6b41b40e6789712c00ec8871923e089af3f667a79992a428cff2da0a");
}

impl ServicePart<SetBool> for Switch {}
impl ServicePart<SetBool> for Switched {}

/// The action [`Fibonacci`] in the package of ROS 2's own tests, which has the same parts.
pub enum TestFibonacci {}

impl Action for TestFibonacci {
    type Goal = FibonacciGoal;
    type Result = Sequence;
    type Feedback = Sequence;
    const TYPE: &str = "test_msgs/action/Fibonacci";
    const SEND_GOAL_HASH: Option<&str> =
        Some("RIHS01_d807633803e38e164276573cd97e9fbd71e109c290bbf4cc312a0a1c9da7bbd9");
    const GET_RESULT_HASH: Option<&str> =
        Some("RIHS01_5d30fdeb21d20e117aa5f36c7b4f0b6874f1a8cf7a9c038d58f1156c5737b209");
    const FEEDBACK_MESSAGE_HASH: Option<&str> =
        Some("RIHS01_37487bae8cea358366b97003c1ef1ca7ce7c08df36f9e8cca496624226aee64e");
}
