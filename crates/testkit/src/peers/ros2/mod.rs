//! ROS 2 itself as users have it, for the tests of the adapters: its demo nodes, nodes under rclpy, and its command
//! `ros2`.
//!
//! A test is a function of `topics`, `calls` or `tools` that gets a [`Network`]. ROS 2 is found by `AMENT_PREFIX_PATH`,
//! so it has to be sourced. Where it lacks the middleware, [`is_installed`] says so, and the tests pass.

pub mod calls;
pub mod tools;
pub mod topics;

use std::ffi::OsStr;
use std::fmt;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rospin_engine::Context;
use rospin_node::{Node, Ros};

use super::KilledChild;

/// Returns a file of ROS 2 by its path below a prefix; `None` if no prefix has it.
fn find(path: impl AsRef<Path>) -> Option<PathBuf> {
    let prefixes = std::env::var_os("AMENT_PREFIX_PATH").unwrap_or_default();
    std::env::split_paths(&prefixes).map(|prefix| prefix.join(&path)).find(|file| file.exists())
}

/// Returns true if ROS 2 with that middleware is sourced. Otherwise prints that the test is skipped.
#[must_use]
#[expect(clippy::print_stderr, reason = "it says that a test is skipped")]
pub fn is_installed(rmw: &str) -> bool {
    let is_there = find("lib/demo_nodes_cpp/talker").is_some() && find(format!("lib/lib{rmw}.so")).is_some();
    if !is_there {
        eprintln!("SKIPPED for want of a peer: ROS 2 with demo_nodes_cpp and {rmw} is not sourced (AMENT_PREFIX_PATH)");
    }
    is_there
}

/// A network of its own, in which nodes of ROS 2 and ours meet.
pub struct Network {
    rmw: &'static str,
    variables: Vec<(&'static str, String)>,
    join: Box<dyn Fn(&Context) -> Ros>,
    /// Processes that the network consists of.
    _routers: Vec<Process>,
}

impl Network {
    /// Creates a network. Nodes of ROS 2 join it by `variables`, and ours by `join`.
    #[must_use]
    pub fn new(
        rmw: &'static str,
        variables: impl IntoIterator<Item = (&'static str, String)>,
        join: impl Fn(&Context) -> Ros + 'static,
    ) -> Self {
        let variables = variables.into_iter().collect();
        Self { rmw, variables, join: Box::new(join), _routers: Vec::new() }
    }

    /// Starts a program of ROS 2, with one more environment variable, that lives as long as the network. `path` is its
    /// path below ROS 2's prefix.
    ///
    /// # Panics
    /// If the program is not there.
    #[must_use]
    pub fn behind(mut self, path: &str, variable: (&str, &str)) -> Self {
        let mut command = self.command(find(path).expect("a program of ROS 2"));
        command.env(variable.0, variable.1);
        self._routers.push(Process::start(command));
        self
    }

    /// Returns the name of ROS 2's middleware.
    #[must_use]
    pub const fn rmw(&self) -> &'static str {
        self.rmw
    }

    /// Joins the network as a program of rospin's.
    #[must_use]
    pub fn ros(&self, context: &Context) -> Ros {
        (self.join)(context)
    }

    /// Joins the network, and creates the node `ours`.
    ///
    /// # Panics
    /// If the node cannot be created.
    #[must_use]
    pub fn node(&self, context: &Context) -> Node {
        self.ros(context).create_node("ours").expect("a node")
    }

    /// Returns a command with the environment of ROS 2's nodes.
    #[must_use]
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env("RMW_IMPLEMENTATION", self.rmw).envs(self.variables.iter().map(|(name, value)| (*name, value)));
        command
    }

    /// Starts a program of the package `demo_nodes_cpp`.
    ///
    /// # Panics
    /// If it is not there.
    #[must_use]
    pub fn demo(&self, name: &str) -> Process {
        let program = find(Path::new("lib/demo_nodes_cpp").join(name)).expect("a demo of ROS 2");
        Process::start(self.command(program))
    }

    /// Starts a script of the folder `peers` under the Python that has rclpy.
    #[must_use]
    pub fn script(&self, script: &str, arguments: &[&str]) -> Process {
        let mut python = self.command("python3");
        python.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(script)).args(arguments);
        Process::start(python)
    }

    /// Returns the command `ros2`, which looks for nodes by itself and not through a daemon.
    #[must_use]
    pub fn ros2(&self, arguments: &[&str]) -> Command {
        let mut command = self.command("ros2");
        command.args(arguments).args(["--no-daemon", "--spin-time", "5"]).stdin(Stdio::null());
        command
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network").field("rmw", &self.rmw).finish_non_exhaustive()
    }
}

/// A process and the lines that it has written. Its standard input is open until [`end_input`](Self::end_input). It
/// gets SIGKILL when this value is dropped.
#[derive(Debug)]
pub struct Process {
    child: KilledChild,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Process {
    /// Starts the command.
    ///
    /// # Panics
    /// If the program is not there.
    #[must_use]
    pub fn start(mut command: Command) -> Self {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a program");
        let lines = Arc::default();
        read(child.stdout.take().expect("its output"), &lines);
        read(child.stderr.take().expect("its errors"), &lines);
        Self { child: KilledChild(child), lines }
    }

    /// Returns the lines that it has written.
    pub fn lines(&self) -> MutexGuard<'_, Vec<String>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends its standard input, which asks some programs to end.
    pub fn end_input(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Returns true if it has written a line with this text.
    #[must_use]
    pub fn said(&self, text: &str) -> bool {
        self.lines().iter().any(|line| line.contains(text))
    }

    /// Returns true if it has ended.
    ///
    /// # Panics
    /// If it has failed.
    #[must_use]
    pub fn has_ended(&mut self) -> bool {
        let Some(status) = self.child.try_wait().expect("a process") else { return false };
        assert!(status.success(), "{status}: {:#?}", self.lines());
        true
    }
}

/// Appends the lines that are read to `lines`, on a thread of its own, until the stream ends.
fn read(from: impl Read + Send + 'static, lines: &Arc<Mutex<Vec<String>>>) {
    let lines = Arc::clone(lines);
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
    });
}
