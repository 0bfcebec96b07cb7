//! Broken files: each is refused by `rospin analyze` and `rospin simulate` with line, column and what to do about it,
//! within seconds and 200 MiB.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::Scratch;

/// Largest address space of a command, in KiB.
const MEMORY_MAX: u64 = 200 * 1024;
/// Time after which a command is killed, so that its case fails.
const TIME_MAX: Duration = Duration::from_secs(20);

/// Valid text; each case replaces a part of it.
const RIGHT: &str = r#"name = "right"
duration = "1 s"
seed = 7
cores = 2
topics = ["scan"]

[[executor]]
name = "main"
policy = "fixed-priority"
threads = 1
cores = [0]

[[group]]
name = "node"

[[callback]]
name = "lidar"
kind = "timer"
period = "10 ms"
execution = "1 ms"
priority = 2
publishes = ["scan"]

[[callback]]
name = "plan"
kind = "subscription"
subscribes = "scan"
execution = { uniform = ["1 ms", "2 ms"] }
priority = 1
depth = 4

[[chain]]
name = "drive"
callbacks = ["lidar", "plan"]
deadline = "20 ms"

[[release]]
to = ["plan"]
period = "50 ms"
jitter = "1 ms"
"#;

/// Commands that must refuse a case.
#[derive(Clone, Copy, PartialEq)]
enum For {
    Both,
    Analyze,
    Simulate,
}
use For::{Analyze, Both, Simulate};

/// Each case: the text that is replaced, its replacement with `§` at the place of the error, and a part of the error's
/// text.
const CASES: &[(For, &str, &str, &str)] = &[
    // Not valid TOML.
    (Both, "seed = 7", "seed = §", ""),
    (Both, "[[executor]]", "[[executor§", ""),
    (Both, "name = \"main\"", "name = §main", ""),
    (Both, "topics = [\"scan\"]", "topics = [\"scan\"\n§x", ""),
    (Both, "seed = 7", "seed = 7\n§seed = 8", "duplicate key"),
    (Both, "name = \"node\"", "name = \"node§", ""),
    (Both, "cores = 2", "cores = §02", ""),
    (Both, "[[group]]", "[[group]] §x", ""),
    (Both, "seed = 7", "seed §7", ""),
    // Not valid UTF-8.
    (Both, "name = \"right\"", "name = \"é§\u{ad}\"", "byte 0xe9 is not UTF-8; save the file as UTF-8"),
    (Both, "jitter = \"1 ms\"", "jitter = \"1 ms\"\n# §\u{ad}", "byte 0xe9 is not UTF-8"),
    // A value of the wrong type.
    (Both, "seed = 7", "seed = §\"seven\"", "expected"),
    (Both, "seed = 7", "seed = §-7", "expected"),
    (Both, "seed = 7", "seed = §7.5", "expected"),
    (Both, "duration = \"1 s\"", "duration = §1", "\"500 ms\""),
    (Both, "duration = \"1 s\"", "duration = §true", "\"500 ms\""),
    (Both, "duration = \"1 s\"", "duration = §\"soon\"", "write a number and a unit"),
    (Both, "duration = \"1 s\"", "duration = §\"1\"", "has no unit"),
    (Both, "duration = \"1 s\"", "duration = §\"1 sec\"", "write one of ns"),
    (Both, "duration = \"1 s\"", "duration = §\"-1 s\"", "0 or more"),
    (Both, "duration = \"1 s\"", "duration = §\"1e9 s\"", "unit"),
    (Both, "duration = \"1 s\"", "duration = §\"0.0000000001 s\"", "leave out the last digits"),
    (Both, "duration = \"1 s\"", "duration = §\"99999999999999 h\"", "584 years"),
    (Both, "duration = \"1 s\"", "duration = §\"0 s\"", "give it a duration above zero"),
    (Both, "seed = 7", "seed = 7\n§speed = 3", "unknown field"),
    (Both, "threads = 1", "§thread = 1", "unknown field"),
    (Both, "threads = 1", "threads = §0", "1 to 256 threads"),
    (Both, "threads = 1", "threads = §100000", ""),
    (Both, "cores = 2", "cores = §0", "1 to 64 cores"),
    (Both, "cores = 2", "cores = §65", "1 to 64 cores"),
    (Both, "cores = [0]", "cores = §[2]", "there is no core 2"),
    (Both, "cores = [0]", "cores = §0", ""),
    (Both, "threads = 1", "os_priority = §100", "from 1 to 99"),
    (Both, "policy = \"fixed-priority\"", "policy = §\"fair\"", "fair"),
    (Both, "threads = 1", "start = \"2 s\"\nstop = §\"1 s\"", "give a later time"),
    (Both, "kind = \"timer\"", "kind = §\"clock\"", ""),
    // Invalid names.
    (Both, "name = \"node\"", "name = §\"\"", "give it one"),
    (Both, "name = \"plan\"", "name = §\"lidar\"", "rename one of them"),
    (Both, "name = \"plan\"", "name = §\"pl\\u001b[31man\"", "control characters in it; leave them out"),
    (Both, "name = \"main\"", "name = §\"ma\\u0007in\"", "control characters"),
    (Both, "name = \"right\"", "name = §\"r\\u001b]0;x\\u0007\"", "control characters"),
    (Both, "topics = [\"scan\"]", "topics = §[\"scan\", \"s\\u009b\"]", "control characters"),
    (Both, "name = \"drive\"", "name = §\"dr\\u202eive\"", "control characters"),
    (Both, "subscribes = \"scan\"", "subscribes = §\"s\\u001bcan\"", "known are scan"),
    (Both, "topics = [\"scan\"]", "topics = §[\"scan\", \"scan\"]", "leave one out"),
    (Both, "topics = [\"scan\"]", "topics = §[\"scan\", \"plan\"]", "rename one of them"),
    (Both, "publishes = [\"scan\"]", "publishes = §[\"nobody\"]", "known are scan"),
    (Both, "publishes = [\"scan\"]", "publishes = §[\"lidar\"]", "known are scan"),
    (Both, "to = [\"plan\"]", "to = §[\"lidar\"]", "is a timer"),
    (Both, "to = [\"plan\"]", "to = §[]", "name a topic or a callback"),
    (Both, "callbacks = [\"lidar\", \"plan\"]", "callbacks = §[\"lidar\", \"nobody\"]", "there is no callback"),
    (
        Both,
        "callbacks = [\"lidar\", \"plan\"]",
        "callbacks = §[\"plan\", \"lidar\"]",
        "let a chain of its own start there",
    ),
    (Both, "callbacks = [\"lidar\", \"plan\"]", "callbacks = §[]", "name them in the order"),
    (Both, "name = \"node\"", "name = \"node\"\nexecutor = §\"second\"", "known are main"),
    // Times out of range.
    (Both, "period = \"10 ms\"", "period = §\"0 s\"", "give one above"),
    (Both, "period = \"50 ms\"\njitter = \"1 ms\"", "at_most = §[[0, \"51 ms\"]]", "1 to 1000 messages"),
    (Both, "period = \"50 ms\"\njitter = \"1 ms\"", "gap = §[\"5 ms\", \"1 ms\"]", "swap them"),
    (Both, "execution = { uniform = [\"1 ms\", \"2 ms\"] }", "execution = §{ list = [] }", "add a time"),
    (Both, "depth = 4", "depth = §0", "1 to 1000000"),
    (Both, "kind = \"subscription\"", "kind = \"subscription\"\nperiod = §\"1 s\"", "use a [[release]]"),
    (Both, "jitter = \"1 ms\"", "burst = §{ count = 3, spacing = \"60 ms\" }", ""),
    (
        Both,
        "jitter = \"1 ms\"",
        "[[fault]]\nkind = \"overrun\"\ncallback = \"plan\"\nprobability = §2.0\nextra = \"1 ms\"",
        "0 to 1",
    ),
    // Valid files that cannot be simulated, or analysed.
    (Simulate, "period = \"10 ms\"", "period = §\"2 ns\"", "simulate at most"),
    (Simulate, "duration = \"1 s\"", "duration = \"100000 h\"", "simulate at most"),
    (Both, "priority = 1\n", "priority = 1\npublishes = §[\"plan\"]\n", "in a circle"),
    (Analyze, "execution = \"1 ms\"\n", "", "give it an `execution`"),
    (Analyze, "execution = \"1 ms\"\n", "execution = \"5000000 h\"\n", "more than ten times 100 % of its time"),
    (Analyze, "execution = \"1 ms\"\n", "execution = \"10 ms\"\n", "move an executor"),
    (Analyze, "threads = 1", "start = \"1 s\"", "leave out `start`"),
];

#[test]
fn sixty_broken_files() {
    assert!(CASES.len() >= 60, "{}", CASES.len());
    let folder = Scratch::new("broken");
    let mut failures = Vec::new();
    for (number, (whom, from, to, said)) in CASES.iter().enumerate() {
        assert!(RIGHT.contains(from), "case {number}: {from}");
        let marked = RIGHT.replacen(from, to, 1);
        let place = marked.find('§').map(|at| {
            let before = &marked[..at];
            let line_start = before.rfind('\n').map_or(0, |at| at + 1);
            (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
        });
        let path = folder.path(&format!("case{number}.toml"));
        std::fs::write(&path, bytes(&marked.replace('§', ""))).expect("a file");
        for (command, only) in [("analyze", Analyze), ("simulate", Simulate)] {
            if *whom != Both && *whom != only {
                continue;
            }
            let (code, error) = run(command, &path);
            let placed = match place {
                // One command reports a cycle at the publisher, the other at the name.
                Some(_) if said.contains("circle") => error.contains(&format!("{path}:")),
                Some((line, column)) => error.contains(&format!("{path}:{line}:{column}: ")),
                None => error.contains(&format!("{path}:")),
            };
            let clean = !error.chars().any(|c| c.is_control() && c != '\n' || c == '\u{202e}');
            if code != Some(2) || !placed || !error.contains(said) || !clean {
                failures.push(format!(
                    "case {number} ({to:?}), {command}: code {code:?}, expected {place:?} {said:?}\n{error:?}"
                ));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Returns the bytes of a case: for the soft hyphen, a byte that is not valid UTF-8 there.
fn bytes(text: &str) -> Vec<u8> {
    text.split('\u{ad}').map(str::as_bytes).collect::<Vec<_>>().join(&0xe9)
}

#[test]
fn what_they_are_made_of_is_right() {
    let folder = Scratch::new("broken");
    let path = folder.file("right.toml", RIGHT);
    for command in ["analyze", "simulate"] {
        assert_eq!(run(command, &path), (Some(0), String::new()), "{command}");
    }
}

/// Runs a command on a file with little memory and little time. Returns its exit code, `None` if it was killed, and its
/// stderr.
fn run(command: &str, path: &str) -> (Option<i32>, String) {
    let script = format!("ulimit -v {MEMORY_MAX}; exec \"$0\" \"$@\"");
    let mut child = Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_rospin"), command, "--quiet"])
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a shell");
    let began = Instant::now();
    while child.try_wait().expect("a child").is_none() {
        if began.elapsed() > TIME_MAX {
            let _ = child.kill();
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let output = child.wait_with_output().expect("its output");
    (output.status.code(), String::from_utf8(output.stderr).expect("UTF-8"))
}
