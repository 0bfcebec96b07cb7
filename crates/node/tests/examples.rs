//! The examples behave as their documentation says.

use std::time::Duration;

#[path = "../examples/fibonacci.rs"]
mod fibonacci;

#[test]
fn fibonacci_numbers_come_by_action() {
    let numbers = fibonacci::run(10, Duration::ZERO).unwrap();
    assert_eq!(numbers, [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55]);
    let error = fibonacci::run(47, Duration::ZERO).unwrap_err();
    assert!(error.to_string().contains("rejected"), "{error}");
}
