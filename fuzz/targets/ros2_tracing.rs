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
    recordings.iter().for_each(|recording| _ = render(recording));
    let model = Model::new(&recordings);
    assert!(model.activations.iter().all(|one| one.release_ns <= one.start_ns()));
    let blame = Blame::new(&model);
    (0..model.activations.len()).for_each(|activation| _ = blame.of(activation));
    chains(&model).iter().for_each(|chain| _ = chain.latencies_ns(&model).count());
    let _ = perfetto::encode(&model);
});
