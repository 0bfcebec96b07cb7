//! Process groups. Each process of a launch has one of its own, so a signal reaches the processes that it started, too,
//! and Ctrl-C in the terminal reaches the launch alone, which passes it on once.

use std::fs;

use rustix::process::{Pid, Signal, kill_process_group};

/// The processes that a process of the launch began, itself among them. Those that made a group of their own, such as
/// daemons, have left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Group(Pid);

impl Group {
    /// Returns the group that a process leads.
    pub(super) const fn of(leader: Pid) -> Self {
        Self(leader)
    }

    /// Reads a group's number as [`number`](Self::number) returns it.
    pub(super) fn read(number: &str) -> Option<Self> {
        let number = number.parse().ok()?;
        // A signal to group 1 would reach every process.
        if number > 1 { Pid::from_raw(number).map(Self) } else { None }
    }

    pub(super) const fn number(self) -> i32 {
        self.0.as_raw_nonzero().get()
    }

    pub(super) fn send(self, signal: Signal) {
        // Fails if nobody is left. A process of another user, which a program with such rights can become, ends by
        // itself or not at all.
        let _ = kill_process_group(self.0, signal);
    }

    /// Returns true if a process of the group runs. Those that have ended and were not waited for do not count.
    pub(super) fn is_alive(self) -> bool {
        let Ok(entries) = fs::read_dir("/proc") else {
            // Without a list of processes, the system is asked, which counts those, too.
            return rustix::process::test_kill_process_group(self.0).is_ok();
        };
        for entry in entries.flatten() {
            let is_process = entry.file_name().as_encoded_bytes().first().is_some_and(u8::is_ascii_digit);
            if !is_process {
                continue;
            }
            // One that has ended meanwhile has no file.
            let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
            if is_of(&stat, self.number()) {
                return true;
            }
        }
        false
    }
}

/// Returns true if a process with that line of `/proc/PID/stat` is of the group and runs.
fn is_of(stat: &str, group: i32) -> bool {
    // The name, which may have spaces and parentheses, stands in parentheses. State, parent and group follow.
    let Some((_, after)) = stat.rsplit_once(')') else { return false };
    let fields: Vec<&str> = after.split_whitespace().take(3).collect();
    let [state, _parent, of] = fields[..] else { return false };
    of.parse() == Ok(group) && !matches!(state, "Z" | "X")
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn lines_of_processes_are_read() {
        assert!(is_of("7 (a) b) S 1 7 7 0", 7));
        assert!(!is_of("7 (a) S 1 7 7 0", 1));
        assert!(!is_of("7 (a) Z 1 7 7 0", 7));
        assert!(!is_of("", 0) && !is_of("7 (a) S", 7));
        assert_eq!((Group::read("1"), Group::read("-3"), Group::read("x")), (None, None, None));
    }

    #[test]
    fn a_group_lives_until_all_of_it_have_ended() {
        // The shell ends at once, and leaves a process.
        let mut shell = Command::new("sh").args(["-c", "sleep 60 & exit"]).process_group(0).spawn().unwrap();
        let group = Group::of(Pid::from_child(&shell));
        assert_eq!(Group::read(&group.number().to_string()), Some(group));
        shell.wait().unwrap();
        assert!(group.is_alive());
        group.send(Signal::KILL);
        while group.is_alive() {
            std::thread::yield_now();
        }
    }
}
