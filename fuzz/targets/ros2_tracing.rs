//! Any text is a trace of ros2_tracing, or is refused. What is read of a damaged one makes a model, and can be
//! converted.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use rospin_trace::blame::Blame;
use rospin_trace::chains::chains;
use rospin_trace::convert::perfetto;
use rospin_trace::{Model, render, ros2};

fuzz_target!(|bytes: &[u8]| {
    let Ok(recordings) = ros2::read(bytes, Path::new("fuzzed")) else { return };
    for recording in &recordings {
        _ = render(recording);
    }
    let model = Model::new(&recordings);
    assert!(model.activations.iter().all(|one| one.release_ns <= one.start_ns()));
    let blame = Blame::new(&model);
    for activation in 0..model.activations.len() {
        _ = blame.of(activation);
    }
    for chain in chains(&model) {
        _ = chain.latencies_ns(&model).count();
    }
    let _ = perfetto::encode(&model);
});
