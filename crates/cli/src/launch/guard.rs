//! The guard of a launch: a process that ends the launch's processes if the launch was killed.
//!
//! It reads the numbers of process groups from a pipe: `+7` for one that has begun, `-7` for one that has gone. The
//! pipe ends with the launch, however that ends. Then the guard asks what is left to end, and kills it in the end.
//!
//! What the guard does not reach: processes that left their group, and one whose number was not written yet, in the
//! instant after its start.

use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::group::{Alive, Group};

/// What the processes get, and how long the guard waits then.
const STEPS: [(Signal, Duration); 3] = [
    (Signal::INT, Duration::from_millis(1200)),
    (Signal::TERM, Duration::from_millis(500)),
    (Signal::KILL, Duration::from_millis(500)),
];
/// Pause before the guard looks again for processes that are left.
const PAUSE: Duration = Duration::from_millis(20);

/// The guard as the launch sees it. Its drop ends the guard, which ends the groups that are left.
pub(super) struct Guard {
    child: Child,
    groups: Option<ChildStdin>,
}

impl Guard {
    pub(super) fn start() -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args([super::NAME, "--part", "guard"]).process_group(0);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let groups = child.stdin.take();
        Ok(Self { child, groups })
    }

    /// Notes a group that has begun. Errors if the guard has gone.
    pub(super) fn add(&mut self, group: Group) -> io::Result<()> {
        self.write('+', group)
    }

    /// Notes a group that has gone: its number may be another one's from now on.
    pub(super) fn remove(&mut self, group: Group) -> io::Result<()> {
        self.write('-', group)
    }

    fn write(&mut self, sign: char, group: Group) -> io::Result<()> {
        match &mut self.groups {
            Some(groups) => groups.write_all(format!("{sign}{}\n", group.number()).as_bytes()),
            None => Ok(()),
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.groups = None;
        // It is a child of this process, so it can be waited for.
        let _ = self.child.wait();
    }
}

/// Runs as the guard.
pub(super) fn run() {
    let mut groups = Vec::new();
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        note(&mut groups, &line);
    }
    end(groups);
}

fn note(groups: &mut Vec<Group>, line: &str) {
    if let Some(group) = line.strip_prefix('+').and_then(Group::read) {
        groups.push(group);
    } else if let Some(group) = line.strip_prefix('-').and_then(Group::read) {
        groups.retain(|known| *known != group);
    }
}

/// Ends all processes of the groups.
fn end(mut groups: Vec<Group>) {
    for (signal, patience) in STEPS {
        for group in &groups {
            group.send(signal);
        }
        let begin = Instant::now();
        loop {
            // Without a look at the processes, all of them get all signals.
            if let Ok(alive) = Alive::now() {
                groups.retain(|group| alive.has(*group));
            }
            if groups.is_empty() {
                return;
            }
            if begin.elapsed() >= patience {
                break;
            }
            thread::sleep(PAUSE);
        }
    }
}
