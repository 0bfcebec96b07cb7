//! Nodes of one process that a file chooses:
//!
//! ```sh
//! cargo run -p rospin-ros2-client --example container -- crates/ros2-client/examples/container.toml
//! ```
//!
//! `ros2 topic echo /robot/news` hears them from outside. Ctrl-C ends them. A deployment file in `ROSPIN_DEPLOYMENT` moves them to
//! other threads and cores, as everywhere.

#![expect(clippy::print_stdout, reason = "it shows what is said and heard")]

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use rospin::{Context, ContextOptions, GroupOptions, Timer, TimerOptions};
use rospin_container::{ComponentFile, Components, Container, Ended, Setup};
use rospin_msgs::std_msgs::msg::String as Text;
use rospin_ros2_client::{Domain, DomainOptions, ParameterOptions, Subscription};

type Failure = Box<dyn Error + Send + Sync>;

/// Says hello, `rate` times a second.
fn talker(setup: &Setup<Domain>) -> Result<Timer, Failure> {
    let node = setup.create_node()?;
    let rate = node.declare_parameter("rate", ParameterOptions::from(1.0).range(0.1..=1000.0))?.get();
    let publisher = node.create_publisher::<Text>("chatter")?;
    let group = GroupOptions::new("talker").node(node.fully_qualified_name());
    let group = setup.executor().create_group(group, 0_u64);
    let options = TimerOptions::periodic(Duration::from_secs_f64(1.0 / rate)).name("say");
    Ok(group.create_timer(options, move |count: &mut u64, _| {
        *count += 1;
        let data = format!("Hello World: {count}");
        println!("Publishing: '{data}'");
        if let Err(error) = publisher.publish(Text { data }) {
            println!("{error}");
        }
    })?)
}

/// Prints what it hears, and on which thread.
fn listener(setup: &Setup<Domain>) -> Result<Subscription, Failure> {
    let node = setup.create_node()?;
    let group = GroupOptions::new("listener").node(node.fully_qualified_name());
    let group = setup.executor().create_group(group, ());
    Ok(node.create_subscription(&group, "chatter", |(), text: Text| {
        let thread = std::thread::current();
        println!("I heard: [{}] on thread {}", text.data, thread.name().unwrap_or("main"));
    })?)
}

fn main() -> ExitCode {
    match run() {
        Ok(ended) => {
            println!("{ended}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<Ended, Failure> {
    let file =
        std::env::args().nth(1).ok_or("which component file? crates/ros2-client/examples/container.toml is one")?;
    let components = Components::new()
        .register("demo::Talker", |setup: Setup<Domain>| talker(&setup))
        .register("demo::Listener", |setup: Setup<Domain>| listener(&setup));
    let context = Context::new(ContextOptions::from_env()?);
    let mut container = Container::new(&context);
    let domain = Domain::join(&container.executor(), DomainOptions::from_env()?)?;
    container.start(&components, &domain, &ComponentFile::load(file)?)?;
    Ok(container.run_until_signal()?)
}
