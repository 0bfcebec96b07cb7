//! The root of the crate: few names, each of them on the landing page of the documentation, and one home for every
//! name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The most names at the root: what a reader still looks through.
const NAMES_MAX: usize = 80;

fn source(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(file);
    fs::read_to_string(path).expect("a source file")
}

/// Returns a file's code without comments and hidden items.
fn code(text: &str) -> String {
    let mut code = String::new();
    let mut is_hidden = false;
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with("//")) {
        if line == "#[doc(hidden)]" {
            is_hidden = true;
        } else if is_hidden {
            is_hidden = !line.ends_with(';');
        } else if !line.starts_with('#') {
            code.push_str(line);
            code.push(' ');
        }
    }
    code
}

/// Returns the names that the `pub use` items of a file or a module export.
fn exports(code: &str) -> Vec<String> {
    let mut names = Vec::new();
    for item in code.split("pub use ").skip(1) {
        let (path, _) = item.split_once(';').expect("the end of an item");
        let list = match path.split_once('{') {
            Some((_, list)) => list.trim_end_matches('}'),
            None => path,
        };
        for entry in list.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            let name = entry.rsplit([':', ' ']).next().expect("a name");
            assert_ne!(name, "*", "`{item}` exports names that nobody counts");
            assert!(!name.contains(['{', '}']), "a nested list: `{entry}`");
            names.push(name.to_owned());
        }
    }
    names
}

/// Returns the names of the modules of a file, with their code where it is in the file.
fn modules(code: &str) -> Vec<(&str, &str)> {
    let items = code.split("pub mod ").skip(1);
    let names = items.map(|item| item.split_at(item.find([' ', ';']).expect("the end of a name")));
    names.collect()
}

/// Returns the names at the root.
fn root() -> Vec<String> {
    let text = code(&source("lib.rs"));
    let mut names = exports(&text);
    names.extend(modules(&text).into_iter().map(|(name, _)| name.to_owned()));
    names
}

#[test]
fn the_root_has_few_names() {
    let names = root();
    let different: BTreeSet<_> = names.iter().collect();
    assert_eq!(different.len(), names.len(), "{names:?}");
    for name in ["init", "Node", "msgs", "testing", "time", "zenoh"] {
        assert!(different.contains(&name.to_owned()), "{name} is not found among {names:?}");
    }
    assert!(names.len() <= NAMES_MAX, "{} names; put what few programs need into a module: {names:?}", names.len());
}

#[test]
fn the_landing_page_says_what_each_name_is_for() {
    let text = source("lib.rs");
    let page: String = text.lines().filter(|line| line.starts_with("//!")).collect();
    for name in root() {
        let is_named = page.contains(&format!("`{name}`")) || page.contains(&format!("rospin::{name}"));
        assert!(is_named, "the landing page says nothing of {name}");
    }
}

#[test]
fn every_name_has_one_home() {
    let mut homes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in root() {
        homes.entry(name).or_default().push("rospin".to_owned());
    }
    let topics = code(&source("topics.rs"));
    // The topics of `local` are other types of the same names.
    for (module, code) in modules(&topics).into_iter().filter(|(module, _)| *module != "local") {
        for name in exports(code) {
            homes.entry(name).or_default().push(format!("rospin::{module}"));
        }
    }
    let twice: Vec<_> = homes.iter().filter(|(_, homes)| homes.len() > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    assert!(homes.len() > 200, "only {} names are found", homes.len());
}
