//! README.md and the book: their commands name examples, packages and files that exist, their links lead somewhere, and their listings
//! are in the files that they name.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns README.md and all pages of the book's tutorial and guide, with their folders.
fn pages() -> Vec<(PathBuf, String)> {
    let folders = ["tutorial", "guide"].map(|part| root().join("book/src").join(part));
    let found = folders.into_iter().flat_map(|folder| fs::read_dir(folder).expect("a part of the book"));
    let found = found.map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<_> = found.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect();
    paths.extend([
        root().join("README.md"),
        root().join("CONTRIBUTING.md"),
        root().join("book/src/SUMMARY.md"),
        root().join("book/src/index.md"),
    ]);
    paths.into_iter().map(|path| (path.clone(), fs::read_to_string(&path).expect("a page"))).collect()
}

/// Returns the lines of code blocks in `language`.
fn code<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let mut inside = None;
    let mut lines = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("```"), inside) {
            (Some(opened), None) => inside = Some(opened),
            (Some(_), Some(_)) => inside = None,
            (None, Some(opened)) if opened == language => lines.push(line),
            (None, _) => {}
        }
    }
    lines
}

fn after<'a>(words: &[&'a str], flag: &str) -> Option<&'a str> {
    let at = words.iter().position(|word| *word == flag)?;
    words.get(at + 1).copied()
}

#[test]
fn commands_name_packages_and_examples_that_exist() {
    let folder_of = |package: &str| match package {
        "custom-messages" => "examples/custom_messages".to_owned(),
        "robot" => "examples/robot".to_owned(),
        "rospin" => "crates/rospin".to_owned(),
        other => format!("crates/{}", other.trim_start_matches("rospin-")),
    };
    let mut examples = 0;
    for (path, text) in pages() {
        for line in code(&text, "sh").into_iter().filter(|line| line.contains("cargo run")) {
            let command = line.split(" #").next().unwrap_or(line);
            let words: Vec<_> = command.split_whitespace().collect();
            let folder = match after(&words, "-p") {
                Some(package) => folder_of(package),
                None if command.contains("$zenoh") => "crates/zenoh".to_owned(),
                None => "crates/lab".to_owned(),
            };
            let folder = root().join(folder);
            assert!(folder.join("Cargo.toml").exists(), "{}: {line}", path.display());
            for (flag, place) in [("--example", "examples"), ("--bin", "src/bin")] {
                let Some(name) = after(&words, flag) else { continue };
                let file = folder.join(place).join(format!("{name}.rs"));
                assert!(file.exists(), "{}: {line}: {}", path.display(), file.display());
                examples += 1;
            }
        }
    }
    assert!(examples > 10, "only {examples} examples were found: is the search still right?");
}

#[test]
fn files_of_the_repository_that_pages_mention_exist() {
    for (path, text) in pages() {
        let words = text.split(|c: char| c.is_whitespace() || "`(),;:".contains(c));
        for word in words.filter(|word| {
            ["crates/", "examples/custom", "examples/robot", ".ci/"].iter().any(|folder| word.starts_with(folder))
        }) {
            assert!(root().join(word.trim_end_matches('.')).exists(), "{}: {word}", path.display());
        }
    }
}

#[test]
fn links_between_pages_lead_somewhere() {
    for (path, text) in pages() {
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap_or(link);
            if !target.is_empty() && !target.contains("://") {
                let folder = path.parent().expect("a page is in a folder");
                assert!(folder.join(target).exists(), "{}: {link}", path.display());
            }
        }
    }
}

#[test]
fn the_summary_lists_every_page() {
    let book = root().join("book/src");
    let summary = fs::read_to_string(book.join("SUMMARY.md")).expect("the summary");
    for (path, _) in pages() {
        let Ok(page) = path.strip_prefix(&book) else { continue };
        let is_listed = page.ends_with("SUMMARY.md") || summary.contains(&format!("({})", page.display()));
        assert!(is_listed, "{} is missing in SUMMARY.md", page.display());
    }
}

/// A listing is `{{#include file}}` or `{{#include file:anchor}}`, which mdBook replaces by the file or the part of it.
#[test]
fn listings_are_in_the_files_that_they_name() {
    let mut used = BTreeSet::new();
    for (path, text) in pages() {
        for listing in text.split("{{#include ").skip(1).filter_map(|rest| rest.split("}}").next()) {
            let (file, anchor) = listing.split_once(':').map_or((listing, None), |(file, anchor)| (file, Some(anchor)));
            let file = path.parent().expect("a page is in a folder").join(file);
            let file = file.canonicalize().unwrap_or_else(|error| panic!("{}: {listing}: {error}", path.display()));
            let source = fs::read_to_string(&file).expect("a source");
            let has = |word: &str| {
                let mark = anchor.map(|anchor| format!("{word}: {anchor}"));
                mark.is_none_or(|mark| source.lines().any(|line| line.trim_start_matches(['/', '#', ' ']) == mark))
            };
            assert!(has("ANCHOR") && has("ANCHOR_END"), "{}: {listing}", path.display());
            used.extend(anchor.map(|anchor| (file, anchor.to_owned())));
        }
    }
    assert!(used.len() > 15, "only {} listings were found: is the search still right?", used.len());

    let robot = root().join("examples/robot").canonicalize().expect("the example");
    for folder in ["", "src", "src/bin", "tests"] {
        for file in fs::read_dir(robot.join(folder)).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            let Ok(source) = fs::read_to_string(&file) else { continue };
            for anchor in source.split("ANCHOR: ").skip(1).filter_map(|rest| rest.lines().next()) {
                let is_used = used.contains(&(file.clone(), anchor.to_owned()));
                assert!(is_used, "no page has the listing {}:{anchor}", file.display());
            }
        }
    }
}

#[test]
fn the_readme_stays_short() {
    let words = fs::read_to_string(root().join("README.md")).expect("README.md").split_whitespace().count();
    assert!(words < 900, "README.md has {words} words; move some to book/src/guide");
}

/// The comparison with rclrs must be right, and ours must not be longer.
#[test]
fn the_table_of_lengths_is_right() {
    let page = fs::read_to_string(root().join("book/src/guide/comparison.md")).expect("the page");
    let own = root().join("examples/custom_messages");
    let example = |name: &str| vec![root().join("crates/rospin/examples").join(format!("{name}.rs"))];
    let programs = [
        ("talker", example("talker")),
        ("listener", example("listener")),
        ("AddTwoInts server", example("add_two_ints_server")),
        ("AddTwoInts client", example("add_two_ints_client")),
        ("Fibonacci action server", example("fibonacci_action_server")),
        ("Fibonacci action client", example("fibonacci_action_client")),
        ("component container", example("container")),
        ("lifecycle node", example("lifecycle_talker")),
        ("package of messages", ["Cargo.toml", "build.rs", "src/lib.rs"].map(|file| own.join(file)).to_vec()),
    ];
    for (program, files) in programs {
        let is_code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
        let count = |file: &PathBuf| fs::read_to_string(file).expect("an example").lines().filter(is_code).count();
        let ours: usize = files.iter().map(count).sum();
        let row = page.lines().find(|line| line.starts_with(&format!("| {program}"))).expect("a row");
        let numbers: Vec<usize> = row.split('|').filter_map(|cell| cell.trim().parse().ok()).collect();
        assert_eq!(numbers[0], ours, "{row}");
        assert!(numbers[1..].iter().all(|theirs| ours <= *theirs), "{row}");
    }
}
