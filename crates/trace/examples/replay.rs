//! Runs recordings through the scheduling core once more, and says how long that takes: `replay FILE..`.
#![allow(clippy::print_stdout, reason = "it is a command")]

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use rospin_trace::Recording;
use rospin_trace::replay::{AsRecorded, Verdict, check};

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut code = ExitCode::SUCCESS;
    for file in std::env::args().skip(1) {
        let begin = Instant::now();
        let recordings = Recording::open(Path::new(&file))?;
        println!("{file}: read in {:.2} s", begin.elapsed().as_secs_f64());
        for recording in recordings {
            let events = recording.events.len();
            let span = recording.events.last().zip(recording.events.first());
            let lasts = span.map_or(0.0, |(last, first)| last.at.saturating_since(first.at).as_secs_f64());
            let begin = Instant::now();
            for executor in check(&recording, &AsRecorded) {
                println!("{executor}");
                if executor.verdict != Verdict::Same {
                    code = ExitCode::FAILURE;
                }
            }
            println!("{lasts:.0} s of the program, {events} events, checked in {:.2} s", begin.elapsed().as_secs_f64());
        }
    }
    Ok(code)
}
