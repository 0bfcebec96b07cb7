//! The mistakes that `.ci/mutants.sh` puts into a copy of the sources fit them as they are.

use std::path::Path;

/// Returns the text that a mistake is found by, without the marks around the part that is changed.
fn text(mutant: &toml::Value) -> String {
    mutant["find"].as_str().expect("`find` is a text").replace(['«', '»'], "")
}

#[test]
fn every_mistake_has_its_place() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the folder of all crates");
    let lists = ["engine/tests/explore/mutants.toml", "../.ci/mutants/foreign.toml", "../.ci/mutants/network.toml"]
        .map(|list| {
            let list = std::fs::read_to_string(crates.join(list)).expect("the list is there");
            list.parse::<toml::Table>().expect("the list is TOML")
        });
    for mutant in lists.iter().flat_map(|list| list["mutant"].as_array().expect("a list")) {
        let name = mutant["name"].as_str().expect("a name");
        let file = mutant["file"].as_str().expect("a file");
        let source =
            std::fs::read_to_string(crates.join(file)).unwrap_or_else(|error| panic!("{name}: {file}: {error}"));
        let count = source.matches(&text(mutant)).count();
        assert_eq!(count, 1, "{name}: what it changes is {count} times in {file}, and should be once: fix its entry");
        assert!(mutant.get("replace").is_some() != mutant.get("insert").is_some(), "{name}: one of the two");
    }
}
