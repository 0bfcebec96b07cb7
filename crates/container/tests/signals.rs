//! Signals end a container. A process of its own, since signals are the process's.

use std::time::Duration;

use rospin::{Context, ContextOptions, TimerOptions};
use rospin_container::{ComponentFile, Components, Container, Ended, Setup};
use rospin_node::InProcess;
use signal_hook::consts::{SIGINT, SIGTERM};

/// A container whose component sends that signal to its own process.
fn signalled(signal: i32) -> Ended {
    let components = Components::new().register("sender", move |setup: Setup<InProcess>| {
        let group = setup.executor().create_group("send", ());
        group.create_timer(TimerOptions::one_shot(Duration::from_millis(1)), move |(), _| {
            signal_hook::low_level::raise(signal).unwrap();
        })
    });
    let context = Context::new(ContextOptions::new());
    let mut container = Container::new(&context);
    let file = ComponentFile::parse("demo.toml", "[[component]]\ntype = \"sender\"\nname = \"sender\"").unwrap();
    container.start(&components, &InProcess::new(&context), &file).unwrap();
    container.run_until_signal().unwrap()
}

#[test]
fn either_signal_ends_it_again_and_again() {
    // One test: a signal would reach the containers of others, too.
    assert_eq!(signalled(SIGINT), Ended::Signal { signal: "SIGINT" });
    assert_eq!(signalled(SIGTERM), Ended::Signal { signal: "SIGTERM" });
}
