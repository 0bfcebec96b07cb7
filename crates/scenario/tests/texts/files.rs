//! The example scenarios can be read, and are the same after writing and reading again.

use std::path::{Path, PathBuf};

use rospin_scenario::Scenario;

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let entries = std::fs::read_dir(folder).expect("the scenarios");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    assert!(files.len() >= 6, "{files:?}");
    files
}

#[test]
fn every_file_survives_a_round_trip() {
    for file in files() {
        let text = std::fs::read_to_string(&file).expect("a text");
        let scenario = Scenario::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let written = scenario.to_toml();
        let again = Scenario::parse(&written).unwrap_or_else(|error| panic!("{}: {error}\n{written}", file.display()));
        assert_eq!(scenario, again, "{}", file.display());
    }
}

/// A key that no example shows, and that the book does not explain, would be hard to find.
#[test]
fn the_examples_and_the_book_have_every_key() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book/src/guide/system_file.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let all: String = files().iter().map(|file| std::fs::read_to_string(file).expect("a text")).collect();
    let error = |text: &str| Scenario::parse(text).unwrap_err().message;
    let places = [
        "duration = \"1 s\"\nnone = 1",
        "duration = \"1 s\"\n[[executor]]\nnone = 1",
        "duration = \"1 s\"\n[[accelerator]]\nnone = 1",
        "duration = \"1 s\"\n[[group]]\nnone = 1",
        "duration = \"1 s\"\n[[callback]]\nnone = 1",
        "duration = \"1 s\"\n[[callback]]\nlocks = [{ none = 1 }]",
        "duration = \"1 s\"\n[[callback]]\nawaits = [{ none = 1 }]",
        "duration = \"1 s\"\n[[chain]]\nnone = 1",
        "duration = \"1 s\"\n[[release]]\nnone = 1",
        "duration = \"1 s\"\n[[link]]\nnone = 1",
    ];
    for message in places.map(error) {
        let keys: Vec<&str> = message.split('`').skip(3).step_by(2).collect();
        assert!(keys.len() >= 2, "{message}");
        for key in keys {
            assert!(
                all.contains(&format!("{key} = ")) || all.contains(&format!("[[{key}]]")),
                "no example has `{key}`"
            );
            let is_explained = page.contains(&format!("| `{key}` |")) || page.contains(&format!("## `[[{key}]]`"));
            assert!(is_explained, "no table of the book has `{key}`");
        }
    }
}
