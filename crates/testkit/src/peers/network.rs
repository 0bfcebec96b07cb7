//! Two hosts on one machine: network namespaces, joined by a virtual cable.
//!
//! They need the program `ip` and the right to create namespaces. Without these, [`Network::new`] returns the reason.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread;

use super::{KilledChild, PATIENCE};

/// Environment variable with the part that a process has in a test. The test starts the process, which runs only the
/// test `the_other_process`.
pub const PART: &str = "ROSPIN_TEST_NETWORK_PART";
/// Environment variable with the address of the host that this process runs on.
pub const ADDRESS: &str = "ROSPIN_TEST_NETWORK_ADDRESS";

/// Runs `ip` with these arguments. The error is the reason for a failure, in words.
fn ip(arguments: &str) -> Result<(), String> {
    let output = Command::new("ip").args(arguments.split_whitespace()).output();
    let output = output.map_err(|error| format!("`ip` cannot be run: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("`ip {arguments}`: {}", said.trim())) }
}

/// Two namespaces and a cable between them. They are removed when this value is dropped.
#[derive(Debug)]
pub struct Network {
    names: [String; 2],
}

impl Network {
    /// Addresses of the two namespaces.
    pub const ADDRESSES: [&str; 2] = ["10.213.77.1", "10.213.77.2"];

    /// Creates the namespaces and the cable.
    ///
    /// # Errors
    /// The reason for which they cannot be created, in words.
    pub fn new() -> Result<Self, String> {
        let network = Self { names: ["a", "b"].map(|end| format!("rospin-{}-{end}", std::process::id())) };
        for name in &network.names {
            ip(&format!("netns add {name}"))?;
        }
        let [a, b] = &network.names;
        ip(&format!("-n {a} link add cable type veth peer name cable netns {b}"))?;
        for (name, address) in network.names.iter().zip(Self::ADDRESSES) {
            ip(&format!("-n {name} address add {address}/24 dev cable"))?;
            ip(&format!("-n {name} link set lo up"))?;
            ip(&format!("-n {name} link set cable up"))?;
        }
        Ok(network)
    }

    /// Pulls the cable out if `state` is `down`, or puts it back if it is `up`. While it is out, one end is down and
    /// the other one has no carrier.
    ///
    /// # Panics
    /// If `ip` fails.
    pub fn set(&self, state: &str) {
        ip(&format!("-n {} link set cable {state}", self.names[0])).expect("who made it may set it");
    }

    /// Starts this program's test `the_other_process` in the namespace `at`, 0 or 1. The process finds `part` in the
    /// variable [`PART`].
    ///
    /// # Panics
    /// If the process cannot be started.
    #[must_use]
    pub fn start(&self, at: usize, part: &str) -> Part {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[at]]).arg(std::env::current_exe().unwrap());
        command.args(["--exact", "the_other_process", "--nocapture"]);
        command.env(PART, part).env(ADDRESS, Self::ADDRESSES[at]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("`ip` that was there");
        let says = listen(child.stdout.take().expect("a pipe"));
        Part { child: KilledChild(child), says }
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for name in &self.names {
            // Those that could not be made are not there.
            let _ = ip(&format!("netns delete {name}"));
        }
    }
}

/// Returns the lines that a process writes to `stdout`, as they come.
fn listen(stdout: ChildStdout) -> mpsc::Receiver<String> {
    let (send, says) = mpsc::channel();
    thread::spawn(move || {
        // Nobody need listen to the end.
        BufReader::new(stdout).lines().map_while(Result::ok).try_for_each(|line| send.send(line))
    });
    says
}

/// A process in its namespace. It is killed when this value is dropped.
#[derive(Debug)]
pub struct Part {
    child: KilledChild,
    says: mpsc::Receiver<String>,
}

impl Part {
    /// Waits for the next line of the process that begins with `word`, and returns the numbers behind the word. Other
    /// lines before it are left out.
    ///
    /// # Panics
    /// If there is no such line within [`PATIENCE`], or it has anything but numbers.
    pub fn expect(&self, word: &str) -> Vec<i64> {
        loop {
            let line = self.says.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("it should have said `{word}`"));
            if let Some(rest) = line.strip_prefix(word) {
                return rest.split_whitespace().map(|figure| figure.parse().expect("a number")).collect();
            }
        }
    }

    /// Writes the line `go on` to the process's standard input.
    ///
    /// # Panics
    /// If it has ended.
    pub fn tell(&mut self) {
        writeln!(self.child.stdin.as_mut().expect("a pipe"), "go on").expect("it listens");
    }
}
