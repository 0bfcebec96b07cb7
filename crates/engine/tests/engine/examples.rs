//! The examples do what their texts say.

#[path = "../../examples/custom_policy.rs"]
mod custom_policy;

#[test]
fn the_policy_of_the_example_orders_as_it_says() {
    assert_eq!(custom_policy::order().unwrap(), ["stop", "control", "blink", "avoid", "map"]);
}
