//! Generates Rust types from the interface package of the experiment `lane-keeping`, if the feature asks for it.

fn main() {
    #[cfg(feature = "lane-keeping")]
    rospin_codegen::Generator::new()
        .package("interfaces/lane_keeping_msgs")
        .messages_at("::rospin_msgs")
        .generate_or_exit();
}
