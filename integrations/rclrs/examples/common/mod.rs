//! The command lines of the examples.

#![allow(dead_code, reason = "each example uses a part")]

use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::io::Write;

use rclrs::{Context, CreateBasicExecutor, Executor};
use rospin_rclrs::{CreateRospinExecutor, RospinOptions};

/// The options of a command line.
pub(crate) struct Arguments(HashMap<String, String>);

impl Arguments {
    /// Reads options, each of which has a value: `--executor rospin`. Those after `--ros-args` are for rclrs.
    pub(crate) fn parse() -> Result<Self, Box<dyn Error>> {
        let mut options = HashMap::new();
        let mut arguments = std::env::args().skip(1).take_while(|argument| argument != "--ros-args");
        while let Some(name) = arguments.next() {
            let known =
                name.strip_prefix("--").ok_or_else(|| format!("`{name}` is no option; write `--executor rospin`"))?;
            let value = arguments.next().ok_or_else(|| format!("`{name}` has no value"))?;
            options.insert(known.to_owned(), value);
        }
        Ok(Self(options))
    }

    /// Returns the name of the executor that was asked for.
    pub(crate) fn executor_name(&self) -> &str {
        self.0.get("executor").map_or("rospin", String::as_str)
    }

    /// Returns a text.
    pub(crate) fn text<'a>(&'a self, name: &str, default: &'a str) -> &'a str {
        self.0.get(name).map_or(default, String::as_str)
    }

    /// Returns a number.
    pub(crate) fn number(&self, name: &str, default: u64) -> u64 {
        self.0.get(name).and_then(|text| text.parse().ok()).unwrap_or(default)
    }

    /// Creates the executor that was asked for.
    pub(crate) fn executor(&self, context: &Context) -> Result<Executor, Box<dyn Error>> {
        match self.executor_name() {
            "rospin" => Ok(context.create_rospin_executor(RospinOptions::from_env()?)),
            "basic" | "worker" => Ok(context.create_basic_executor()),
            other => Err(format!("`{other}` is no executor; there are `basic`, `worker` and `rospin`").into()),
        }
    }
}

/// Writes a line.
pub(crate) fn say(line: impl fmt::Display) {
    // Nobody reads any more if this fails.
    let _ = writeln!(std::io::stdout(), "{line}");
}
