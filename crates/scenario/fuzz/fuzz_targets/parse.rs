//! Any text is read or refused at a line of its own, and what was read is written and read again.
//!
//! `cd crates/scenario && mkdir -p fuzz/corpus/parse && cargo +nightly fuzz run parse fuzz/corpus/parse scenarios -- -max_total_time=60`

#![no_main]

use libfuzzer_sys::fuzz_target;
use rospin_scenario::Scenario;

fuzz_target!(|text: &str| {
    match Scenario::parse(text) {
        Ok(scenario) => assert_eq!(Scenario::parse(&scenario.to_toml()).as_ref(), Ok(&scenario)),
        Err(error) => assert!((1..=text.lines().count().max(1)).contains(&error.line), "{error}"),
    }
});
