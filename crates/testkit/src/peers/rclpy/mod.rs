//! Nodes of ROS 2 under rclpy, which are there as soon as Python packages are installed: the script `rclpy_peer.py`.
//!
//! `ROSPIN_TEST_ROS` is the folder of a virtual environment with the packages `ros-rclpy`, `ros-rmw-fastrtps-cpp`,
//! `ros-std-srvs` and `ros-test-msgs`, whose middleware is ROS 2's default, Fast DDS. Without it, a ROS 2 that is
//! sourced is used. Where there is none, the tests say so and pass, unless `ROSPIN_TEST_REQUIRE_ROS` is set, as
//! `.ci/run` does.

pub mod graph;
pub mod introspection;
pub mod load;

use std::path::{Path, PathBuf};
use std::process::Command;

use super::ros2::Process;

/// ROS 2 with rclpy, and the environment of its nodes.
#[derive(Clone, Debug)]
pub struct Rclpy {
    python: PathBuf,
    variables: Vec<(String, String)>,
}

impl Rclpy {
    /// Finds ROS 2 with this middleware. If there is none, prints that the test is skipped, and returns `None`.
    ///
    /// # Panics
    /// If there is none, and `ROSPIN_TEST_REQUIRE_ROS` is set and asks for this middleware: it always asks for Fast
    /// DDS.
    #[must_use]
    #[expect(clippy::print_stderr, reason = "it says that a test is skipped")]
    pub fn find(rmw: &str) -> Option<Self> {
        match Self::try_find(rmw) {
            Ok(found) => Some(found),
            Err(reason) => {
                let is_required = std::env::var_os("ROSPIN_TEST_REQUIRE_ROS").is_some() && rmw == "rmw_fastrtps_cpp";
                assert!(!is_required, "ROSPIN_TEST_REQUIRE_ROS is set, but: {reason}");
                eprintln!("SKIPPED for want of ROS 2 with {rmw}: {reason}");
                None
            }
        }
    }

    fn try_find(rmw: &str) -> Result<Self, String> {
        let folder = std::env::var("ROSPIN_TEST_ROS");
        let mut variables = vec![("RMW_IMPLEMENTATION".to_owned(), rmw.to_owned())];
        let python = match &folder {
            Ok(folder) => {
                variables.push(("AMENT_PREFIX_PATH".to_owned(), folder.clone()));
                variables.push(("LD_LIBRARY_PATH".to_owned(), format!("{folder}/lib")));
                Path::new(folder).join("bin/python")
            }
            Err(_) => PathBuf::from("python3"),
        };
        let found = Self { python, variables };
        // The wheels have one middleware, and ignore `RMW_IMPLEMENTATION`.
        let import = format!(
            "import rclpy, std_srvs.srv, test_msgs.action; found = rclpy.get_rmw_implementation_identifier(); \
             assert found == '{rmw}', f'its middleware is {{found}}'"
        );
        match found.command(&["-c", &import]).output() {
            Ok(output) if output.status.success() => Ok(found),
            Ok(output) => {
                let error = String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or_default().to_owned();
                Err(format!("{}: {error}", found.python.display()))
            }
            Err(error) => Err(format!("{}: {error}", found.python.display())),
        }
    }

    /// Adds a variable to the environment of its nodes.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.variables.push((name.to_owned(), value.to_string()));
        self
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.python);
        command.args(arguments).envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Starts a part of the script `rclpy_peer.py`, which explains them.
    #[must_use]
    pub fn start(&self, arguments: &[&str]) -> Process {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/rclpy_peer.py");
        Process::start(self.command(&[&[script], arguments].concat()))
    }
}
