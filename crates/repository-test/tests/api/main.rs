//! The public items of `rospin-engine`, `rospin-node` and `rospin`: a change of them is on purpose, examples show them,
//! and asynchronous functions say what happens if they are dropped.
//!
//! The sources are read as text, so this needs no compiler of its own.

mod crates;
mod expand;
mod functions;
mod listing;

use std::fs;

use rospin_repository_test::repository;

use crates::Crate;

/// The folders of the crates below `crates/`.
const CRATES: [&str; 3] = ["engine", "node", "rospin"];

/// All that users can name is in a list. After a change that is meant, `ROSPIN_BLESS=1 cargo test -p
/// rospin-repository-test --test api` writes the list anew. Others then see the change in the list's difference.
#[test]
fn the_public_items_are_those_of_the_list() {
    let mut differing = Vec::new();
    for folder in CRATES {
        let file = repository().join(format!("crates/repository-test/tests/api/{folder}.txt"));
        let listed = listing::listing(&Crate::read(folder));
        if std::env::var_os("ROSPIN_BLESS").is_some() {
            fs::write(&file, &listed).expect("the list is written");
        }
        let before = fs::read_to_string(&file).unwrap_or_default();
        for line in before.lines().filter(|line| !listed.lines().any(|other| other == *line)) {
            differing.push(format!("{folder}: gone  {line}"));
        }
        for line in listed.lines().filter(|line| !before.lines().any(|other| other == *line)) {
            differing.push(format!("{folder}: new   {line}"));
        }
        assert!(!listed.is_empty() && (!differing.is_empty() || before == listed), "{folder}: the order differs");
    }
    assert!(differing.is_empty(), "if this is meant, run it with ROSPIN_BLESS=1:\n{}", differing.join("\n"));
}

/// A function is shown if an example of its own documentation, or another one on the page of its type or module, calls
/// it.
#[test]
fn at_least_half_of_the_public_functions_are_shown_by_examples() {
    for folder in ["engine", "node"] {
        let functions = functions::functions(&Crate::read(folder));
        let hidden: Vec<_> =
            functions.iter().filter(|function| !function.is_shown).map(|function| &*function.path).collect();
        let shown = functions.len() - hidden.len();
        assert!(
            shown * 2 >= functions.len(),
            "{folder}: {shown} of {} are shown; not shown: {hidden:#?}",
            functions.len()
        );
    }
}

/// Whoever awaits one of several futures drops the others.
#[test]
fn asynchronous_functions_and_futures_say_if_they_may_be_dropped() {
    let (mut silent, mut count) = (Vec::new(), 0);
    for folder in CRATES {
        let sources = Crate::read(folder);
        let functions = functions::functions(&sources).into_iter().filter(|function| function.is_asynchronous);
        let functions = functions.map(|function| (function.path, function.documentation));
        for (path, documentation) in functions.chain(functions::futures(&sources)) {
            count += 1;
            if !documentation.contains("Cancel safe") {
                silent.push(format!("{folder}: {path}"));
            }
        }
    }
    assert!(count > 30, "{count} are found");
    assert!(silent.is_empty(), "these do not say `Cancel safe: ...`, or that they are not: {silent:#?}");
}
