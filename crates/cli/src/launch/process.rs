//! A process of a launch, from its start until nobody of its group is left.

use std::fmt;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};

use super::group::Group;
use super::guard;
use super::output::{Level, Output};
use super::plan::Planned;
use super::run::Event;

/// Time that the last lines of an ended process have to come. A process that it left may hold its output for longer.
const LAST_LINES: Duration = Duration::from_millis(100);
/// Time after SIGKILL at which a process counts as one that cannot be ended.
const UNKILLABLE: Duration = Duration::from_secs(5);

/// The way in which a process ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    Exit(i32),
    Signal(i32),
}

impl End {
    pub(super) const fn is_clean(self) -> bool {
        matches!(self, Self::Exit(0))
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exit(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "exit code -{signal}"),
        }
    }
}

/// How far the end of a process has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// It was not asked to end.
    Running,
    Interrupted(Instant),
    Terminated(Instant),
    Killed(Instant),
    /// SIGKILL had no effect, since the process belongs to another user or hangs in the kernel.
    GivenUp,
}

/// A process that was started.
pub(super) struct Running {
    child: Child,
    group: Group,
    stage: Stage,
    /// Its end. Others of its group may be left.
    pub(super) end: Option<End>,
    /// True if it died for good, and not because the launch ends.
    pub(super) has_failed: bool,
}

impl Running {
    /// Starts the process with that number, in a group of its own. Its end comes as an event with `start` in it.
    pub(super) fn start(
        number: usize,
        start: u32,
        planned: &Planned,
        output: &Output,
        events: &Sender<Event>,
    ) -> io::Result<Self> {
        let mut command = Command::new(&planned.program);
        command.args(&planned.arguments).envs(&planned.environment).env(guard::MARK, guard::mark()).process_group(0);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let pid = Pid::from_child(&child);
        // Before its first line.
        output.tell(Level::Info, &planned.label, &format!("process started with pid [{}]", child.id()));
        let mut streams = Vec::new();
        if let Some(stdout) = child.stdout.take() {
            streams.push(output.follow(number, &planned.label, stdout));
        }
        if let Some(stderr) = child.stderr.take() {
            streams.push(output.follow(number, &planned.label, stderr));
        }
        let events = events.clone();
        let watch = move || {
            let end = wait(pid);
            let until = Instant::now() + LAST_LINES;
            for stream in streams {
                wait_for_end(&stream, until);
            }
            // Nobody listens if the launch is over.
            let _ = events.send(Event::Ended { number, start, end });
        };
        let running = Self { child, group: Group::of(pid), stage: Stage::Running, end: None, has_failed: false };
        match thread::Builder::new().name("watch".to_owned()).spawn(watch) {
            Ok(_) => Ok(running),
            Err(error) => {
                running.group.send(Signal::KILL);
                running.reap();
                Err(error)
            }
        }
    }

    pub(super) const fn group(&self) -> Group {
        self.group
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Asks the process to end: sends SIGINT, unless a signal was sent already.
    pub(super) fn interrupt(&mut self, now: Instant) -> bool {
        if self.stage != Stage::Running {
            return false;
        }
        self.group.send(Signal::INT);
        self.stage = Stage::Interrupted(now);
        true
    }

    /// Asks those that the ended process has left to end.
    pub(super) fn terminate_others(&mut self, now: Instant) {
        if self.stage == Stage::Running {
            self.group.send(Signal::TERM);
            self.stage = Stage::Terminated(now);
        }
    }

    /// Ends the process without a chance for it to do anything.
    pub(super) fn kill(&mut self, now: Instant) {
        if !matches!(self.stage, Stage::Killed(_) | Stage::GivenUp) {
            self.group.send(Signal::KILL);
            self.stage = Stage::Killed(now);
        }
    }

    /// Sends the next signal if its time has come, and returns what happened, as a sentence about the process.
    pub(super) fn escalate(&mut self, planned: &Planned, now: Instant) -> Option<String> {
        match self.stage {
            Stage::Interrupted(at) if now >= at + planned.sigterm_timeout => {
                self.group.send(Signal::TERM);
                self.stage = Stage::Terminated(now);
                let seconds = planned.sigterm_timeout.as_secs_f64();
                Some(format!("failed to terminate {seconds} s after receiving SIGINT, escalating to SIGTERM"))
            }
            Stage::Terminated(at) if now >= at + planned.sigkill_timeout => {
                self.kill(now);
                let seconds = planned.sigkill_timeout.as_secs_f64();
                Some(format!("failed to terminate {seconds} s after receiving SIGTERM, escalating to SIGKILL"))
            }
            Stage::Killed(at) if now >= at + UNKILLABLE => {
                self.stage = Stage::GivenUp;
                Some("cannot be ended by SIGKILL either; it is left".to_owned())
            }
            _ => None,
        }
    }

    /// Returns the time of the next signal.
    pub(super) fn due(&self, planned: &Planned) -> Option<Instant> {
        match self.stage {
            Stage::Interrupted(at) => Some(at + planned.sigterm_timeout),
            Stage::Terminated(at) => Some(at + planned.sigkill_timeout),
            Stage::Killed(at) => Some(at + UNKILLABLE),
            Stage::Running | Stage::GivenUp => None,
        }
    }

    /// Returns true if the process was killed, or could not be.
    pub(super) const fn was_killed(&self) -> bool {
        matches!(self.stage, Stage::Killed(_) | Stage::GivenUp)
    }

    /// Returns true if those of the group who are left cannot be ended.
    pub(super) fn is_given_up(&self) -> bool {
        self.stage == Stage::GivenUp
    }

    /// Forgets the process, and gives its number back: until then, no other process and no other group has it.
    pub(super) fn reap(mut self) {
        if self.stage != Stage::GivenUp {
            // It is a child of this process, so it can be waited for.
            let _ = self.child.wait();
        }
    }
}

/// Waits for the end of a process, which keeps its number.
fn wait(pid: Pid) -> End {
    loop {
        match waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            Ok(Some(status)) => {
                let signal = status.terminating_signal().map(End::Signal);
                return signal.or(status.exit_status().map(End::Exit)).unwrap_or(End::Exit(0));
            }
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            // Only a process that somebody else waited for has no status any more.
            Err(_) => return End::Exit(0),
        }
    }
}

fn wait_for_end(stream: &Receiver<()>, until: Instant) {
    // Disconnected or late: there is nothing to receive.
    let _ = stream.recv_timeout(until.saturating_duration_since(Instant::now()));
}
