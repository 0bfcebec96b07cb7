//! A shared library of components, which the tests of containers load. It lives in its own process-within-a-process:
//! nothing but the container's interface connects it with the program that loads it.

use std::fs;
use std::time::Duration;

use rospin::container::{Components, Setup};
use rospin::{Context, ContextOptions, Ros};

type Error = Box<dyn std::error::Error + Send + Sync>;

fn components() -> Components {
    Components::new()
        .register("demo::Beacon", |setup: Setup| {
            let node = setup.create_node()?;
            let file = node.declare_parameter("file", String::new())?.get();
            let name = node.fully_qualified_name();
            let timer = node.create_timer(Duration::from_millis(1), move || fs::write(&file, &name))?;
            Ok::<_, Error>((node, timer))
        })
        .register("demo::Ends", |setup: Setup| {
            let node = setup.create_node()?;
            let container = setup.container();
            let timer = node.create_timer(Duration::from_millis(1), move || container.end("its work is done"))?;
            Ok::<_, Error>((node, timer))
        })
        .register("demo::Panics", |_: Setup| -> Result<(), Error> { panic!("stage fright") })
}

/// Starts without a network, since the tests need none. A library that others use has `rospin::init` here.
fn start() -> rospin::Result<Ros> {
    Ok(Ros::in_process(&Context::new(ContextOptions::new())))
}

rospin::container::component_library!(components, start);
