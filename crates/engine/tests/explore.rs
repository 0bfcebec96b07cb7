//! Random programs on the engine's public API. A scheduler decides at every lock and every atomic access which thread
//! goes on, and the program moves time. If a rule is broken, the program is made small and printed with the rule.
//!
//! `.ci/explore.sh` runs it. Its text says how to run more programs, and how to run one of them again.
//!
//! Several threads work between a notification and a callback, and a hand-written test tries only one order of their
//! steps. Here entities of all kinds come and go inside and outside of callbacks; callbacks await, panic, or take long;
//! spins are of every kind; there are several executors, moved groups, and clocks that are set. One seed decides the
//! program and the interleaving. The engine touches the machine only in `src/sync/` and `src/lock_free/`, which are
//! shuttle's here, and time is a manual clock.
//!
//! - **Judges** (`explore/model/`) see the records of the program's own callbacks and threads, in the order of the
//!   model's steps. A publication is certainly queued when `publish` has returned, and possibly from its call on. A
//!   rule counts as broken only where that is certain.
//! - **Quiet** means that all threads but the main one are blocked, which the test's scheduler sees. An activation that
//!   is certainly ready then, on an executor with an idle thread, was forgotten. Callbacks that "take long" block until
//!   the next quiet moment, so the rule also holds beside busy threads.
//! - **The table of operations** (`explore/operations.toml`) names all public operations of the engine, and says of
//!   each that programs do it, or why not. `tests/operations.rs` compares it with the sources, and a run of 2,000
//!   programs with what they did.
//! - **Past programs** (`explore/past.rs`) failed once for a fault of a judge or of the schedules.
//! - **Mutants**: `.ci/mutants.sh` injects the bugs of `explore/mutants.toml` into a copy of the engine, each behind a
//!   name, builds it once, and searches for each of them.
//!
//! It cannot see the time that code takes (locks held for long, quadratic costs), OS priorities, weak memory (shuttle's
//! atomics are sequentially consistent; loom checks the lock-free pieces), timeouts of parked threads, which never
//! expire here, and Tokio.
#![cfg(rospin_shuttle)]
#![expect(clippy::print_stdout, reason = "it tells what it ran, and what to run again")]

#[path = "explore/channel.rs"]
mod channel;
#[path = "explore/create.rs"]
mod create;
#[path = "explore/drive.rs"]
mod drive;
#[path = "explore/generate.rs"]
mod generate;
#[path = "explore/model/mod.rs"]
mod model;
#[path = "explore/operations.rs"]
mod operations;
#[path = "explore/past.rs"]
mod past;
#[path = "explore/program.rs"]
mod program;
#[path = "explore/publish.rs"]
mod publish;
#[path = "explore/record.rs"]
mod record;
#[path = "explore/rng.rs"]
mod rng;
#[path = "explore/schedule.rs"]
mod schedule;
#[path = "explore/script.rs"]
mod script;
#[path = "explore/search.rs"]
mod search;
#[path = "explore/shrink.rs"]
mod shrink;
#[path = "explore/sources.rs"]
mod sources;
#[path = "explore/wait.rs"]
mod wait;
#[path = "explore/world.rs"]
mod world;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Instant;

use search::{Failure, be_quiet, search};

/// Reads a number from the environment.
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().filter(|text| !text.is_empty()).map(|text| text.parse().expect("a number"))
}

#[test]
fn random_programs() {
    be_quiet();
    let part = number("EXPLORE_PART").unwrap_or(0);
    let parts = number("EXPLORE_PARTS").unwrap_or(1);
    let first = number("EXPLORE_FIRST").unwrap_or(0);
    let count = number("EXPLORE_PROGRAMS").unwrap_or(500);
    let seeds = match number("EXPLORE_SEED") {
        Some(seed) => seed..seed + 1,
        None => first..first + count,
    };
    let progress = std::env::var_os("EXPLORE_PROGRESS").map(|file| File::create(file).expect("a file to write to"));
    let progress = progress.map(Arc::new);
    let before = move |seed: u64| {
        if let Some(file) = &progress {
            // If the process ends, the number of its program is left in this file. The file is overwritten in place,
            // since creating one anew is slow.
            let _ = file.write_all_at(format!("{seed:<20}").as_bytes(), 0);
        }
    };
    let goes_on = std::env::var_os("EXPLORE_KEEP_GOING").is_some();
    // Programs that are known to fail, and are left out.
    let skipped = std::env::var("EXPLORE_SKIP").unwrap_or_default();
    let skipped: Vec<u64> = skipped.split(',').filter_map(|seed| seed.parse().ok()).collect();
    let start = Instant::now();
    let (mut ran, mut next, mut failures) = (0, seeds.start, 0);
    loop {
        let skipped = skipped.clone();
        let is_ours = move |seed: &u64| seed % parts == part && !skipped.contains(seed);
        let rest = (next..seeds.end).filter(is_ours);
        let (count, failed) = search(rest, before.clone());
        ran += count;
        let Some((seed, failure)) = failed else {
            break;
        };
        if !goes_on {
            report(seed, failure);
        }
        println!("{seed}: {:?}: {}", failure.broken.rule, failure.broken.message);
        (next, failures) = (seed + 1, failures + 1);
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("part {part}: {ran} programs in {seconds:.1} s, {failures} failures");
    let differences = if ran >= operations::ENOUGH { operations::differences() } else { Vec::new() };
    for difference in &differences {
        println!("FAILED: {difference}");
    }
    // The hook for panics is silent.
    if !differences.is_empty() {
        std::process::exit(1);
    }
}

fn report(seed: u64, failure: Failure) -> ! {
    println!("FAILED: {:?}: {}", failure.broken.rule, failure.broken.message);
    println!("EXPLORE_SEED={seed} .ci/explore.sh runs it again");
    if std::env::var_os("EXPLORE_PLAIN").is_some() {
        std::process::exit(1);
    }
    if std::env::var_os("EXPLORE_WHOLE").is_some() {
        println!("{}\n{}", failure.job.program, failure.broken.story);
    }
    let small = shrink::shrink(failure);
    println!("\n{:?}: {}\nthe program, made small:\n{}", small.broken.rule, small.broken.message, small.job.program);
    println!("what led to it (schedule {}):\n{}", small.job.schedule, small.broken.story);
    std::process::exit(1);
}
