//! Peers that share no code with this crate: Eclipse Cyclone DDS under Python.
//!
//! They want a Python that has the package `cyclonedds`: the one that `ROSPIN_TEST_PYTHON` names, or `python3`. Where there is
//! none the tests say so and pass, unless `ROSPIN_TEST_REQUIRE_PEERS` is set, as `.ci/run` does.

use std::path::Path;
use std::process::{Child, Command};

use rospin_ros2_client::{DomainOptions, ServiceMapping};

use super::options;

/// A Python with the package, or why there is none.
fn python() -> Result<String, String> {
    let python = std::env::var("ROSPIN_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    match Command::new(&python).args(["-c", "import cyclonedds.domain"]).output() {
        Ok(output) if output.status.success() => Ok(python),
        Ok(output) => {
            let error = String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or_default().to_owned();
            Err(format!("{python}: {error}; `pip install cyclonedds` helps"))
        }
        Err(error) => Err(format!("{python}: {error}")),
    }
}

/// The peer's process.
pub(crate) struct Peer(Child);

impl Peer {
    /// Starts a part of the script, or says that the test is skipped.
    #[expect(clippy::print_stderr, reason = "it says that the test is skipped")]
    pub(crate) fn start(script: &str, part: &str, domain_id: u16) -> Option<Self> {
        let python = match python() {
            Ok(python) => python,
            Err(why) => {
                let required = std::env::var_os("ROSPIN_TEST_REQUIRE_PEERS").is_some();
                assert!(!required, "ROSPIN_TEST_REQUIRE_PEERS is set, but: {why}");
                eprintln!("SKIPPED for want of a peer: {why}");
                return None;
            }
        };
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(script);
        let loopback = "<CycloneDDS><Domain><General><Interfaces><NetworkInterface name=\"lo\" multicast=\"false\"/></Interfaces>\
                        </General><Discovery><ParticipantIndex>auto</ParticipantIndex><Peers><Peer address=\"localhost\"/></Peers>\
                        </Discovery></Domain></CycloneDDS>";
        let child = Command::new(python)
            .arg(script)
            .args([part, &domain_id.to_string()])
            .env("CYCLONEDDS_URI", loopback)
            .spawn();
        Some(Self(child.expect("the Python that was there")))
    }

    pub(crate) fn assert_success(mut self) {
        assert!(self.0.wait().unwrap().success(), "the peer is content");
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Nothing to do if it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A domain whose services are as the peers have them.
pub(crate) fn cyclone(domain_id: u16) -> DomainOptions {
    options(domain_id).service_mapping(ServiceMapping::Cyclone)
}
