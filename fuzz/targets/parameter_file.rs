//! Any text is a valid parameter file, or is refused with a place. A valid value survives formatting and parsing.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use rospin_node::{NodeName, ParameterFile, ParameterFileError, ParameterValue, fuzzing};

static NODE: LazyLock<NodeName> = LazyLock::new(|| NodeName::new("/robot/left", "arm").unwrap());

/// Returns true if both values are equal; NaN counts as equal to itself.
fn is_same(one: &ParameterValue, other: &ParameterValue) -> bool {
    one == other || format!("{one:?}") == format!("{other:?}")
}

fuzz_target!(|text: &str| {
    match ParameterFile::parse(text) {
        Ok(file) => {
            for (_, value) in fuzzing::parameters(&file, &NODE) {
                let again = ParameterFile::parse(&format!("/**: {{ros__parameters: {{it: {value}}}}}"));
                let again = fuzzing::parameters(&again.unwrap(), &NODE);
                assert!(matches!(&again[..], [(_, again)] if is_same(again, &value)), "{value} {again:?}");
            }
        }
        Err(ParameterFileError::Meaning { place, reason, .. }) => assert!(!place.is_empty() && !reason.is_empty()),
        Err(ParameterFileError::Syntax { reason, .. }) => assert!(reason.contains("line"), "{reason}"),
        Err(error) => panic!("no file was read: {error}"),
    }
});
