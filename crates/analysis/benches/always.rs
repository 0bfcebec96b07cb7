//! Measures how long the analysis of 10,000 random systems and of some large ones takes: bounds, then sensitivity.
//! Fails if a random system gets no answer within two seconds. Times are processor time, so other programs on the
//! machine hardly count.
//!
//! `cargo bench -p rospin-analysis --bench always`, or with a first seed and how many: `... --bench always -- 0 1000`.

#![expect(clippy::print_stdout, reason = "the figures are what it is for")]

use std::time::{Duration, Instant};

use rospin_analysis::{Analysis, AnalysisError};
use rospin_scenario::Scenario;

mod systems;

const SYSTEMS: u64 = 10_000;
/// Limit of the processor time for bounds and sensitivity of one random system.
const EACH_MAX: Duration = Duration::from_secs(2);

fn main() {
    let numbers: Vec<u64> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let (first, count) = (numbers.first().copied().unwrap_or(0), numbers.get(1).copied().unwrap_or(SYSTEMS));
    let large = [(100, 60), (1_000, 20)];
    for (callbacks, systems) in large.into_iter().filter(|_| numbers.is_empty()) {
        let mut longest = Duration::ZERO;
        for seed in 0..systems {
            let scenario = systems::sized(seed, 1 + seed as u16 % 4, callbacks, 0.8);
            // Other programs slow down memory and cores for a while, so the fastest of three runs counts.
            let runs = (0..3).map(|_| timed(&scenario));
            let (took, text) = runs.min_by_key(|(took, _)| *took).expect("three");
            println!("{callbacks} callbacks, {seed}: {took:?}, {text}");
            longest = longest.max(took);
        }
        println!("{callbacks} callbacks: longest {longest:?}");
    }
    let (mut longest, mut whole, mut refused) = (Duration::ZERO, Duration::ZERO, 0);
    for seed in first..first + count {
        let (took, text) = timed(&systems::random(seed));
        refused += u64::from(text.starts_with("refused"));
        whole += took;
        if took > longest {
            longest = took;
            println!("{seed}: {took:?}, {text}");
        }
        assert!(took <= EACH_MAX, "{seed} takes {took:?}");
    }
    println!("{count} systems: mean {:?}, longest {longest:?}; {refused} refused", whole / count.max(1) as u32);
}

fn timed(scenario: &Scenario) -> (Duration, String) {
    let began = processor_time();
    let analysis = Analysis::new(scenario);
    let text = match analysis.run() {
        Ok(report) => {
            let bounds = report.callbacks.iter().filter(|callback| callback.bound.is_some()).count();
            let ran = processor_time() - began;
            let unknown = analysis.sensitivity().expect("what has bounds").unknown;
            format!("{bounds} of {} bounds in {ran:?}; {unknown} margins unknown", report.callbacks.len())
        }
        Err(AnalysisError::NotAnalyzable { reason, .. }) => format!("refused: {reason}"),
        Err(error) => panic!("{}: {error}", scenario.name),
    };
    (processor_time() - began, text)
}

/// Returns the processor time of this process, which has one thread; where the system does not tell, the time that
/// passes.
fn processor_time() -> Duration {
    static BEGAN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    match text.split(' ').next().map(str::parse) {
        Some(Ok(nanos)) => Duration::from_nanos(nanos),
        _ => BEGAN.get_or_init(Instant::now).elapsed(),
    }
}
