//! Any text is a valid component file, or is refused at one of its lines. Errors about a valid file have a place, too.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rospin_container::{ComponentFile, FileError};

fn assert_has_place(text: &str, error: &FileError) {
    let FileError::Text { error: place, .. } = error else { panic!("no file was read: {error}") };
    assert!((1..=text.lines().count().max(1)).contains(&place.line), "{error}");
    assert!(place.column >= 1 && !place.message.is_empty(), "{error}");
}

fuzz_target!(|text: &str| {
    match ComponentFile::parse("file", text) {
        Ok(file) => {
            for (number, component) in file.components().iter().enumerate() {
                assert!(!component.executor().is_empty());
                for key in ["type", "namespace", "remap", "parameters"] {
                    assert_has_place(text, &file.error(number, key, "it is not known"));
                }
            }
        }
        Err(error) => assert_has_place(text, &error),
    }
});
