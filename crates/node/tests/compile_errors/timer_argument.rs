//! A timer's callback takes a tick, not a number.

use std::time::Duration;

use rospin::errors::TimerError;
use rospin::{Node, Timer};

pub fn tick(node: &Node) -> Result<Timer, TimerError> {
    node.create_timer(Duration::from_secs(1), |number: u32| drop(number))
}
