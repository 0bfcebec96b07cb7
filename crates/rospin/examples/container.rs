//! Several nodes in one process, listed in a file:
//! `cargo run -p rospin --features dds --example container -- crates/rospin/examples/container.toml`.
//!
//! `ros2 topic echo /robot/news` prints their messages, and `ros2 component load /ComponentManager demo demo::Talker`
//! adds one: of this program, or of a shared library of an installed package. Ctrl-C ends them. A deployment file in `ROSPIN_DEPLOYMENT` moves them to other threads and cores.

#![expect(clippy::print_stdout, reason = "it shows what is said and heard")]

use rospin::container::{ComponentFile, Components, Container, Setup};
use rospin::msgs::std_msgs::msg::String as Text;
use rospin::prelude::*;

/// Component that says hello, `rate` times a second.
fn talker(setup: &Setup) -> rospin::Result<Timer> {
    let node = setup.create_node()?;
    let rate = node.declare_parameter("rate", ParameterOptions::from(1.0).range(0.1..=1000.0))?.get();
    let publisher = node.create_publisher::<Text>("chatter")?;
    let group = node.create_group("talker", 0_u64)?;
    let options = TimerOptions::periodic(Duration::from_secs_f64(1.0 / rate)).name("say");
    Ok(group.create_timer(options, move |count: &mut u64| {
        *count += 1;
        publisher.publish(Text { data: format!("Hello World: {count}") })
    })?)
}

/// A component that prints the messages that it hears, and its thread.
fn listener(setup: &Setup) -> rospin::Result<Subscription> {
    let node = setup.create_node()?;
    let group = node.create_group("listener", ())?;
    Ok(group.create_subscription("chatter", |text: &Text| {
        let thread = std::thread::current();
        println!("I heard: [{}] on thread {}", text.data, thread.name().unwrap_or("main"));
    })?)
}

fn main() -> rospin::Result<()> {
    let file = std::env::args().nth(1).unwrap_or_else(|| "crates/rospin/examples/container.toml".to_owned());
    let components = Components::new()
        .register("demo::Talker", |setup: Setup| talker(&setup))
        .register("demo::Listener", |setup: Setup| listener(&setup))
        .libraries_from_env();
    let ros = rospin::init()?;
    let mut container = Container::new(ros.context());
    container.start(&components, &ros, &ComponentFile::load(file)?)?;
    container.serve(&components, &ros, "ComponentManager")?;
    println!("{}", container.run_until_signal()?);
    Ok(())
}
