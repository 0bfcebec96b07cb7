//! Any file is a recording, or is refused. What is read of a damaged one makes a model, and can be converted.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use rospin_trace::blame::Blame;
use rospin_trace::chains::chains;
use rospin_trace::convert::perfetto;
use rospin_trace::replay::{AsRecorded, check};
use rospin_trace::{Model, Recording, render};

fuzz_target!(|bytes: &[u8]| {
    let Ok(recording) = Recording::read(bytes, Path::new("fuzzed.mcap")) else { return };
    assert!(recording.faults.iter().all(|fault| fault.offset <= bytes.len() as u64 + 9));
    let _ = render(&recording);
    for replayed in check(&recording, &AsRecorded) {
        _ = replayed.to_string();
    }
    let model = Model::new(&[recording]);
    let blame = Blame::new(&model);
    for activation in 0..model.activations.len() {
        _ = blame.of(activation);
    }
    for chain in chains(&model) {
        _ = chain.latencies_ns(&model).count();
    }
    let _ = perfetto::encode(&model);
});
