//! The launcher: starts the robot's parts as processes of their own, and ends them together.

use std::ffi::OsString;
use std::net::TcpListener;
use std::process::{Child, Command};

use rospin::errors::SpinError;
use rospin::prelude::*;
use rospin::time::ClockKind;
use rospin::{Error, Middlewares, RosArguments};
use rustix::process::{Pid, Signal, kill_process};

use crate::PARTS;

/// The time after which an ended process is noticed.
const PERIOD: Duration = Duration::from_millis(100);
/// The variable of `rmw_zenoh_cpp` for settings of Zenoh.
const ZENOH: &str = "ZENOH_CONFIG_OVERRIDE";

/// Runs the robot's parts with these arguments, a process of this program each, until a signal comes or one of them
/// ends.
///
/// # Errors
/// If `RMW_IMPLEMENTATION` selects no network, a process cannot be started, or one has ended by itself.
pub fn run(arguments: impl Iterator<Item = OsString>) -> rospin::Result<()> {
    let middleware = Middlewares::from_env()?;
    if middleware == Middlewares::InProcess {
        return Err(Error::msg("three processes need a network: build with `--features dds` or `--features zenoh`"));
    }
    // Listens for signals. The launcher itself needs no network.
    let ros = rospin::init_with(ContextOptions::new(), Middlewares::InProcess, RosArguments::default())?;
    let arguments: Vec<_> = arguments.collect();
    let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
    let mut processes = Processes(Vec::new());
    for part in PARTS {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(part).args(&arguments);
        if middleware == Middlewares::Zenoh && std::env::var_os(ZENOH).is_none() {
            command.env(ZENOH, meet(part, port));
        }
        processes.0.push((part, command.spawn()?));
    }
    match ros.executor().spin_until(first_end(&ros, &mut processes), SpinOptions::new()) {
        Ok(ended) => Err(ended?),
        Err(SpinError::Halted) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Waits until one of the processes has ended, and returns the sentence that says so.
async fn first_end(ros: &Ros, processes: &mut Processes) -> rospin::Result<Error> {
    let executor = ros.executor().handle();
    loop {
        for (part, process) in &mut processes.0 {
            if let Some(status) = process.try_wait()? {
                return Ok(Error::msg(format!("{part} has ended, so the others end, too: {status}")));
            }
        }
        executor.sleep(ClockKind::Steady, PERIOD).await?;
    }
}

/// Returns the settings with which Zenoh's sessions meet without a router: the first part listens, the others connect
/// to it, and all learn of each other. A router of this machine is used as well.
fn meet(part: &str, port: u16) -> String {
    let gossip = "scouting/gossip/target={router:[\"router\",\"peer\"],peer:[\"router\",\"peer\"]}";
    if part == PARTS[0] {
        format!("listen/endpoints=[\"tcp/127.0.0.1:{port}\"];{gossip}")
    } else {
        format!("connect/endpoints=[\"tcp/127.0.0.1:{port}\",\"tcp/localhost:7447\"];{gossip}")
    }
}

/// The processes, by their parts. Their drop ends them: it asks them with SIGINT, as a launcher of ROS 2 does, and
/// waits for them.
struct Processes(Vec<(&'static str, Child)>);

impl Drop for Processes {
    fn drop(&mut self) {
        for (_, process) in &mut self.0 {
            // Once its end was noticed, its number may be another process's.
            if matches!(process.try_wait(), Ok(None)) {
                // Only fails if it has ended meanwhile.
                let _ = kill_process(Pid::from_child(process), Signal::INT);
            }
        }
        for (_, process) in &mut self.0 {
            // It was started by this program, so it can be waited for.
            let _ = process.wait();
        }
    }
}
