//! Any text is read as a parameter file or refused with a place; a value that was read is written as it says, and read again.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use rospin_node::{NodeName, ParameterFile, ParameterFileError, ParameterValue, fuzzing};

static NODE: LazyLock<NodeName> = LazyLock::new(|| NodeName::new("/robot/left", "arm").unwrap());

/// The same value; two that are no numbers are the same here.
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
