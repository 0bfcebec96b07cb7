//! Threads of a process as the kernel has them: scheduling, core, processor time.

use std::collections::BTreeMap;
use std::fs;

use serde::Serialize;

/// A thread.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct KernelThread {
    /// Its number in the kernel.
    pub(crate) id: u32,
    pub(crate) name: String,
    /// The scheduling class: `other`, `fifo`, and so on.
    pub(crate) class: &'static str,
    /// The real-time priority, or the nice value of a thread without one.
    pub(crate) priority: i64,
    /// The core on which it ran last.
    pub(crate) core: u32,
    /// The part of the time since the last look for which it ran; 0 at the first look.
    pub(crate) cpu: f64,
}

/// Memory of the last look at the threads of a process, so that the next one tells their use of the processor.
#[derive(Default)]
pub(crate) struct Kernel {
    /// Processor times at the last look, by thread.
    before: BTreeMap<u32, u64>,
    looked_at: Option<u64>,
}

/// Fields of `/proc/PID/task/TID/stat`.
#[derive(PartialEq, Debug)]
struct Stat {
    name: String,
    class: &'static str,
    priority: i64,
    core: u32,
}

/// Returns the fields of the text of a stat file; `None` if it is invalid. The thread's name stands between
/// parentheses, and may have some itself.
fn parse(stat: &str) -> Option<Stat> {
    let (before, after) = stat.rsplit_once(") ")?;
    let name = before.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = after.split_ascii_whitespace().collect();
    // The first one is the third field of proc_pid_stat(5).
    let field = |number: usize| fields.get(number - 3)?.parse::<i64>().ok();
    let (nice, core, real_time, policy) = (field(19)?, field(39)?, field(40)?, field(41)?);
    let class = match policy {
        0 => "other",
        1 => "fifo",
        2 => "rr",
        3 => "batch",
        5 => "idle",
        6 => "deadline",
        7 => "ext",
        _ => "?",
    };
    let priority = if real_time > 0 { real_time } else { nice };
    Some(Stat { name, class, priority, core: u32::try_from(core).ok()? })
}

impl Kernel {
    /// Returns the threads of the process. `now_ns` is the time of this look.
    pub(crate) fn look(&mut self, process: u32, now_ns: u64) -> Vec<KernelThread> {
        let elapsed = self.looked_at.map(|before| now_ns.saturating_sub(before)).filter(|elapsed| *elapsed > 0);
        self.looked_at = Some(now_ns);
        let mut times = BTreeMap::new();
        let mut threads = Vec::new();
        for entry in fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten() {
            let Some(id) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
            // A thread that ends meanwhile is left out.
            let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
            let Some(Stat { name, class, priority, core }) = parse(&stat) else { continue };
            let times_of = fs::read_to_string(entry.path().join("schedstat")).unwrap_or_default();
            let ran_ns = times_of.split(' ').next().and_then(|ran| ran.parse::<u64>().ok()).unwrap_or(0);
            let before = self.before.get(&id).copied();
            let ran =
                before.zip(elapsed).map(|(before, elapsed)| ran_ns.saturating_sub(before) as f64 / elapsed as f64);
            times.insert(id, ran_ns);
            threads.push(KernelThread { id, name, class, priority, core, cpu: ran.unwrap_or(0.0) });
        }
        self.before = times;
        threads.sort_by_key(|thread| thread.id);
        threads
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_file_is_read_whatever_the_thread_is_called() {
        let stat = "17 (a) b (c)) S 1 17 17 0 -1 4194304 100 0 0 0 5 6 0 0 -51 -3 3 0 1 2 3 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 \
                    -1 7 50 1 0 0 0";
        let parsed = parse(stat).unwrap();
        assert_eq!(parsed, Stat { name: "a) b (c)".into(), class: "fifo", priority: 50, core: 7 });
        assert_eq!(parse("17 (a) S 1 2"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn this_process_has_threads_that_run() {
        let mut kernel = Kernel::default();
        assert!(kernel.look(std::process::id(), 1).iter().all(|thread| thread.cpu == 0.0));
        // This thread runs all the time, as far as the machine lets it.
        let begun = std::time::Instant::now();
        let mut most = 0.0;
        while most == 0.0 && begun.elapsed().as_secs() < 30 {
            let seen = kernel.look(std::process::id(), 2 + begun.elapsed().as_nanos() as u64);
            assert!(seen[0].id > 0 && !seen[0].name.is_empty());
            most = seen.iter().map(|thread| thread.cpu).fold(most, f64::max);
        }
        assert!(most > 0.0);
        assert_eq!(kernel.look(u32::MAX, 5), []);
    }
}
