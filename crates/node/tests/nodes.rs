//! Random programs on the nodes of one process, under interleavings that a seed decides.
//!
//! `.ci/explore.sh nodes` runs it. Its text says how to run more programs, and how to run one of them again.
//!
//! A program has executors, each with a thread or more, and threads of its own that publish, call services, send goals,
//! set parameters, ask for transitions and wait for transforms. A scheduler decides at every lock and every atomic
//! access which of them goes on, and the program moves time. `tests/node/random/` runs such programs on one thread,
//! where a naive model knows exactly what comes out. Here it does not, so each kind of feature is judged by what holds
//! in every order:
//!
//! - Each feature has a file in `nodes/`, which says what it judges.
//! - **Quiet** means that all threads but the main one are blocked, which the scheduler sees. All that was sent has
//!   arrived then, and whoever waits then waits for time.
//! - In the end time passes until nobody should wait any more. A thread that still does was forgotten.
//! - **Mutants**: `.ci/mutants.sh nodes` injects the mistakes of `nodes/mutants.toml`, and looks which are found.
//!
//! It does not see weak memory, Tokio, and middlewares. A node's own group is never created, because the cell that it
//! is in would block the only thread of the process.
#![cfg(rospin_shuttle)]
#![expect(clippy::print_stdout, reason = "it tells what it ran, and what to run again")]

#[path = "nodes/actions.rs"]
mod actions;
#[path = "nodes/lifecycle.rs"]
mod lifecycle;
#[path = "nodes/parameters.rs"]
mod parameters;
#[path = "nodes/program.rs"]
mod program;
#[path = "../../engine/tests/explore/rng.rs"]
mod rng;
#[path = "../../engine/tests/explore/schedule.rs"]
#[expect(dead_code, reason = "the engine's programs count their yields")]
mod schedule;
#[path = "nodes/search.rs"]
mod search;
#[path = "nodes/services.rs"]
mod services;
#[path = "nodes/synchronizers.rs"]
mod synchronizers;
#[path = "nodes/topics.rs"]
mod topics;
#[path = "nodes/transforms.rs"]
mod transforms;
#[path = "nodes/world.rs"]
mod world;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Instant;

use program::Program;
use search::{SCHEDULES, be_quiet, first_failure, schedule, shrink};

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
    let seeds = match number("EXPLORE_SEED") {
        Some(seed) => seed..seed + 1,
        None => first..first + number("EXPLORE_PROGRAMS").unwrap_or(200),
    };
    // If the process ends, the number of its program is left in this file.
    let progress = std::env::var_os("EXPLORE_PROGRESS").map(|file| File::create(file).expect("a file to write to"));
    let goes_on = std::env::var_os("EXPLORE_KEEP_GOING").is_some();
    let skipped = std::env::var("EXPLORE_SKIP").unwrap_or_default();
    let skipped: Vec<u64> = skipped.split(',').filter_map(|seed| seed.parse().ok()).collect();
    let start = Instant::now();
    let mut ran = 0;
    let mut failures = 0;
    for seed in seeds.filter(|seed| seed % parts == part && !skipped.contains(seed)) {
        if let Some(file) = &progress {
            let _ = file.write_all_at(format!("{seed:<20}").as_bytes(), 0);
        }
        ran += 1;
        let program = Program::random(seed);
        let Some(failure) = first_failure(&program, schedule(seed, 0), SCHEDULES) else {
            continue;
        };
        failures += 1;
        if goes_on {
            println!("{seed}: FAILS: {}", failure.message);
            continue;
        }
        println!("FAILED: {}", failure.message);
        println!("EXPLORE_SEED={seed} .ci/explore.sh nodes runs it again");
        if std::env::var_os("EXPLORE_PLAIN").is_none() {
            let (small, failure) = shrink(program, failure);
            println!("\n{}\nthe program, made small:\n{small}\nwhat led to it:\n{}", failure.message, failure.story);
        }
        // The hook for panics is silent.
        std::process::exit(1);
    }
    println!("part {part}: {ran} programs of nodes in {:.1} s, {failures} failures", start.elapsed().as_secs_f64());
}
