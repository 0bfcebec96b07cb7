//! Generates Rust types from the interface package in `interfaces/robot_msgs`.

fn main() {
    rospin_codegen::Generator::new().package("interfaces/robot_msgs").messages_at("::rospin::msgs").generate_or_exit();
}
