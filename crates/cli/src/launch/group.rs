//! Process groups. Each process of a launch has one of its own, so a signal reaches the processes that it started, too,
//! and Ctrl-C in the terminal reaches the launch alone, which passes it on once.

use std::collections::BTreeSet;
use std::fs;
use std::io;

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
}

/// The groups of all processes of the machine that run. Those that have ended and were not waited for do not count.
pub(super) struct Alive(BTreeSet<i32>);

impl Alive {
    /// Looks at all processes once.
    pub(super) fn now() -> io::Result<Self> {
        let mut groups = BTreeSet::new();
        for entry in fs::read_dir("/proc")?.flatten() {
            let is_process = entry.file_name().as_encoded_bytes().first().is_some_and(u8::is_ascii_digit);
            if !is_process {
                continue;
            }
            // One that has ended meanwhile has no file. The kernel cuts names after 15 bytes, within a letter too.
            let Ok(stat) = fs::read(entry.path().join("stat")) else { continue };
            groups.extend(group_of(&String::from_utf8_lossy(&stat)));
        }
        Ok(Self(groups))
    }

    pub(super) fn has(&self, group: Group) -> bool {
        self.0.contains(&group.number())
    }
}

/// Returns the groups of processes with that variable in their environment that lead their group, and not a session.
pub(super) fn marked(name: &str, value: &str) -> Vec<Group> {
    let wanted = format!("{name}={value}");
    let mut groups = Vec::new();
    let Ok(entries) = fs::read_dir("/proc") else { return groups };
    for entry in entries.flatten() {
        // Those of other users are not read.
        let Ok(environment) = fs::read(entry.path().join("environ")) else { continue };
        let Ok(stat) = fs::read(entry.path().join("stat")) else { continue };
        let stat = String::from_utf8_lossy(&stat);
        let session = stat.rsplit_once(')').and_then(|(_, after)| after.split_whitespace().nth(3));
        let number = entry.file_name().to_string_lossy().into_owned();
        let is_leader = group_of(&stat).is_some_and(|group| group.to_string() == number) && session != Some(&number);
        if is_leader && environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes()) {
            groups.extend(Group::read(&number));
        }
    }
    groups
}

/// Returns the group of a process with that line of `/proc/PID/stat`; `None` if it has ended.
fn group_of(stat: &str) -> Option<i32> {
    // The name, which may have spaces and parentheses, stands in parentheses. State, parent and group follow.
    let (_, after) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = after.split_whitespace().take(3).collect();
    let [state, _parent, group] = fields[..] else { return None };
    if matches!(state, "Z" | "X") { None } else { group.parse().ok() }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn lines_of_processes_are_read() {
        assert_eq!(group_of("7 (a) b) S 1 8 9 0"), Some(8));
        assert_eq!(group_of("7 (a) Z 1 8 9 0"), None);
        assert_eq!((group_of(""), group_of("7 (a) S")), (None, None));
        assert_eq!((Group::read("1"), Group::read("-3"), Group::read("x")), (None, None, None));
    }

    #[test]
    fn a_process_counts_whose_name_is_no_text() {
        let folder = std::env::temp_dir().join(format!("rospin-group-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        // The kernel keeps 15 bytes of a name, and so only the first of the two bytes of the letter at the end.
        let program = folder.join("14-bytes-here-\u{f6}");
        fs::copy("/bin/sleep", &program).unwrap();
        let mut process = Command::new(&program).arg("60").process_group(0).spawn().unwrap();
        let group = Group::of(Pid::from_child(&process));
        let is_alive = Alive::now().unwrap().has(group);
        group.send(Signal::KILL);
        process.wait().unwrap();
        fs::remove_dir_all(folder).unwrap();
        assert!(is_alive);
    }

    #[test]
    fn a_group_lives_until_all_of_it_have_ended() {
        // The shell ends at once, and leaves a process.
        let mut shell = Command::new("sh").args(["-c", "sleep 60 & exit"]).process_group(0).spawn().unwrap();
        let group = Group::of(Pid::from_child(&shell));
        assert_eq!(Group::read(&group.number().to_string()), Some(group));
        shell.wait().unwrap();
        assert!(Alive::now().unwrap().has(group));
        group.send(Signal::KILL);
        while Alive::now().unwrap().has(group) {
            std::thread::yield_now();
        }
    }
}
