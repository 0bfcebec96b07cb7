//! Peers under Python, which share no code with ours: scripts in the folder `peers` of this crate.
//!
//! The Python is that of `ROSPIN_TEST_PYTHON`, or `python3`. Where it lacks the package the tests say so and pass,
//! unless `ROSPIN_TEST_REQUIRE_PEERS` is set, as `.ci/run` does.

use std::path::Path;
use std::process::{Command, Stdio};

use super::KilledChild;

/// Returns the name of a Python that has the package, or the reason for which there is none. `import` is Python code
/// that imports the package.
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

/// Returns the name of a Python that has the package. If there is none, prints that the test is skipped, and returns
/// `None`. `import` is Python code that imports the package.
///
/// # Panics
/// If there is none, and `ROSPIN_TEST_REQUIRE_PEERS` is set.
#[must_use]
#[expect(clippy::print_stderr, reason = "it says that the test is skipped")]
pub fn python(package: &str, import: &str) -> Option<String> {
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

/// A peer's process. It may stay until its standard input ends.
#[derive(Debug)]
pub struct Peer(KilledChild);

impl Peer {
    /// Starts a script of the folder `peers` under a [`python`] with the package. If there is none, prints that the
    /// test is skipped, and returns `None`. `import` is Python code that imports the package.
    ///
    /// # Panics
    /// If there is no such Python, and `ROSPIN_TEST_REQUIRE_PEERS` is set.
    #[must_use]
    pub fn start(
        [package, import]: [&str; 2],
        script: &str,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Option<Self> {
        let python = python(package, import)?;
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(script);
        let mut command = Command::new(python);
        command.arg("-B").arg(script).args(arguments).envs(environment.iter().copied()).stdin(Stdio::piped());
        Some(Self(KilledChild(command.spawn().expect("the Python that was there"))))
    }

    /// Closes the peer's standard input, and waits for its end.
    ///
    /// # Panics
    /// If its exit code is not 0.
    pub fn assert_success(mut self) {
        drop(self.0.stdin.take());
        assert!(self.0.wait().expect("a process").success(), "the peer is content");
    }
}
