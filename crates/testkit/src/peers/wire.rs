//! Peers that share no code with ours, and have all parts of nodes of ROS 2, in the folder `peers/wire`.
//!
//! They speak Cyclone DDS or Zenoh through these libraries' own Python packages, and write all else by hand: see
//! `wire/peer.py`, and [`python`](super::python) for what they want.

use std::process::Command;

use super::python::python;
use super::ros2::Process;

/// A Python with a middleware, and how its nodes join.
#[derive(Clone, Debug)]
pub struct WirePeer {
    python: String,
    /// The middleware, and the place where nodes meet.
    place: [String; 2],
    variable: (&'static str, &'static str),
}

impl WirePeer {
    /// Finds a Python with the package. If there is none, prints that the test is skipped, and returns `None`.
    ///
    /// `import` is Python code that imports the package. `place` is the middleware, and where its nodes meet:
    /// `cyclonedds` and the id of a domain, or `zenoh` and an endpoint. `variable` is added to the environment of the
    /// nodes.
    ///
    /// # Panics
    /// If there is none, and `ROSPIN_TEST_REQUIRE_PEERS` is set.
    #[must_use]
    pub fn find(
        [package, import]: [&str; 2],
        place: [&str; 2],
        variable: (&'static str, &'static str),
    ) -> Option<Self> {
        let python = python(package, import)?;
        Some(Self { python, place: place.map(str::to_owned), variable })
    }

    /// Starts a part of the script `wire/peer.py`, which explains them.
    #[must_use]
    pub fn start(&self, part: &[&str]) -> Process {
        let mut command = Command::new(&self.python);
        // `-B`: the folder stays as it is, without compiled files.
        command.args(["-B", concat!(env!("CARGO_MANIFEST_DIR"), "/peers/wire/peer.py")]);
        command.args(&self.place).args(part).env(self.variable.0, self.variable.1);
        Process::start(command)
    }
}
