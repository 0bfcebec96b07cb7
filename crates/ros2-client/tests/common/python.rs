//! The Python that peers run under. The tests of the other adapters use this file, too.
//!
//! It is the one that `ROSPIN_TEST_PYTHON` names, or `python3`. Where it lacks the package the tests say so and pass, unless
//! `ROSPIN_TEST_REQUIRE_PEERS` is set, as `.ci/run` does.

use std::process::Command;

/// A Python that has the package, which `import` imports; or why there is none.
fn find(package: &str, import: &str) -> Result<String, String> {
    let python = std::env::var("ROSPIN_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    match Command::new(&python).args(["-c", import]).output() {
        Ok(output) if output.status.success() => Ok(python),
        Ok(output) => {
            let error = String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or_default().to_owned();
            Err(format!("{python}: {error}; `pip install {package}` helps"))
        }
        Err(error) => Err(format!("{python}: {error}")),
    }
}

/// A Python that has the package; or says that the test is skipped.
#[expect(clippy::print_stderr, reason = "it says that the test is skipped")]
pub(crate) fn python(package: &str, import: &str) -> Option<String> {
    match find(package, import) {
        Ok(python) => Some(python),
        Err(why) => {
            let required = std::env::var_os("ROSPIN_TEST_REQUIRE_PEERS").is_some();
            assert!(!required, "ROSPIN_TEST_REQUIRE_PEERS is set, but: {why}");
            eprintln!("SKIPPED for want of a peer: {why}");
            None
        }
    }
}
