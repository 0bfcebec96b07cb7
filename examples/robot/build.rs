//! Generates Rust types from the interface package in `interfaces/robot_interfaces`.

fn main() {
    let package = "interfaces/robot_interfaces";
    rospin_codegen::Generator::new().package(package).messages_at("::rospin::msgs").generate_or_exit();
}
