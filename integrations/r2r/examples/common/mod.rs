//! The command lines of the examples, and the lines of a program that differ between R2R's way to run it and rospin's.

#![allow(dead_code, unused_macros, unused_imports, reason = "each example uses a part")]

use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::io::Write;

use futures::executor::LocalSpawner;
use futures::task::LocalSpawnExt;

/// The options of a command line.
pub(crate) struct Arguments(HashMap<String, String>);

impl Arguments {
    /// Reads options, each of which has a value: `--executor rospin`. Those after `--ros-args` are for R2R.
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
    pub(crate) fn executor(&self) -> &str {
        self.text("executor", "rospin")
    }

    /// Returns a text.
    pub(crate) fn text<'a>(&'a self, name: &str, default: &'a str) -> &'a str {
        self.0.get(name).map_or(default, String::as_str)
    }

    /// Returns a number.
    pub(crate) fn number(&self, name: &str, default: u64) -> u64 {
        self.0.get(name).and_then(|text| text.parse().ok()).unwrap_or(default)
    }
}

/// Writes a line.
pub(crate) fn say(line: impl fmt::Display) {
    // Nobody reads any more if this fails.
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// The spawner of a pool of futures, with the method of rospin's.
#[derive(Clone)]
pub(crate) struct Pool(pub(crate) LocalSpawner);

impl Pool {
    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + 'static) {
        // Fails only after the pool is gone.
        let _ = self.0.spawn_local(future);
    }
}

/// The spawner of a Tokio runtime, with the method of rospin's.
#[derive(Clone)]
pub(crate) struct Tokio(pub(crate) tokio::runtime::Handle);

impl Tokio {
    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        // It goes on by itself.
        drop(self.0.spawn(future));
    }
}

/// Runs the same program under R2R's loop with a pool of futures, on Tokio beside a thread that spins, or under rospin,
/// until the future that it returns resolves. Under rospin, the last spawner is more urgent than the other one.
macro_rules! run {
    ($arguments:expr, $name:literal, |$node:ident, $spawner:ident, $urgent:ident| $program:block) => {
        match $arguments.executor() {
            "r2r" => {
                let mut $node = r2r::Node::create(r2r::Context::create()?, $name, "")?;
                let mut pool = futures::executor::LocalPool::new();
                let $spawner = common::Pool(pool.spawner());
                let $urgent = $spawner.clone();
                let done = $program;
                let is_done = std::rc::Rc::new(std::cell::Cell::new(false));
                let flag = std::rc::Rc::clone(&is_done);
                $spawner.spawn(async move {
                    done.await;
                    flag.set(true);
                });
                while !is_done.get() {
                    $node.spin_once(std::time::Duration::from_millis(5));
                    pool.run_until_stalled();
                }
            }
            "tokio" => {
                let mut $node = r2r::Node::create(r2r::Context::create()?, $name, "")?;
                let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
                let $spawner = common::Tokio(runtime.handle().clone());
                let $urgent = $spawner.clone();
                let done = $program;
                let is_done = std::sync::atomic::AtomicBool::new(false);
                std::thread::scope(|scope| {
                    scope.spawn(|| {
                        while !is_done.load(std::sync::atomic::Ordering::Acquire) {
                            $node.spin_once(std::time::Duration::from_millis(5));
                        }
                    });
                    runtime.block_on(done);
                    is_done.store(true, std::sync::atomic::Ordering::Release);
                });
            }
            "rospin" => {
                let executor = rospin_r2r::R2rExecutor::new(rospin_r2r::R2rOptions::from_env()?);
                let $node = executor.create_node(r2r::Context::create()?, $name, "")?;
                let $spawner = executor.create_spawner("tasks", None)?;
                let $urgent = executor.create_spawner("urgent", Some(rospin_r2r::Priority(8)))?;
                let done = $program;
                executor.spin_until(done, rospin_r2r::SpinOptions::new())?;
            }
            other => return Err(format!("`{other}` is no executor; there are `r2r`, `tokio` and `rospin`").into()),
        }
    };
}
pub(crate) use run;
