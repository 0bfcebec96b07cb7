//! The examples in a colcon workspace: what `colcon build` installs is what ROS 2 expects of a package, and its
//! commands find the programs. `ROSPIN_TEST_COLCON` is the folder of a virtual environment with `.ci/colcon.txt`.

#![expect(clippy::print_stderr, reason = "it says what is skipped")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The packages, and what each of them has in its `lib` and `share`.
const PACKAGES: [(&str, &[&str], &[&str]); 2] = [
    ("robot", &["first_node", "robot"], &["deployment.toml", "launch/robot.launch.py", "package.xml"]),
    ("custom_messages", &["publisher", "subscriber"], &["package.xml"]),
];

/// Prints prefix and programs of the packages that are named, as `ros2 pkg executables` finds them.
const EXECUTABLES: &str = "
import os, sys
from ament_index_python.packages import get_package_prefix, get_package_share_directory
for package in sys.argv[1:]:
    folder = os.path.join(get_package_prefix(package), 'lib', package)
    assert os.path.isfile(os.path.join(get_package_share_directory(package), 'package.xml'))
    for name in sorted(os.listdir(folder)):
        assert os.access(os.path.join(folder, name), os.X_OK)
        print(package, name)
";

fn root() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).expect("the repository")
}

/// Returns Cargo's target folder, which has the folder with the programs.
fn target() -> PathBuf {
    let programs = Path::new(env!("CARGO_BIN_EXE_robot")).parent().expect("a folder");
    programs.parent().expect("a folder").to_owned()
}

/// A workspace that is built: packages, and how to call what is in it.
struct Workspace(PathBuf);

impl Workspace {
    /// Builds the examples with colcon, as a user does, but in Cargo's target folder. Returns `None` without colcon.
    fn build() -> Option<Self> {
        let Some(colcon) = std::env::var_os("ROSPIN_TEST_COLCON").map(PathBuf::from) else {
            let is_required = std::env::var_os("ROSPIN_TEST_REQUIRE_PEERS").is_some();
            assert!(!is_required, "ROSPIN_TEST_COLCON must be a virtual environment with .ci/colcon.txt");
            eprintln!("SKIPPED for want of colcon: ROSPIN_TEST_COLCON is not set");
            return None;
        };
        let workspace = Path::new(env!("CARGO_TARGET_TMPDIR")).join("colcon");
        // Where an earlier test left links, it must not follow them.
        if workspace.exists() {
            fs::remove_dir_all(&workspace).expect("an old workspace goes");
        }
        for folder in ["src", "build"] {
            fs::create_dir_all(workspace.join(folder)).expect("a workspace");
        }
        // Else colcon would look for packages in the target folder.
        fs::write(workspace.join("build/COLCON_IGNORE"), "").expect("a file");
        for (package, ..) in PACKAGES {
            symlink(root().join("examples").join(package), workspace.join("src").join(package)).expect("a link");
            symlink(target(), workspace.join("build").join(package)).expect("a link");
        }
        let path = std::env::var("PATH").expect("a path");
        let mut build = Command::new(colcon.join("bin/colcon"));
        build.args(["build", "--executor", "sequential"]).current_dir(&workspace);
        build
            .env("PATH", format!("{}:{path}", colcon.join("bin").display()))
            .env("COLCON_HOME", workspace.join("home"));
        let output = build.output().expect("colcon");
        assert!(output.status.success(), "{}", said(&output));
        Some(Self(workspace))
    }

    /// Runs a command of the shell in which the workspace is sourced.
    fn run(&self, command: &str) -> Output {
        let sourced = format!(". install/setup.sh && {command}");
        Command::new("sh").args(["-c", &sourced]).current_dir(&self.0).output().expect("a shell")
    }

    /// True if the workspace has the file.
    fn has(&self, file: &str) -> bool {
        self.0.join("install").join(file).is_file()
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn colcon_installs_the_examples_as_packages_of_ros() {
    let Some(workspace) = Workspace::build() else { return };
    for (package, programs, shared) in PACKAGES {
        let folder = workspace.0.join("install").join(package).join("lib").join(package);
        let found = fs::read_dir(&folder).expect("the programs").map(|entry| entry.expect("a file").file_name());
        let found: BTreeSet<String> = found.map(|name| name.into_string().expect("a name")).collect();
        assert_eq!(found, programs.iter().map(|name| (*name).to_owned()).collect(), "{package}");
        for file in shared {
            assert!(workspace.has(&format!("{package}/share/{package}/{file}")), "{package}: {file}");
        }
        let index = format!("{package}/share/ament_index/resource_index/packages/{package}");
        assert!(workspace.has(&index), "{index}");
    }
    the_index_of_ament_has_them(&workspace);
    programs_run(&workspace);
    commands_of_ros_find_them(&workspace);
}

/// The libraries of ROS 2 find the packages by its index.
fn the_index_of_ament_has_them(workspace: &Workspace) {
    let Some(ros) = std::env::var_os("ROSPIN_TEST_ROS") else {
        eprintln!("SKIPPED for want of ROS 2: its index of packages");
        return;
    };
    let python = Path::new(&ros).join("bin/python");
    let output = workspace.run(&format!("{} -c \"{EXECUTABLES}\" robot custom_messages", python.display()));
    let expected = "robot first_node\nrobot robot\ncustom_messages publisher\ncustom_messages subscriber\n";
    assert_eq!(said(&output), expected);
}

/// An installed program runs with the arguments that a launch file's `Node` gives it.
fn programs_run(workspace: &Workspace) {
    let output = workspace.run("install/robot/lib/robot/robot nothing --ros-args");
    assert!(said(&output).contains("there is no part `nothing`"), "{}", said(&output));
}

/// The commands of ROS 2 do what they do for packages in C++.
fn commands_of_ros_find_them(workspace: &Workspace) {
    if !workspace.run("ros2 pkg --help").status.success() {
        eprintln!("SKIPPED for want of `ros2`: `ros2 pkg executables`, `ros2 run` and `ros2 launch`");
        return;
    }
    let found = workspace.run("ros2 pkg executables robot");
    assert_eq!(String::from_utf8_lossy(&found.stdout), "robot first_node\nrobot robot\n", "{}", said(&found));
    assert!(said(&workspace.run("ros2 run robot robot nothing")).contains("there is no part `nothing`"));
    let arguments = workspace.run("ros2 launch --print robot robot.launch.py");
    assert!(arguments.status.success(), "{}", said(&arguments));
}
