//! A closure that is no callback gives a compile error in our words: message, label and notes.
//!
//! Each case is a program in `compile_errors/` and the expected text beside it. The text has only sentences of our own
//! `diagnostic::on_unimplemented` attributes, so it does not depend on the compiler's version. `ROSPIN_BLESS=1` writes
//! the texts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// Beginnings of our notes; the compiler adds notes of its own, which change with its version.
const NOTES: [&str; 4] =
    ["write the type of each parameter", "a reentrant group and", "on a mutually exclusive group", "it returns"];

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compile_errors")
}

/// Compiles a program against a build of the crate `rospin`, without generating code.
fn compile(program: &Path, rospin: &Path) -> Output {
    let dependencies = rospin.parent().expect("the build is in a folder");
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--edition=2024", "--crate-type=lib", "--emit=metadata", "--error-format=json"]);
    rustc.arg("--out-dir").arg(env!("CARGO_TARGET_TMPDIR"));
    rustc.arg("-L").arg(format!("dependency={}", dependencies.display()));
    rustc.arg("--extern").arg(format!("rospin={}", rospin.display())).arg(program);
    rustc.output().expect("rustc runs")
}

/// Returns the build of `rospin` that this test is linked with, or an equal one: the newest that a correct program
/// compiles with.
fn rospin() -> PathBuf {
    let test = std::env::current_exe().expect("this test's file");
    let folder = test.parent().expect("a folder");
    let is_rospin = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.strip_prefix("librospin-").is_some_and(|hash| hash.ends_with(".rlib"))
    };
    let found = fs::read_dir(folder).expect("its folder").map(|entry| entry.expect("an entry").path());
    let mut builds: Vec<_> = found.filter(is_rospin).collect();
    builds.sort_by_key(|path| fs::metadata(path).and_then(|data| data.modified()).ok());
    let correct = cases().join("correct.rs");
    let build = builds.into_iter().rev().find(|build| compile(&correct, build).status.success());
    build.unwrap_or_else(|| panic!("{} compiles with no build of rospin in {}", correct.display(), folder.display()))
}

/// Returns our sentences in the compiler's errors.
fn our_words(errors: &str) -> String {
    let mut text = String::new();
    for error in errors.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        if error["level"] != "error" || !error["message"].as_str().is_some_and(|message| message.contains("callback")) {
            continue;
        }
        text += &format!("error: {}\n", error["message"].as_str().unwrap_or_default());
        let labels = error["spans"].as_array().into_iter().flatten().filter(|span| span["is_primary"] == true);
        for label in labels.filter_map(|span| span["label"].as_str()) {
            text += &format!("label: {label}\n");
        }
        let notes = error["children"].as_array().into_iter().flatten().filter_map(|child| child["message"].as_str());
        for note in notes.filter(|note| NOTES.iter().any(|ours| note.starts_with(ours))) {
            text += &format!("note: {note}\n");
        }
    }
    text
}

#[test]
fn a_wrong_callback_is_explained() {
    let rospin = rospin();
    let bless = std::env::var("ROSPIN_BLESS").is_ok_and(|value| value == "1");
    let programs = fs::read_dir(cases()).expect("the cases").map(|entry| entry.expect("a case").path());
    let mut wrong = 0;
    for program in programs.filter(|path| path.extension().is_some_and(|extension| extension == "rs")) {
        if program.ends_with("correct.rs") {
            continue;
        }
        let output = compile(&program, &rospin);
        assert!(!output.status.success(), "{} compiles", program.display());
        let errors = String::from_utf8_lossy(&output.stderr);
        let (actual, expected) = (our_words(&errors), program.with_extension("txt"));
        assert!(!actual.is_empty(), "{} has no error in our words:\n{errors}", program.display());
        if bless {
            fs::write(&expected, &actual).expect("the text can be written");
        }
        let expected = fs::read_to_string(&expected).unwrap_or_default();
        assert_eq!(actual, expected, "{}; if it is better now, set ROSPIN_BLESS=1", program.display());
        wrong += 1;
    }
    assert!(wrong >= 5, "only {wrong} cases were found");
}
