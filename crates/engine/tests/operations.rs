//! The table of the engine's public operations (`explore/operations.toml`) has all of them, and no other.
//!
//! It is read from the sources, which are formatted by rustfmt: public functions of types that `lib.rs` and `os/mod.rs`
//! export, the methods of exported traits, exported functions, and methods that macros define for several types. The
//! table says of each that the random programs of `explore.rs` do it, which that test checks, or in one line why not.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Returns all source files below the folder, in order.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Returns the identifier that the text begins with.
fn identifier(text: &str) -> &str {
    let end = text.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(text.len());
    &text[..end]
}

/// Returns the names that the `pub use` lines of a module export from its own modules.
fn exported(module: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for import in module.split("\npub use ").skip(1) {
        let import = import.split(';').next().unwrap_or_default();
        if import.starts_with("rospin_") {
            continue;
        }
        let list = import.rsplit("::").next().unwrap_or_default();
        for name in list.trim_matches(['{', '}']).split(',') {
            // `as` gives another name, under which nothing is found in the sources.
            let name = name.trim();
            if !name.is_empty() {
                names.insert(identifier(name).to_owned());
            }
        }
    }
    names
}

/// Returns the text after a list of generic parameters, if there is one.
fn after_generics(text: &str) -> &str {
    if !text.starts_with('<') {
        return text;
    }
    let mut depth = 0;
    let mut last = ' ';
    for (at, letter) in text.char_indices() {
        match letter {
            '<' => depth += 1,
            // An arrow is no bracket.
            '>' if last != '-' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[at + 1..];
        }
        last = letter;
    }
    ""
}

/// Returns the name of the function that the line begins; `None` if it begins none.
fn function(line: &str) -> Option<&str> {
    let mut rest = line;
    for word in ["const ", "async ", "unsafe ", "extern "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    rest.strip_prefix("fn ").map(identifier)
}

/// The place that functions belong to.
enum Of {
    Nothing,
    Type(String),
    Trait(String),
    Macro(String),
}

/// Adds the public operations of one file to `found`.
fn operations_of(source: &str, exports: &BTreeSet<String>, prefix: &str, found: &mut BTreeSet<String>) {
    let mut of = Of::Nothing;
    let mut add = |of: &str, name: &str| _ = found.insert(format!("{of}::{name}"));
    for line in source.lines() {
        if line.starts_with("mod tests") {
            break;
        }
        if line == "}" {
            of = Of::Nothing;
        } else if let Some(name) = line.strip_prefix("macro_rules! ") {
            of = Of::Macro(format!("{}!", identifier(name)));
        } else if let Some(rest) = line.strip_prefix("impl") {
            let rest = after_generics(rest).trim_start();
            let name = identifier(rest);
            let is_trait = rest.contains(" for ");
            let counts = !is_trait && exports.contains(name);
            of = if counts { Of::Type(format!("{prefix}{name}")) } else { Of::Nothing };
        } else if let Some(name) = line.strip_prefix("pub trait ") {
            let name = identifier(name);
            let counts = exports.contains(name);
            of = if counts { Of::Trait(format!("{prefix}{name}")) } else { Of::Nothing };
        } else if let Some(name) = line.strip_prefix("pub ").and_then(function)
            && exports.contains(name)
        {
            add(if prefix.is_empty() { "engine" } else { "os" }, name);
        }
        let inner = line.strip_prefix("    ").unwrap_or_default();
        match &of {
            Of::Type(name) => inner.strip_prefix("pub ").and_then(function).into_iter().for_each(|it| add(name, it)),
            Of::Trait(name) => function(inner).into_iter().for_each(|it| add(name, it)),
            Of::Macro(name) => {
                let public = inner.trim_start().strip_prefix("pub ").and_then(function);
                public.into_iter().for_each(|it| add(name, it));
            }
            Of::Nothing => {}
        }
    }
}

fn all_operations() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let read = |path: &Path| std::fs::read_to_string(path).expect("it can be read");
    let engine = exported(&read(&folder.join("lib.rs")));
    let os = exported(&read(&folder.join("os/mod.rs")));
    let mut found = BTreeSet::new();
    for path in sources(&folder) {
        let source = read(&path);
        if path.starts_with(folder.join("os")) {
            operations_of(&source, &os, "os::", &mut found);
        } else {
            operations_of(&source, &engine, "", &mut found);
        }
    }
    found
}

#[test]
fn the_table_of_operations_has_all_of_them() {
    let table: toml::Table = include_str!("explore/operations.toml").parse().expect("the table is TOML");
    let mut listed = BTreeSet::new();
    for (of, operations) in &table {
        for (name, use_of_it) in operations.as_table().expect("operations by their type") {
            let is_reason = use_of_it.as_str().is_some_and(|reason| !reason.is_empty());
            assert!(is_reason || use_of_it.as_bool() == Some(true), "{of}::{name} is `true`, or says why not");
            listed.insert(format!("{of}::{name}"));
        }
    }
    let found = all_operations();
    assert!(found.len() > 200, "the sources have operations: {found:?}");
    let missing: Vec<_> = found.difference(&listed).collect();
    let superfluous: Vec<_> = listed.difference(&found).collect();
    assert!(missing.is_empty(), "not in explore/operations.toml: {missing:#?}");
    assert!(superfluous.is_empty(), "in explore/operations.toml, and not in the sources: {superfluous:#?}");
}
