//! The common parts of the commands that talk to a running robot.
//!
//! Each of them is a function of a [`Session`], which has a node of rospin's own, and of a writer. So tests run it in
//! their own process, beside the nodes that it asks.

pub(crate) mod ends;
mod expression;
mod fields;
mod format;
mod local;
mod mailbox;
mod names;
pub(crate) mod python;
mod qos;
mod session;
pub(crate) mod types;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use rospin_report::Failure;

pub(crate) use expression::{EvaluateError, Expression};
pub(crate) use fields::{rate, type_and_fields};
pub(crate) use format::FormatOptions;
pub(crate) use mailbox::Mailbox;
pub(crate) use names::{find_node, find_service, find_topic, is_hidden, missing};
pub(crate) use qos::{QosOptions, end_text};
pub(crate) use session::{Discovery, Session};

/// Returns the types of a topic or service as lists show them.
pub(crate) fn types_text(types: &BTreeSet<String>) -> String {
    types.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// Prints the names of topics, services or actions, one a line, or with `is_count` only their number.
pub(crate) fn print_names(
    names: &BTreeMap<String, BTreeSet<String>>,
    with_types: bool,
    is_count: bool,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    if is_count {
        writeln!(out, "{}", names.len())?;
        return Ok(());
    }
    for (name, types) in names {
        if with_types {
            writeln!(out, "{name} [{}]", types_text(types))?;
        } else {
            writeln!(out, "{name}")?;
        }
    }
    Ok(())
}

/// Prints a remark on stderr, so that stdout has only what was asked for.
pub(crate) fn warn(sentence: &str) {
    // If stderr is closed, the remark cannot be printed.
    let _ = writeln!(std::io::stderr().lock(), "warning: {sentence}");
}

#[cfg(test)]
pub(crate) mod testing {
    //! A robot in the test's own process.

    use clap::Command;
    use rospin::{Context, ContextOptions, Node, Ros};
    use rospin_report::Failure;

    use super::Session;

    /// A robot, and the node of a command that asks it.
    pub(crate) struct Robot {
        pub(crate) session: Session,
    }

    impl Robot {
        pub(crate) fn new() -> Self {
            let ros = Ros::in_process(&Context::new(ContextOptions::new()));
            Self { session: Session::beside(&ros) }
        }

        pub(crate) fn node(&self, name: &str) -> Node {
            self.session.ros().create_node(name).unwrap()
        }
    }

    /// Interrupts the command as soon as it waits, as a user does with Ctrl-C. The node's timer does it.
    pub(crate) fn interrupt(node: &Node, robot: &Robot) -> rospin::Timer {
        let context = robot.session.ros().context().clone();
        let halt = move |_: rospin::Tick<rospin::time::Instant>| context.halt_all();
        node.create_wall_timer(std::time::Duration::from_millis(1), halt).unwrap()
    }

    /// Returns the matches of a command's arguments, which begin with its name.
    pub(crate) fn parse(command: Command, arguments: &[&str]) -> clap::ArgMatches {
        command.try_get_matches_from(arguments).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Returns the text that a command writes.
    pub(crate) fn written(run: impl FnOnce(&mut Vec<u8>) -> Result<(), Failure>) -> Result<String, String> {
        let mut out = Vec::new();
        run(&mut out).map_err(|failure| failure.to_string())?;
        Ok(String::from_utf8(out).unwrap())
    }
}
