//! A timer that talks and a subscription that listens, for one second.
//!
//! `cargo run -p rospin-engine --example talker_listener`

#![expect(clippy::print_stdout, reason = "it shows what is heard")]

use std::sync::Arc;
use std::time::Duration;

use rospin_engine::{Context, ContextOptions, ExecutorOptions, SpinOptions, TimerOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let context = Context::new(ContextOptions::new());
    let executor = context.create_executor(ExecutorOptions::new("main"));

    let talker = executor.create_group("talker", 0);
    let publisher = context.create_local_publisher::<String>("chatter")?;
    let _talk = talker.create_timer(Duration::from_millis(100), move |count, _| {
        *count += 1;
        publisher.publish(format!("hello {count}"));
    })?;

    let listener = executor.create_group("listener", Vec::new());
    let _listen = listener.create_local_subscription("chatter", |heard, message: Arc<String>| {
        println!("heard: {message}");
        heard.push(message);
    })?;

    let stop = executor.handle();
    let _end = talker.create_timer(TimerOptions::one_shot(Duration::from_millis(1050)), move |_, _| stop.halt())?;
    executor.spin(SpinOptions::new())?;

    // The spin is over, so the payloads can be taken out of the groups.
    let heard = listener.into_payload().unwrap_or_default();
    println!("{} messages in a second, {} lost", heard.len(), context.losses().len());
    Ok(())
}
