//! The list of the conformance suite has every case.

use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn every_case_is_in_the_list() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/conformance");
    let list = std::fs::read_to_string(folder.join("mod.rs")).unwrap();
    let mut cases = BTreeSet::new();
    let mut missing = Vec::new();
    for file in std::fs::read_dir(&folder).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        for line in text.lines() {
            let Some(case) = line.strip_prefix("pub fn ").and_then(|rest| rest.strip_suffix("<F: Fixture>() {")) else {
                continue;
            };
            assert!(cases.insert(case.to_owned()), "two cases are called `{case}`");
            if !list.lines().any(|line| line.trim() == case) {
                missing.push(case.to_owned());
            }
        }
    }
    assert!(cases.len() > 50, "{cases:?}");
    assert_eq!(missing, Vec::<String>::new(), "to be entered in `conformance!`");
}
