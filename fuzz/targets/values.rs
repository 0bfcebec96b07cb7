//! Durations and sets of cores are accepted or refused. Valid ones survive formatting and parsing.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rospin_engine::os::CoreSet;
use rospin_scenario::duration;

fuzz_target!(|text: &str| {
    match duration::parse(text) {
        Ok(read) => assert_eq!(duration::parse(&duration::format(read)), Ok(read)),
        Err(error) => assert!(error.to_string().contains(text.trim())),
    }
    match text.parse::<CoreSet>() {
        Ok(read) => assert_eq!(read.to_string().parse().as_ref(), Ok(&read)),
        Err(error) => assert!(error.to_string().contains(text)),
    }
});
