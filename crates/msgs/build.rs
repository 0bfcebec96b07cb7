//! Generates the packages whose features are on.

use std::env;

use rospin_codegen::{Generator, SHIPPED};

fn main() {
    let is_on = |name: &&&str| env::var_os(format!("CARGO_FEATURE_{}", name.to_uppercase())).is_some();
    let names = SHIPPED.iter().filter(is_on).map(|name| (*name).to_owned());
    Generator::new().ship(names, "::rospin_wire").generate_or_exit();
    // Lyrical and Rolling have a message in place of an integer in `lifecycle_msgs/msg/TransitionEvent`.
    println!("cargo::rustc-check-cfg=cfg(stamped_transitions)");
    if env::var("ROS_DISTRO").is_ok_and(|name| ["lyrical", "rolling"].contains(&name.as_str())) {
        println!("cargo::rustc-cfg=stamped_transitions");
    }
}
