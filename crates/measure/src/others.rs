//! The processor time that other programs take while something is measured.

use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;

/// Ticks of the kernel's accounts per second, on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;
/// The least time that counts, in ticks: single ticks may be charged to the wrong program.
const TICKS_MIN: u64 = 5;
/// The least number of cores that others must have kept busy for a measurement to be distrusted.
const CORES_MIN: f64 = 0.1;

/// Meter of the processor time that programs other than this one and its children take, from the meter's creation on.
/// Time that a hypervisor took from the whole machine counts, too.
pub struct Others {
    begun: Instant,
    /// Ticks of others at the beginning; `None` where `/proc` does not tell.
    ticks: Option<u64>,
}

impl Others {
    /// Returns a meter that starts now.
    #[must_use]
    pub fn watch() -> Self {
        Self { begun: Instant::now(), ticks: ticks_of_others() }
    }

    /// Returns the number of cores that others kept busy since the start, on average; `None` if that is too little to
    /// matter, or unknown.
    #[must_use]
    pub fn busy_cores(&self) -> Option<f64> {
        let ticks = ticks_of_others()?.saturating_sub(self.ticks?);
        let cores = ticks as f64 / TICKS_PER_SECOND / self.begun.elapsed().as_secs_f64().max(1e-9);
        if ticks >= TICKS_MIN && cores >= CORES_MIN { Some(cores) } else { None }
    }
}

/// Returns the ticks that others have used since the machine started.
fn ticks_of_others() -> Option<u64> {
    // Read first: what this program uses meanwhile must not count for others.
    let all = busy_ticks(&fs::read_to_string("/proc/stat").ok()?)?;
    Some(all.saturating_sub(own_ticks(std::process::id(), processes())))
}

/// Returns the ticks that all programs have used, and those that were stolen, from the text of `/proc/stat`. Interrupts
/// are left out, since they may be this program's.
fn busy_ticks(stat: &str) -> Option<u64> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = line.split_whitespace().map_while(|number| number.parse().ok()).collect();
    let [user, nice, system, _idle, _io, _irq, _softirq, steal, ..] = ticks[..] else { return None };
    Some(user + nice + system + steal)
}

/// A process: its parent, and the ticks that it and those of its children have used that have ended.
type Process = (u32, u64);

/// Returns all processes by their numbers.
fn processes() -> BTreeMap<u32, Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let read = |number: u32| Some((number, process(&fs::read_to_string(format!("/proc/{number}/stat")).ok()?)?));
    numbers.filter_map(read).collect()
}

/// Returns the process from the text of its `stat` file.
fn process(stat: &str) -> Option<Process> {
    // The name, in brackets, may contain anything.
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks = fields.get(11..15)?.iter().filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Some((fields.get(1)?.parse().ok()?, ticks))
}

/// Returns the ticks of the process `own` and of all that descend from it.
fn own_ticks(own: u32, processes: BTreeMap<u32, Process>) -> u64 {
    let mut family = vec![own];
    let mut next = 0;
    while let Some(&parent) = family.get(next) {
        family.extend(processes.iter().filter(|(_, (of, _))| *of == parent).map(|(child, _)| *child));
        next += 1;
    }
    family.iter().filter_map(|member| processes.get(member)).map(|(_, ticks)| ticks).sum()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use super::*;
    use crate::process::use_processor;

    #[test]
    fn the_kernels_texts_are_read() {
        let stat = "cpu  10 1 20 999 5 3 2 4 0 0\ncpu0 5 1 10 500 2 1 1 2 0 0\n";
        assert_eq!(busy_ticks(stat), Some(35));
        assert_eq!(busy_ticks("cpu 1 2"), None);
        assert_eq!(process("7 (a) b) c) S 3 7 7 0 -1 0 1 2 3 4 10 20 30 40 20 0"), Some((3, 100)));
        assert_eq!(process("7 (a"), None);
    }

    #[test]
    fn children_and_their_children_are_no_others() {
        let processes = BTreeMap::from([(1, (0, 1_000)), (2, (1, 10)), (3, (2, 20)), (4, (3, 30)), (5, (1, 500))]);
        assert_eq!(own_ticks(2, processes), 60);
    }

    /// A child that keeps a core busy belongs to this program. Whether others are busy depends on the machine.
    #[test]
    fn the_own_time_does_not_count() {
        let before = own_ticks(std::process::id(), processes());
        let mut child = Command::new("sh").args(["-c", "while :; do :; done"]).stdout(Stdio::null()).spawn().unwrap();
        while own_ticks(std::process::id(), processes()) < before + 20 {
            use_processor(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(ticks_of_others().is_some());
    }
}
