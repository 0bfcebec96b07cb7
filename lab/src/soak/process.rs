//! A process of a run: it is started on its host, watched, and ended.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::network::Hosts;
use super::words::{Fact, Order, Request, Role};
use crate::children::CHILD_OPTION;
use crate::middleware::Middleware;

/// What a process says, with the number of its start.
#[derive(Clone, Debug)]
pub(super) enum Said {
    Fact(Box<Fact>),
    /// A line of its log.
    Log(String),
}

/// What a process needs beside its order.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// This program, or the one that is the same and counts.
    pub(super) program: PathBuf,
    pub(super) middleware: Middleware,
    /// The host's folder, of limited size, for recordings.
    pub(super) disk: PathBuf,
    /// Seconds that the clocks of the start are ahead of the machine's, if they can be.
    pub(super) clock_ahead_s: Option<u64>,
    /// The file of the cgroup to which the process belongs.
    pub(super) cgroup: Option<PathBuf>,
}

/// A running process. It is killed when this value is dropped.
pub(super) struct Process {
    pub(super) order: Order,
    child: Child,
    stdin: ChildStdin,
    pub(super) started: Instant,
    /// True once it has said that it is up.
    pub(super) is_ready: bool,
    pub(super) is_stopped: bool,
}

impl Process {
    /// Starts a process on its host. What it says goes to `said`, with the number of its start.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(super) fn start(order: Order, hosts: &Hosts, place: &Place, said: &Sender<(i64, Said)>) -> io::Result<Self> {
        let mut command = hosts.command(order.host);
        if let Some(ahead) = place.clock_ahead_s {
            let ahead = ahead.to_string();
            command.args(["unshare", "--time", "--monotonic", &ahead, "--boottime", &ahead]);
        }
        command.arg(&place.program).args([super::options::NAME, CHILD_OPTION]);
        environment(&mut command, &order, place);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        if let Some(cgroup) = &place.cgroup {
            std::fs::write(cgroup.join("cgroup.procs"), child.id().to_string())?;
        }
        let mut stdin = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut line = serde_json::to_vec(&order)?;
        line.push(b'\n');
        stdin.write_all(&line)?;
        let boot = order.boot;
        let (facts, logs) = (said.clone(), said.clone());
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        thread::spawn(move || {
            for line in stdout.into_iter().flat_map(|out| BufReader::new(out).lines()).map_while(Result::ok) {
                let said = match serde_json::from_str(&line) {
                    Ok(fact) => Said::Fact(Box::new(fact)),
                    // A process that is killed may leave half a line, and libraries write what they like.
                    Err(_) => Said::Log(line),
                };
                if facts.send((boot, said)).is_err() {
                    return;
                }
            }
        });
        thread::spawn(move || {
            for line in stderr.into_iter().flat_map(|out| BufReader::new(out).lines()).map_while(Result::ok) {
                if logs.send((boot, Said::Log(line))).is_err() {
                    return;
                }
            }
        });
        Ok(Self { order, child, stdin, started: Instant::now(), is_ready: false, is_stopped: false })
    }

    /// Asks the process for something. One that has ended does nothing.
    pub(super) fn ask(&mut self, request: Request) {
        let Ok(mut line) = serde_json::to_vec(&request) else { return };
        line.push(b'\n');
        let _ = self.stdin.write_all(&line);
    }

    /// Returns the number by which the operating system knows the process.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal.
    pub(super) fn signal(&mut self, signal: Signal) {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // It may have ended; its number is kept until it is waited for.
            let _ = kill_process(pid, signal);
        }
        match signal {
            Signal::STOP => self.is_stopped = true,
            Signal::CONT => self.is_stopped = false,
            _ => {}
        }
    }

    /// Returns its status if it has ended.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Waits until it has ended, at most that long. Returns false if it has not.
    pub(super) fn wait(&mut self, time: Duration) -> bool {
        let begun = Instant::now();
        while self.ended().is_none() {
            if begun.elapsed() > time {
                return false;
            }
            thread::sleep(Duration::from_millis(5));
        }
        true
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sets the variables by which the process chooses its middleware, and is recorded.
fn environment(command: &mut Command, order: &Order, place: &Place) {
    for variable in ["ROSPIN_TRACE", "ROSPIN_DEPLOYMENT", "ROSPIN_SYSTEM", "CYCLONEDDS_URI", "ZENOH_CONFIG_OVERRIDE"] {
        command.env_remove(variable);
    }
    command.env("ROS_DOMAIN_ID", "77").env("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET").env_remove("ROS_STATIC_PEERS");
    // The command's allocator would otherwise reserve 1 GiB.
    command.env("MIMALLOC_ARENA_RESERVE", "64MiB").env("RCUTILS_COLORIZED_OUTPUT", "0");
    match place.middleware {
        Middleware::Zenoh => {
            // A robot's link is lost for longer than a few seconds now and then, and a lease of a minute would hide it.
            let lease = "transport/link/tx/lease=10000;transport/link/tx/keep_alive=4";
            command.env("RMW_IMPLEMENTATION", "rmw_zenoh_cpp").env("ZENOH_CONFIG_OVERRIDE", lease);
        }
        _ => {
            let address = Hosts::address(order.host);
            let interface =
                format!("<General><Interfaces><NetworkInterface address=\"{address}\"/></Interfaces></General>");
            command.env("RMW_IMPLEMENTATION", "rmw_cyclonedds_cpp").env("CYCLONEDDS_URI", interface);
        }
    }
    if order.role == Role::Robot {
        let recording = place.disk.join("robot.mcap");
        command.env("ROSPIN_TRACE", recording).env("ROSPIN_TRACE_MAX_SIZE", "1").env("ROSPIN_TRACE_KEEP", "3");
    }
}

/// A process that keeps processors busy. It is killed when this value is dropped.
pub(super) struct Hog(Vec<Child>);

impl Hog {
    /// Starts that many threads of work.
    ///
    /// # Errors
    /// If a shell cannot be started.
    pub(super) fn start(threads: usize) -> io::Result<Self> {
        let mut hog = Self(Vec::new());
        for _ in 0..threads {
            hog.0.push(Command::new("sh").args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn()?);
        }
        Ok(hog)
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Fills a disk. Returns true if it is full now.
///
/// # Errors
/// If the file cannot be created for another reason.
pub(super) fn fill(disk: &std::path::Path) -> io::Result<bool> {
    let mut file = File::create(disk.join("filled"))?;
    let block = [0_u8; 4096];
    loop {
        match file.write_all(&block) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::StorageFull => return Ok(true),
            Err(error) => return Err(error),
        }
    }
}
