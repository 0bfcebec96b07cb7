//! A publisher and a subscription, after rclrs's minimal example:
//! `minimal_pub_sub [--executor basic|rospin] [--count N]`.

mod common;

use rclrs::*;
use ros_env::std_msgs::msg::String as Text;
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = common::Arguments::parse()?;
    // The line that changes: `context.create_basic_executor()` is
    // `context.create_rospin_executor(RospinOptions::from_env()?)`.
    let mut executor = arguments.executor(&Context::default())?;

    let node = executor.create_node("minimal")?;
    let count = arguments.number("count", 5);
    let (commands, mut heard) = (executor.commands().clone(), 0);
    let listener = node.create_worker(());
    let _subscription = listener.create_subscription("topic".reliable().transient_local(), move |message: Text| {
        common::say(format_args!("I heard: '{}'", message.data));
        heard += 1;
        if heard == count {
            commands.halt_spinning();
        }
    })?;

    let publisher = node.create_publisher::<Text>("topic".reliable().transient_local())?;
    let mut sent = 0;
    let _timer = node.create_timer_repeating(Duration::from_millis(10), move || {
        if sent < count {
            sent += 1;
            // Nothing is published after the context has shut down.
            let _ = publisher.publish(Text { data: format!("Hello, world! {sent}") });
        }
    })?;
    executor.spin(SpinOptions::default()).first_error()?;
    Ok(())
}
