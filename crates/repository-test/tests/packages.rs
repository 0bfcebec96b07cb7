//! Crates as a reader of the registry finds them: every published one says what it is, under which licences, and where
//! to start.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::{MetadataCommand, Package};
use rospin_repository_test::repository;

/// The slugs of <https://crates.io/category_slugs> that crates here use. The registry refuses others.
const CATEGORIES: [&str; 19] = [
    "algorithms",
    "asynchronous",
    "command-line-interface",
    "command-line-utilities",
    "concurrency",
    "config",
    "development-tools::build-utils",
    "development-tools::debugging",
    "development-tools::profiling",
    "development-tools::testing",
    "encoding",
    "hardware-support",
    "mathematics",
    "network-programming",
    "os::linux-apis",
    "parser-implementations",
    "science::robotics",
    "simulation",
    "visualization",
];

/// The longest README of a crate, in lines: one screen, whose listing has most of it.
const SCREEN: usize = 60;

/// Returns the crates of the workspace, and of the one beside it.
fn packages() -> Vec<Package> {
    let mut all = Vec::new();
    for folder in [".", "lab"] {
        let manifest = format!("{folder}/Cargo.toml");
        let mut command = MetadataCommand::new();
        let metadata = command.manifest_path(repository().join(manifest)).no_deps().exec().expect("cargo metadata");
        all.extend(metadata.packages);
    }
    all
}

/// Returns the crates that a release publishes.
fn published() -> Vec<Package> {
    packages().into_iter().filter(|package| package.publish.is_none()).collect()
}

fn file(package: &Package, name: &str) -> String {
    let path = package.manifest_path.with_file_name(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn is_keyword(word: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "-_+".contains(letter);
    word.len() <= 20 && word.starts_with(|letter: char| letter.is_ascii_alphanumeric()) && word.chars().all(is_part)
}

#[test]
fn every_published_crate_says_what_it_is() {
    for package in published() {
        let name = &package.name;
        assert!(package.description.as_ref().is_some_and(|text| !text.is_empty()), "{name} has no description");
        assert_eq!(package.license.as_deref(), Some("MIT OR Apache-2.0"), "license of {name}");
        assert!(package.rust_version.is_some(), "{name} has no rust-version");
        let keywords = &package.keywords;
        let categories = &package.categories;
        assert!((1..=5).contains(&keywords.len()), "{name} has {} keywords; the registry takes 5", keywords.len());
        for keyword in keywords {
            assert!(is_keyword(keyword), "the registry refuses the keyword {keyword} of {name}");
        }
        assert!(
            (1..=5).contains(&categories.len()),
            "{name} has {} categories; the registry takes 5",
            categories.len()
        );
        for category in categories {
            assert!(
                CATEGORIES.contains(&category.as_str()),
                "{category} of {name}: if it is a slug, add it to the list"
            );
        }
    }
}

/// The files are links to those of the repository. `cargo package` follows them.
#[test]
fn every_published_crate_has_the_texts_of_its_licences() {
    for package in published() {
        for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
            let text = fs::read_to_string(repository().join(name)).expect("a licence");
            assert_eq!(file(&package, name), text, "{name} of {}", package.name);
        }
    }
}

#[test]
fn every_published_crate_has_a_page_of_one_screen_that_leads_to_rospin() {
    for package in published() {
        let name = &package.name;
        assert_eq!(package.readme.as_ref().map(|path| path.as_str()), Some("README.md"), "readme of {name}");
        let text = file(&package, "README.md");
        assert!(text.starts_with(&format!("# {name}\n")), "README.md of {name} begins with its name");
        assert!(text.lines().count() <= SCREEN, "README.md of {name} has more than {SCREEN} lines");
        assert!(
            **name == "rospin" || text.contains("(https://crates.io/crates/rospin)"),
            "README.md of {name}: no link"
        );
        // Other places than the registry cannot follow links into the repository.
        assert!(!text.contains("](../"), "README.md of {name} has a link that leads out of its package");
        assert!(text.contains("\n## License\n\nMIT or Apache-2.0"), "README.md of {name} names its licences");
        assert_eq!(text.matches("\n```").count(), 2, "README.md of {name} has one example");
    }
}

/// Returns the lines of a text without indentation, marks of documentation, and lines that rustdoc hides.
fn plain(text: &str) -> String {
    let mut lines = String::from("\n");
    for line in text.lines() {
        // A listing in documentation may have documentation itself.
        let mut line = line.trim();
        while let Some(rest) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) {
            line = rest.trim();
        }
        if line != "#" && !line.starts_with("# ") {
            lines.push_str(line);
            lines.push('\n');
        }
    }
    lines
}

/// Appends the Rust files below a folder.
fn add_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            add_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// Appends the Rust files and pages below a folder.
fn add_texts(folder: &Path, texts: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let is_page = path.parent().is_some_and(|parent| parent.starts_with(repository().join("book")));
        let extension = path.extension().and_then(|extension| extension.to_str());
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target") {
                add_texts(&path, texts);
            }
        } else if extension == Some("rs") || (is_page && extension == Some("md")) {
            texts.push(plain(&fs::read_to_string(&path).expect("a text")));
        }
    }
}

/// A listing of a crate's page is compiled or run where it comes from: documentation, an example, a test, or a page of
/// the book.
#[test]
fn the_example_on_a_crates_page_is_part_of_a_text_that_is_tested() {
    let mut texts = Vec::new();
    for part in ["crates", "lab", "book/src"] {
        add_texts(&repository().join(part), &mut texts);
    }
    for package in published() {
        let page = file(&package, "README.md");
        let listing = page.split("\n```").nth(1).expect("an example");
        let (_, lines) = listing.split_once('\n').expect("a language, and lines");
        let listing = plain(lines);
        assert!(listing.len() > 20, "README.md of {} has an empty example", package.name);
        let is_part = texts.iter().any(|text| text.contains(&listing));
        assert!(is_part, "the example in README.md of {} is nowhere else: copy the one that has changed", package.name);
    }
}

/// Returns true if the documentation in a source file has an example in Rust.
fn has_example(file: &Path) -> bool {
    let text = fs::read_to_string(file).expect("a source file");
    let mut is_listing = false;
    for line in text.lines().map(str::trim_start) {
        let Some(documentation) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else { continue };
        let Some(language) = documentation.trim_start().strip_prefix("```") else { continue };
        is_listing = !is_listing;
        if is_listing && (language.is_empty() || language.contains("rust") || language.contains("run")) {
            return true;
        }
    }
    false
}

/// A target is compiled once more for the tests in its sources. So those without any say `test = false`.
#[test]
fn tests_in_sources_are_run() {
    for package in packages() {
        for target in package.targets.iter().filter(|target| !target.test && (target.is_lib() || target.is_bin())) {
            let mut files = vec![target.src_path.clone().into_std_path_buf()];
            if target.is_lib() {
                add_files(target.src_path.parent().expect("a folder").as_std_path(), &mut files);
            }
            for file in &files {
                let text = fs::read_to_string(file).expect("a source file");
                // One that is indented may be written by a macro.
                let has_test = text.lines().any(|line| line == "#[test]" || line == "#[cfg(test)]");
                assert!(!has_test, "{} has a test, so remove the `test = false` of {}", file.display(), target.name);
            }
        }
    }
}

/// To look for examples, rustdoc compiles a library once more. So those without any say `doctest = false`.
#[test]
fn examples_in_documentation_are_run() {
    for package in packages() {
        for target in package.targets.iter().filter(|target| target.is_lib() || target.is_proc_macro()) {
            if !target.doctest {
                let sources = target.src_path.parent().expect("a folder");
                let mut files = Vec::new();
                add_files(sources.as_std_path(), &mut files);
                for file in &files {
                    assert!(
                        !has_example(file),
                        "{} has an example, so remove its crate's `doctest = false`",
                        file.display()
                    );
                }
            }
        }
    }
}

/// Returns the folders of a release's crates, in the order of publication.
fn order() -> Vec<String> {
    let list = fs::read_to_string(repository().join(".ci/release/crates.txt")).expect("the list");
    list.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

/// Returns a folder's path in the repository.
fn folder(path: &Path) -> String {
    let repository = repository().canonicalize().expect("the repository");
    let path = path.canonicalize().expect("a folder");
    path.strip_prefix(repository).expect("a folder of ours").to_str().expect("UTF-8").to_owned()
}

#[test]
fn a_release_has_every_published_crate() {
    let listed = order();
    let mut folders = BTreeSet::new();
    for package in published() {
        folders.insert(folder(package.manifest_path.parent().expect("a folder").as_std_path()));
    }
    assert_eq!(listed.len(), folders.len(), "{listed:?}");
    assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), folders);
}

/// The registry takes a crate only if it has those that the crate uses. A dev-dependency without a version is not part
/// of what is published.
#[test]
fn a_crate_is_published_after_those_that_it_uses() {
    let order = order();
    let place = |folder: &str| order.iter().position(|listed| listed == folder);
    for package in published() {
        let own = place(&folder(package.manifest_path.parent().expect("a folder").as_std_path()));
        for dependency in &package.dependencies {
            let Some(path) = &dependency.path else { continue };
            if dependency.req.to_string() != "*" {
                let used = place(&folder(path.as_std_path()));
                assert!(used.is_some() && used < own, "{} is published before {}", package.name, dependency.name);
            }
        }
    }
}

/// A release has one version, so what its crates ask of each other is that one.
#[test]
fn all_published_crates_have_one_version() {
    let packages = published();
    let version = &packages[0].version;
    for package in &packages {
        assert_eq!(&package.version, version, "version of {}", package.name);
        for dependency in package.dependencies.iter().filter(|dependency| dependency.path.is_some()) {
            let asked = dependency.req.to_string();
            let is_right = asked == "*" || asked == format!("^{version}");
            assert!(is_right, "{} asks for {} {asked}", package.name, dependency.name);
        }
    }
}

/// Dependencies of which one version alone will do, with the crates that use them. The manifests say why.
const PINNED: [(&str, &str); 1] = [("rospin-dds", "cyclonedds-src")];

/// A program can have one compatible version of a crate, so a library that pins one decides for all others.
#[test]
fn libraries_pin_no_versions() {
    for package in published() {
        for dependency in &package.dependencies {
            let is_pinned = dependency.req.to_string().starts_with('=');
            let is_known = PINNED.contains(&(package.name.as_str(), &dependency.name));
            assert_eq!(is_pinned, is_known, "{} of {}: {}", dependency.name, package.name, dependency.req);
        }
    }
}
