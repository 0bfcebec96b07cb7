//! Foreign node as the other end: a command that the user names, which sends back what it receives.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::middleware::{Middleware, Process};

/// The running command. It is stopped when this value is dropped.
pub(super) struct Peer(Child);

impl Peer {
    /// Starts the command, in an environment in which a ROS 2 node finds this program's.
    ///
    /// # Errors
    /// If no shell can be started.
    pub(super) fn start(command: &str, middleware: Middleware, process: &Process) -> io::Result<Self> {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).process_group(0).stdin(Stdio::null()).stdout(Stdio::null());
        shell.env("ROS_DOMAIN_ID", process.domain_id.to_string()).env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST");
        let implementation = match middleware {
            Middleware::InProcess => "in_process",
            Middleware::Dds => "rmw_cyclonedds_cpp",
            Middleware::Zenoh => "rmw_zenoh_cpp",
        };
        // For a peer over another DDS, the user sets the variable in the command.
        shell.env("RMW_IMPLEMENTATION", implementation);
        #[cfg(feature = "zenoh")]
        if middleware == Middleware::Zenoh {
            let connect = format!("connect/endpoints=[\"{}\"]", process.zenoh_endpoint(0));
            shell.env("ZENOH_CONFIG_OVERRIDE", connect).env("ZENOH_ROUTER_CHECK_ATTEMPTS", "-1");
        }
        shell.spawn().map(Self)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        if let Some(group) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.0.wait();
    }
}
