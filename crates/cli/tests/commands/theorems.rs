//! The book's part about the analysis is right: its commands work, the files and tests that it names exist, and each
//! theorem has all its parts.

use std::fs;
use std::os::unix::fs::symlink;
use std::panic::resume_unwind;
use std::process::Command;
use std::thread;

use crate::common::Scratch;
use crate::pages::{book, commands_of, root};

/// The parts of a theorem, in their order.
const PARTS: [&str; 4] = ["**Statement.**", "**Proof.**", "**Published.**", "**Attacked by.**"];

/// Returns the pages about the analysis, as [`book`] does.
fn pages() -> Vec<(String, String)> {
    book().into_iter().filter(|(page, _)| page.starts_with("analysis/")).collect()
}

/// Returns a line with single spaces.
fn words(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_command_works_and_prints_what_the_book_shows() {
    let pages = book();
    let (commands, shown) = thread::scope(|scope| {
        let all: Vec<_> = pages.iter().map(|(page, text)| scope.spawn(|| run_page(page, text))).collect();
        let counts = all.into_iter().map(|page| page.join().unwrap_or_else(|panic| resume_unwind(panic)));
        counts.fold((0, 0), |sum, counts| (sum.0 + counts.0, sum.1 + counts.1))
    });
    assert!(commands >= 10 && shown >= 10, "{commands}, {shown}");
}

/// Returns a new folder with the repository's `crates` and `examples`. The files that a page's commands write are those
/// that its next commands read, and are gone at its end.
fn desk(page: &str) -> Scratch {
    let scratch = Scratch::new(&page.replace('/', "-"));
    for folder in ["crates", "examples"] {
        let there = fs::canonicalize(root().join(folder)).expect(folder);
        symlink(there, scratch.path(folder)).expect("a link");
    }
    scratch
}

/// Runs the commands of a page, and compares what they print with the lines below them. Returns the number of both.
fn run_page(page: &str, text: &str) -> (usize, usize) {
    let (mut commands, mut shown) = (0, 0);
    let desk = desk(page);
    // Lines after a command, up to the next one or the end of the block, are its output.
    let mut output = None;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(file) = line.strip_prefix("$ cat >> ").and_then(|rest| rest.strip_suffix(" <<END")) {
            let added = lines.by_ref().take_while(|line| *line != "END").map(|line| format!("{line}\n"));
            let whole = fs::read_to_string(desk.path(file)).expect(file) + &added.collect::<String>();
            desk.file(file, &whole);
            output = None;
        } else if line.starts_with("```") {
            output = None;
        } else if let Some(command) = line.strip_prefix("$ ") {
            output = run(page, command, &desk);
            commands += 1;
        } else if let Some(output) = output.as_ref().filter(|_| !line.trim().is_empty()) {
            let is_printed = output.lines().any(|printed| words(printed) == words(line));
            assert!(is_printed, "{page}: `{line}` is not in the output: {output}");
            shown += 1;
        }
    }
    (commands, shown)
}

/// Runs a command of `rospin` in the folder, and returns what it printed. Only checks that the file of a command of
/// Cargo is there, since that would take long, and returns `None`.
fn run(page: &str, line: &str, desk: &Scratch) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        ["rospin", ref arguments @ ..] => {
            let mut command = Command::new(env!("CARGO_BIN_EXE_rospin"));
            let output = command.args(arguments).current_dir(desk.path("")).output().expect("the command");
            let said = String::from_utf8_lossy(&output.stderr);
            // Deadlines that do not hold are a result.
            assert!(matches!(output.status.code(), Some(0 | 1)), "{page}: {line}: {said}");
            Some(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        ["cargo", "test" | "bench" | "run", "-p", package, ref rest @ ..] => {
            let folder = root().join("crates").join(package.trim_start_matches("rospin-"));
            let file = match rest {
                ["--test", name, module] => format!("tests/{name}/{module}.rs"),
                ["--test", name] => format!("tests/{name}.rs"),
                ["--bench", name, ..] => format!("benches/{name}.rs"),
                ["--example", name, ..] => format!("examples/{name}.rs"),
                ["--lib", module] => format!("src/{module}.rs"),
                _ => panic!("{page}: {line}"),
            };
            assert!(folder.join(&file).is_file(), "{page}: {line}: there is no {file}");
            None
        }
        _ => panic!("{page}: nobody checks this: {line}"),
    }
}

/// Most of these take minutes or a network, so they are only asked for their help. That fails for a subcommand or an
/// option that does not exist.
#[test]
fn commands_of_all_pages_have_subcommands_and_options_that_exist() {
    let mut count = 0;
    for (page, line) in commands_of("rospin") {
        // `rospin-lab` has a test like this one.
        if line.starts_with("lab") {
            continue;
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_rospin"));
        let output = command.args(line.split_whitespace()).arg("--help").output().expect("the command");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{page}: rospin {line}: {said}");
        for file in line.split_whitespace().filter(|word| word.ends_with(".toml")) {
            assert!(root().join(file).exists(), "{page}: rospin {line}: {file}");
        }
        count += 1;
    }
    assert!(count >= 20, "{count}");
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
