//! The middleware of programs that run now: a message is only as urgent as the least urgent thread that it passes.

use std::collections::BTreeMap;
use std::fs;

use rospin_engine::{ForeignThreads, ThreadRole};
use rospin_node::{CYCLONE_DDS_THREADS, ZENOH_THREADS};

use super::finding::{Finding, Read, read_file};

const RECEIVE_BUFFER_MAX: &str = "/proc/sys/net/core/rmem_max";
/// Size of a socket's receive buffer that is good: the messages of one image fit into it. Linux has 208 KiB by default.
const RECEIVE_BUFFER_GOOD: u64 = 4 << 20;

/// Numbers by which the kernel calls `SCHED_FIFO`, `SCHED_RR` and `SCHED_DEADLINE`.
const REAL_TIME_POLICIES: [u32; 3] = [1, 2, 6];
const DEADLINE_POLICY: u32 = 6;

/// A thread of a program that runs now, as the kernel's files show it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Thread {
    pub(super) process: u32,
    /// The name of the process's first thread.
    pub(super) program: String,
    pub(super) name: String,
    /// The real-time priority, or 100 for `SCHED_DEADLINE`; `None` for an ordinary thread.
    pub(super) priority: Option<u32>,
}

/// Returns a finding for each program that runs now and has real-time threads beside those of a middleware.
pub(super) fn findings() -> Vec<Finding> {
    judge(&threads())
}

/// Judges the largest receive buffer that a socket may have.
pub(super) fn receive_buffer(read: Read<'_>) -> Finding {
    const NAME: &str = "socket receive buffer";
    match read(RECEIVE_BUFFER_MAX).and_then(|text| text.parse::<u64>().ok()) {
        None => Finding::good(NAME, "cannot be read here", "DDS asks for 32 MiB, and gets what there is"),
        Some(bytes) if bytes >= RECEIVE_BUFFER_GOOD => {
            let value = format!("up to {} KiB", bytes / 1024);
            Finding::good(NAME, value, "a large DDS message comes as a burst of packets, which fit")
        }
        Some(bytes) => Finding::limits(
            NAME,
            format!("up to {} KiB", bytes / 1024),
            "a DDS message above that comes as a burst of packets, of which some are lost and sent anew, tens of milliseconds later",
            "`sysctl -w net.core.rmem_max=33554432`, for programs that start afterwards",
        ),
    }
}

/// Judges programs by their threads. Those without a middleware, or without real-time threads of their own, have no
/// finding.
fn judge(threads: &[Thread]) -> Vec<Finding> {
    let mut programs: BTreeMap<u32, Vec<&Thread>> = BTreeMap::new();
    for thread in threads {
        programs.entry(thread.process).or_default().push(thread);
    }
    let of = |known: ForeignThreads| programs.values().filter_map(move |threads| judge_one(known, threads));
    [CYCLONE_DDS_THREADS, ZENOH_THREADS].into_iter().flat_map(of).collect()
}

/// Judges the program with these threads; `None` if they are not those of the middleware `known`, or no other one is
/// real-time.
fn judge_one(known: ForeignThreads, threads: &[&Thread]) -> Option<Finding> {
    const NAME: &str = "middleware threads";
    let kind = |thread: &Thread| known.kinds.iter().find(|kind| kind.is(&thread.name));
    let carries = |thread: &&&Thread| kind(thread).is_some_and(|kind| kind.role == ThreadRole::Carries);
    // One common name does not identify a middleware: other programs have threads of such a name, too.
    let kinds = known.kinds.iter().filter(|kind| threads.iter().any(|thread| kind.is(&thread.name))).count();
    if kinds < 2 {
        return None;
    }
    let highest = threads.iter().filter(|thread| kind(thread).is_none()).filter_map(|thread| thread.priority).max()?;
    let late = threads.iter().filter(carries).filter(|thread| thread.priority.is_none_or(|has| has <= highest.min(97)));
    let late: Vec<&str> = late.map(|thread| thread.name.as_str()).collect();
    let program = format!("{} (process {})", threads[0].program, threads[0].process);
    if late.is_empty() {
        let value = format!("{program}: {} runs above all executors", known.middleware);
        return Some(Finding::good(NAME, value, "a message is as urgent as its callback"));
    }
    let value = format!(
        "{program}: executors are real-time, up to priority {highest}, and {} of {} are not above them",
        late.join(", "),
        known.middleware,
    );
    let fix =
        "restart it with CAP_SYS_NICE, which raises them, or take their [[thread]] lines out of the deployment file";
    let meaning = "a message waits for whatever those threads wait for, however urgent its callback is";
    Some(Finding::limits(NAME, value, meaning, fix).broken())
}

/// Returns the threads of all processes that this one may read about.
fn threads() -> Vec<Thread> {
    let mut threads = Vec::new();
    let numbers = |path: &str| -> Vec<u32> {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    };
    for process in numbers("/proc") {
        let Some(program) = read_file(&format!("/proc/{process}/comm")) else { continue };
        for thread in numbers(&format!("/proc/{process}/task")) {
            // The thread may have ended meanwhile.
            let Some(stat) = read_file(&format!("/proc/{process}/task/{thread}/stat")) else { continue };
            let Some((name, priority)) = parse(&stat) else { continue };
            threads.push(Thread { process, program: program.clone(), name, priority });
        }
    }
    threads
}

/// Returns the name and the real-time priority of a thread, from its `stat` file; `None` if the text is no such file. A
/// reservation (`SCHED_DEADLINE`) has 100, above every priority.
fn parse(stat: &str) -> Option<(String, Option<u32>)> {
    // The name may contain brackets and blanks. The third field comes after it.
    let (head, fields) = stat.rsplit_once(") ")?;
    let name = head.split_once('(')?.1.to_owned();
    let mut fields = fields.split_ascii_whitespace().skip(37);
    let (priority, policy): (u32, u32) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    let priority = if policy == DEADLINE_POLICY { 100 } else { priority };
    Some((name, REAL_TIME_POLICIES.contains(&policy).then_some(priority)))
}

#[cfg(test)]
mod tests {
    use super::super::finding::{Verdict, files};
    use super::*;

    #[test]
    fn small_receive_buffers_are_told_with_the_fix() {
        let judge = |text| receive_buffer(&files(&[(RECEIVE_BUFFER_MAX, text)]));
        let small = judge("212992");
        assert_eq!((small.verdict, small.value.as_str()), (Verdict::LimitsYou, "up to 208 KiB"));
        assert!(small.fix.is_some_and(|fix| fix.contains("net.core.rmem_max")));
        assert_eq!(judge("33554432").verdict, Verdict::Good);
        assert_eq!(receive_buffer(&files(&[])).verdict, Verdict::Good);
    }

    fn program(threads: &[(&str, Option<u32>)]) -> Vec<Thread> {
        let thread = |(name, priority): &(&str, Option<u32>)| Thread {
            process: 7,
            program: "robot".to_owned(),
            name: (*name).to_owned(),
            priority: *priority,
        };
        threads.iter().map(thread).collect()
    }

    #[test]
    fn a_real_time_executor_above_its_middleware_is_told() {
        let found = judge(&program(&[("control", Some(20)), ("recv", None), ("tev", Some(21)), ("gc", None)]));
        assert_eq!((found.len(), found[0].verdict), (1, Verdict::Broken));
        assert!(found[0].value.contains("robot (process 7)") && found[0].value.contains("recv of DDS"), "{found:?}");
        assert!(found[0].fix.as_deref().is_some_and(|fix| fix.contains("[[thread]]")));
        let found = judge(&program(&[("control", Some(20)), ("rx-0", Some(20)), ("tx-0", Some(21))]));
        assert!(found[0].value.contains("rx-0 of Zenoh"), "{found:?}");
    }

    #[test]
    fn middlewares_above_executors_are_good_and_others_are_not_looked_at() {
        let found = judge(&program(&[("control", Some(20)), ("recv", Some(21)), ("tev", Some(21))]));
        assert_eq!(found[0].verdict, Verdict::Good);
        // These are no executor, no middleware, or share only one name with a middleware.
        for threads in [&[("recv", None), ("tev", None)][..], &[("control", Some(20))], &[("x", Some(1)), ("gc", None)]]
        {
            assert_eq!(judge(&program(threads)), []);
        }
    }

    #[test]
    fn the_kernels_line_is_read() {
        let stat = |rest: &str| format!("12 (a (b) c) S {}{rest} 0 0", "0 ".repeat(36));
        assert_eq!(parse(&stat("20 1")), Some(("a (b) c".to_owned(), Some(20))));
        assert_eq!(parse(&stat("0 0")), Some(("a (b) c".to_owned(), None)));
        assert_eq!(parse(&stat("0 6")), Some(("a (b) c".to_owned(), Some(100))));
        assert!(!threads().is_empty());
    }
}
