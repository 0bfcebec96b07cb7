//! The book's pages, and the commands in them. Tests of `rospin` and of `rospin-lab` share this.

#![allow(dead_code, reason = "not every test uses all of it")]

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the repository's folder, which is the first one around this crate with a book in it.
pub(crate) fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = own.ancestors().find(|folder| folder.join("book").is_dir());
    root.expect("a folder with the book").to_owned()
}

/// Returns the pages that the summary names: the path and the text of each.
pub(crate) fn book() -> Vec<(String, String)> {
    let source = root().join("book/src");
    let summary = fs::read_to_string(source.join("SUMMARY.md")).expect("a summary");
    let linked = summary.split("](").skip(1).filter_map(|part| part.split(')').next());
    linked.map(|page| (page.to_owned(), fs::read_to_string(source.join(page)).expect(page))).collect()
}

/// Returns the commands of `rospin`, or those of `rospin-lab`, that README.md and the book have: in sentences, and in
/// listings as `cargo run --release ... -- ...`. Each comes with its page, and without the name of the program.
pub(crate) fn commands_of(program: &str) -> Vec<(String, String)> {
    let readme = fs::read_to_string(root().join("README.md")).expect("README.md");
    let mut commands = Vec::new();
    for (page, text) in book().into_iter().chain([("README.md".to_owned(), readme)]) {
        for (number, part) in text.split("```").enumerate() {
            // Every other part is a listing.
            let found = if number % 2 == 0 { in_sentences(part, program) } else { in_listing(part, program) };
            commands.extend(found.into_iter().map(|command| (page.clone(), command)));
        }
    }
    commands
}

fn in_sentences(text: &str, program: &str) -> Vec<String> {
    let prefix = if program == "rospin-lab" { "rospin lab " } else { "rospin " };
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter_map(|quoted| quoted.strip_prefix(prefix)).map(str::to_owned).collect()
}

fn in_listing(text: &str, program: &str) -> Vec<String> {
    let mut commands = Vec::new();
    for line in text.lines() {
        let line = line.split(" #").next().unwrap_or(line);
        let Some((cargo, command)) = line.split_once(" -- ") else { continue };
        let Some(options) = cargo.strip_prefix("cargo run --release") else { continue };
        let is_of_lab = options.contains("--manifest-path lab/Cargo.toml");
        // Other packages have programs of their own.
        let is_of_rospin = options.is_empty();
        if (program == "rospin-lab" && is_of_lab) || (program == "rospin" && is_of_rospin) {
            commands.push(command.to_owned());
        }
    }
    commands
}
