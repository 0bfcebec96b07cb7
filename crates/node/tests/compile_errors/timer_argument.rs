//! A timer's callback takes a tick, not a number.

use std::time::Duration;

use rospin::{Node, Timer, TimerError};

pub fn tick(node: &Node) -> Result<Timer, TimerError> {
    node.create_timer(Duration::from_secs(1), |number: u32| drop(number))
}
