//! README.md and the book: their commands name examples, packages and files that exist, their links lead somewhere, and
//! their listings are parts of the files that they name.

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

/// Returns the text without its code blocks.
fn sentences(text: &str) -> String {
    text.split("```").step_by(2).collect()
}

fn after<'a>(words: &[&'a str], flag: &str) -> Option<&'a str> {
    let at = words.iter().position(|word| *word == flag)?;
    words.get(at + 1).copied()
}

#[test]
fn commands_name_packages_and_examples_that_exist() {
    let folder_of = |package: &str| match package {
        "custom_messages" => "examples/custom_messages".to_owned(),
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
                None if command.contains("lab/Cargo.toml") => "lab".to_owned(),
                None => "crates/cli".to_owned(),
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
            ["crates/", "lab/", "examples/custom", "examples/robot", ".ci/"]
                .iter()
                .any(|folder| word.starts_with(folder))
        }) {
            assert!(root().join(word.trim_end_matches('.')).exists(), "{}: {word}", path.display());
        }
    }
}

#[test]
fn links_between_pages_lead_somewhere() {
    for (path, text) in pages() {
        for link in sentences(&text).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
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

/// Beginning of the comment in front of a listing. It goes on with the listing's sources: files of the repository, each
/// with the anchor of a part of it or without one, as in `<!-- listing: examples/robot/src/base.rs:group -->`.
const LISTING: &str = "<!-- listing: ";

/// Returns the file `source` of the repository, or the part between the anchors if it names one: `file` or
/// `file:anchor`. The part does not have other anchors' comments, nor the indentation that all of its lines have.
fn listing(source: &str) -> String {
    let (file, anchor) = source.split_once(':').map_or((source, None), |(file, anchor)| (file, Some(anchor)));
    let text = fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{source}: {error}"));
    let mut is_inside = anchor.is_none();
    let mut ends = usize::from(is_inside);
    let mut lines = Vec::new();
    for line in text.lines() {
        let comment = line.trim_start_matches(['/', '#', ' ']);
        if let Some(name) = comment.strip_prefix("ANCHOR: ") {
            is_inside |= anchor == Some(name);
        } else if let Some(name) = comment.strip_prefix("ANCHOR_END: ") {
            ends += usize::from(anchor == Some(name));
            is_inside &= anchor != Some(name);
        } else if is_inside {
            lines.push(line);
        }
    }
    assert!(ends == 1 && !lines.is_empty(), "{source}: there is no such part, or its end is missing");
    let indentation = |line: &&str| line.len() - line.trim_start().len();
    let common = lines.iter().filter(|line| !line.is_empty()).map(indentation).min().unwrap_or(0);
    lines.iter().map(|line| format!("{}\n", line.get(common..).unwrap_or_default())).collect()
}

/// Returns a page with its listings as they are in their sources, and collects the sources.
fn with_listings(path: &Path, text: &str, used: &mut BTreeSet<String>) -> String {
    let mut page = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        page += &format!("{line}\n");
        let Some(sources) = line.strip_prefix(LISTING).and_then(|rest| rest.strip_suffix(" -->")) else { continue };
        let fence = lines.next().filter(|fence| fence.starts_with("```"));
        let fence = fence.unwrap_or_else(|| panic!("{}: no code follows `{line}`", path.display()));
        let listings: Vec<_> = sources.split(' ').map(listing).collect();
        page += &format!("{fence}\n{}```\n", listings.join("\n"));
        let end = lines.find(|line| *line == "```");
        assert!(end.is_some(), "{}: the listing {sources} has no end", path.display());
        used.extend(sources.split(' ').map(str::to_owned));
    }
    page
}

/// The pages have the code itself, so that they can be read as text. `ROSPIN_BLESS=1` copies it into them.
#[test]
fn listings_are_the_parts_of_files_that_they_name() {
    let bless = std::env::var("ROSPIN_BLESS").is_ok_and(|value| value == "1");
    let mut used = BTreeSet::new();
    for (path, text) in pages() {
        let is_included = text.contains("{{#include");
        assert!(!is_included, "{}: put the code there, below `{LISTING}FILE:ANCHOR -->`", path.display());
        let right = with_listings(&path, &text, &mut used);
        if bless && right != text {
            fs::write(&path, &right).expect("the page");
        } else {
            assert_eq!(text, right, "{} differs from its sources; ROSPIN_BLESS=1 copies them", path.display());
        }
    }
    assert!(used.len() > 15, "only {} listings were found: is the search still right?", used.len());

    for folder in ["", "src", "src/bin", "tests"] {
        let folder = Path::new("examples/robot").join(folder);
        for file in fs::read_dir(root().join(&folder)).expect("a folder").map(|entry| entry.expect("an entry")) {
            let Ok(source) = fs::read_to_string(file.path()) else { continue };
            for anchor in source.split("ANCHOR: ").skip(1).filter_map(|rest| rest.lines().next()) {
                let name = format!("{}:{anchor}", folder.join(file.file_name()).display());
                assert!(used.contains(&name), "no page has the listing {name}");
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
