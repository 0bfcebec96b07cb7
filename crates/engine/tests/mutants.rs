//! The mistakes that `.ci/mutants.sh` puts into a copy of the sources fit them as they are.

use std::path::Path;

/// Returns the text that a mistake is found by, without the marks around the part that is changed.
fn text(mutant: &toml::Value) -> String {
    mutant["find"].as_str().expect("`find` is a text").replace(['«', '»'], "")
}

#[test]
fn every_mistake_has_its_place() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the folder of all crates");
    let mut lists =
        ["engine/tests/explore/mutants.toml", "node/tests/nodes/mutants.toml"].map(|list| crates.join(list)).to_vec();
    for entry in std::fs::read_dir(crates.join("../.ci/mutants")).expect("the folder is there") {
        let path = entry.expect("it can be read").path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            lists.push(path);
        }
    }
    assert!(lists.len() >= 3, "{lists:?}");
    for list in lists {
        let text = std::fs::read_to_string(&list).expect("the list is there");
        let table = text.parse::<toml::Table>().expect("the list is TOML");
        for mutant in table["mutant"].as_array().expect("a list") {
            check(mutant, crates);
        }
    }
}

/// Checks that what a mistake changes is in its file once.
fn check(mutant: &toml::Value, crates: &Path) {
    let name = mutant["name"].as_str().expect("a name");
    let file = mutant["file"].as_str().expect("a file");
    let source = std::fs::read_to_string(crates.join(file)).unwrap_or_else(|error| panic!("{name}: {file}: {error}"));
    let count = source.matches(&text(mutant)).count();
    assert_eq!(count, 1, "{name}: what it changes is {count} times in {file}, and should be once: fix its entry");
    assert!(mutant.get("replace").is_some() != mutant.get("insert").is_some(), "{name}: one of the two");
}
