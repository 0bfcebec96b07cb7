//! A worker whose callbacks share a payload, after rclrs's worker demo:
//! `worker_demo [--executor basic|rospin] [--count N]`.
//!
//! A subscription stores the last text, and a timer publishes it.

mod common;

use rclrs::*;
use ros_env::std_msgs::msg::String as Text;
use std::time::Duration;

#[derive(Default)]
struct Echo {
    last: Option<String>,
    published: u64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = common::Arguments::parse()?;
    let mut executor = arguments.executor(&Context::default())?;
    let count = arguments.number("count", 3);

    let node = executor.create_node("worker_demo")?;
    let publisher = node.create_publisher::<Text>("output")?;
    let worker = node.create_worker(Echo::default());
    let _input =
        worker.create_subscription("input".reliable().transient_local(), |echo: &mut Echo, message: Text| {
            common::say(format_args!("stored: {}", message.data));
            echo.last = Some(message.data);
        })?;
    let commands = executor.commands().clone();
    let _timer = worker.create_timer_repeating(Duration::from_millis(10), move |echo: &mut Echo| {
        let Some(last) = &echo.last else { return };
        // The timer may tick once more before the spin ends, and in the next one.
        if echo.published == count {
            return;
        }
        // Nothing is published after the context has shut down.
        let _ = publisher.publish(Text { data: last.clone() });
        echo.published += 1;
        common::say(format_args!("published: {last}"));
        if echo.published == count {
            commands.halt_spinning();
        }
    })?;

    let input = node.create_publisher::<Text>("input".reliable().transient_local())?;
    input.publish(Text { data: "Hello from the input".to_owned() })?;
    executor.spin(SpinOptions::default()).first_error()?;

    let promise = worker.run(|echo: &mut Echo| echo.published);
    let (promise, notice) = executor.commands().create_notice(promise);
    executor.spin(SpinOptions::new().until_promise_resolved(notice)).first_error()?;
    if let Some(Ok(published)) = futures::FutureExt::now_or_never(promise) {
        common::say(format_args!("published {published} times"));
    }
    Ok(())
}
