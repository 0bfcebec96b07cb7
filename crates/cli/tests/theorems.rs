//! The book's part about the analysis says what is so: its commands work, the files and tests that it names are there, each theorem has all its parts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The parts of a theorem, in their order.
const PARTS: [&str; 4] = ["**Statement.**", "**Proof.**", "**Published.**", "**Attacked by.**"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the pages of the analysis that the summary names, with their paths.
fn pages() -> Vec<(String, String)> {
    let source = root().join("book/src");
    let summary = fs::read_to_string(source.join("SUMMARY.md")).expect("a summary");
    let linked = summary.split("](").skip(1).filter_map(|part| part.split(')').next());
    let linked = linked.filter(|page| page.starts_with("analysis/"));
    linked.map(|page| (page.to_owned(), fs::read_to_string(source.join(page)).expect(page))).collect()
}

#[test]
fn every_command_works() {
    let mut count = 0;
    for (page, text) in pages() {
        for line in text.lines().filter_map(|line| line.strip_prefix("$ ")) {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["rospin", ref arguments @ ..] => {
                    let mut command = Command::new(env!("CARGO_BIN_EXE_rospin"));
                    command.args(arguments).current_dir(root()).stdout(Stdio::null()).stderr(Stdio::piped());
                    let output = command.output().expect("the command");
                    let said = String::from_utf8_lossy(&output.stderr);
                    // Deadlines that do not hold are a result.
                    assert!(matches!(output.status.code(), Some(0 | 1)), "{page}: {line}: {said}");
                }
                ["cargo", "test" | "bench" | "run", "-p", package, ref rest @ ..] => {
                    let folder = root().join("crates").join(package.trim_start_matches("rospin-"));
                    let file = match rest {
                        ["--test", name, ..] => format!("tests/{name}.rs"),
                        ["--bench", name, ..] => format!("benches/{name}.rs"),
                        ["--example", name, ..] => format!("examples/{name}.rs"),
                        ["--lib", module] => format!("src/{module}.rs"),
                        _ => panic!("{page}: {line}"),
                    };
                    assert!(folder.join(&file).is_file(), "{page}: {line}: there is no {file}");
                }
                _ => panic!("{page}: nobody checks this: {line}"),
            }
            count += 1;
        }
    }
    assert!(count >= 10, "{count}");
}

#[test]
fn files_and_tests_that_are_named_are_there() {
    for (page, text) in pages() {
        for paragraph in text.split("\n\n") {
            let quoted: Vec<&str> = paragraph.split('`').skip(1).step_by(2).collect();
            let is_path = |word: &&&str| word.starts_with("crates/");
            let mut sources = String::new();
            for path in quoted.iter().filter(is_path) {
                let path = root().join(path);
                assert!(path.exists(), "{page}: there is no {}", path.display());
                if path.is_file() {
                    sources += &fs::read_to_string(&path).expect("a source");
                }
            }
            let is_test = |word: &&&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit());
            for name in quoted.iter().filter(is_test).filter(|_| paragraph.starts_with(PARTS[3])) {
                let is_there = sources.contains(&format!("fn {name}(")) || sources.contains(&format!("    {name}: "));
                assert!(is_there, "{page}: no test `{name}` in the files that are named with it");
            }
        }
    }
}

#[test]
fn each_theorem_has_all_its_parts() {
    let mut count = 0;
    for (page, text) in pages() {
        for theorem in text.split("\n## Theorem: ").skip(1) {
            let places: Vec<_> = PARTS.iter().map(|part| theorem.find(part)).collect();
            let title = theorem.lines().next().unwrap_or_default();
            assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{page}: {title}: {places:?}");
            count += 1;
        }
    }
    assert!(count >= 20, "{count}");
}
