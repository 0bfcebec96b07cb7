//! As `parse`, for deployment files.
//!
//! `cd crates/scenario && mkdir -p fuzz/corpus/deployment && cargo +nightly fuzz run deployment fuzz/corpus/deployment deployments -- -max_total_time=60`

#![no_main]

use libfuzzer_sys::fuzz_target;
use rospin_scenario::Deployment;

fuzz_target!(|text: &str| {
    match Deployment::parse(text) {
        Ok(deployment) => assert_eq!(Deployment::parse(&deployment.to_toml()).as_ref(), Ok(&deployment)),
        Err(error) => assert!((1..=text.lines().count().max(1)).contains(&error.line), "{error}"),
    }
});
