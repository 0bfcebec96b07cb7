//! The guard of a launch: a process that ends the launch's processes if the launch was killed.
//!
//! It reads the numbers of process groups from a pipe: `+7` for one that has begun, `-7` for one that has gone. The
//! pipe ends with the launch, however that ends. Then the guard asks what is left to end, and kills it in the end.
//!
//! The launch may be killed between the start of a process and the line about it. So each process has a variable in its
//! environment by which the guard finds it. What the guard does not reach: processes that left their group.

use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::group::{Alive, Group, marked};

/// Signals that the guard sends to the processes in turn, each with the time that it then waits for their end.
const STEPS: [(Signal, Duration); 3] = [
    (Signal::INT, Duration::from_millis(1200)),
    (Signal::TERM, Duration::from_millis(500)),
    (Signal::KILL, Duration::from_millis(500)),
];
/// Variable of the processes of a launch.
pub(super) const MARK: &str = "ROSPIN_LAUNCH";
/// Time in which a process that is just being started gets its variables.
const START: Duration = Duration::from_millis(50);
/// Pause before the guard looks again for processes that are left.
const PAUSE: Duration = Duration::from_millis(20);

/// Returns the value of [`MARK`] for the processes of this launch, which no other launch on this machine has.
pub(super) fn mark() -> &'static str {
    static VALUE: OnceLock<String> = OnceLock::new();
    VALUE.get_or_init(|| format!("{}-{}", std::process::id(), jiff::Timestamp::now().as_nanosecond()))
}

/// The guard as the launch sees it. Its drop ends the guard, which ends the groups that are left.
pub(super) struct Guard {
    child: Child,
    groups: Option<ChildStdin>,
}

impl Guard {
    pub(super) fn start() -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        // A launch may be a process of another one, whose guard should not end this one.
        command.args([super::NAME, "--part", "guard"]).process_group(0).env_remove(MARK);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let mut groups = child.stdin.take();
        if let Some(groups) = &mut groups {
            groups.write_all(format!("={}\n", mark()).as_bytes())?;
        }
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
        // Nothing is being started any more, so nothing has to be searched. If the guard has gone, that was told.
        let _ = self.groups.as_mut().map(|groups| groups.write_all(b"=\n"));
        self.groups = None;
        // It is a child of this process, so it can be waited for.
        let _ = self.child.wait();
    }
}

/// Runs as the guard.
pub(super) fn run() {
    let (mut groups, mut mark) = (Vec::new(), String::new());
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        match line.strip_prefix('=') {
            Some(value) => value.clone_into(&mut mark),
            None => note(&mut groups, &line),
        }
    }
    if !mark.is_empty() {
        thread::sleep(START);
        for group in marked(MARK, &mark) {
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
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

#[cfg(test)]
mod tests {
    use rustix::process::Pid;

    use super::*;

    #[test]
    fn a_process_is_found_by_its_variable() {
        let sleep = |value: &str| Command::new("sleep").arg("60").env(MARK, value).process_group(0).spawn().unwrap();
        let mut ours = sleep(mark());
        let mut other = sleep("1-1");
        thread::sleep(START);
        let found = marked(MARK, mark());
        for process in [&mut ours, &mut other] {
            process.kill().unwrap();
            process.wait().unwrap();
        }
        assert_eq!(found, [Group::of(Pid::from_child(&ours))]);
    }
}
