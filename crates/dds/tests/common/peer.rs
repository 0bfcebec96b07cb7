//! Peers that share no code with this crate: Eclipse Cyclone DDS under Python.
//!
//! See `python.rs` for what they want.

use std::path::Path;
use std::process::{Child, Command};

use super::python::python;

/// The peer's process.
pub(crate) struct Peer(Child);

impl Peer {
    /// Starts a part of the script, or says that the test is skipped.
    pub(crate) fn start(script: &str, part: &str, domain_id: u16) -> Option<Self> {
        let python = python("cyclonedds", "import cyclonedds.domain")?;
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
