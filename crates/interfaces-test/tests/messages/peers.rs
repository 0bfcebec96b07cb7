//! Every shipped type, and every kind of field: there and back through codecs that share no code with ours, under
//! Python. Each peer has the types from elsewhere: one reads the definitions itself, the other has ROS 2's own classes.
//!
//! The first wants `pip install cyclonedds`, see `rospin_testkit::peers::python`, the second a ROS 2 that is sourced.

use std::fmt::{Debug, Write as _};
use std::io::Write as _;
use std::process::{Command, Stdio};

use rospin_testkit::peers::python;
use rospin_wire::cdr::{self, ByteOrder};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

include!(concat!(env!("OUT_DIR"), "/each_type.rs"));

/// Number of random values of each type.
const VALUES: u64 = 4;

/// A peer's answer if it does not have the type.
const ABSENT: &str = "absent";

/// Appends the lines of a type for a peer: the type's name, and the bytes of a value.
fn ask<T: Serialize + DeserializeOwned>(lines: &mut String, name: &str) {
    for seed in 0..VALUES {
        let value: T = crate::random::value(seed);
        let bytes = cdr::to_vec(&value).unwrap_or_else(|error| panic!("{name}: {error}"));
        let _ = writeln!(lines, "{name}\t{}", hex(&bytes));
    }
}

/// Compares a peer's answers with the values: what it read, and what it wrote, little-endian and perhaps big-endian.
/// Returns false if the peer does not have the type.
fn compare<T>(answers: &mut std::str::Lines<'_>, name: &str) -> bool
where
    T: Serialize + DeserializeOwned + PartialEq + Debug,
{
    let mut is_there = true;
    for seed in 0..VALUES {
        let answer = answers.next().unwrap_or_else(|| panic!("{name}: no answer"));
        if answer == ABSENT {
            is_there = false;
            continue;
        }
        let value: T = crate::random::value(seed);
        let (read, written) = answer.split_once('\t').unwrap_or_else(|| panic!("{name}: {answer}"));
        let read: Value = serde_json::from_str(read).unwrap_or_else(|error| panic!("{name}: {error}: {read}"));
        assert_eq!(read, serde_json::to_value(&value).unwrap(), "{name} as the peer reads it");
        for (written, order) in written.split('\t').zip([ByteOrder::Little, ByteOrder::Big]) {
            if order == ByteOrder::Little {
                assert_eq!(written, hex(&cdr::to_vec(&value).unwrap()), "{name}: {value:?}");
            }
            let decoded = cdr::from_bytes::<T>(&bytes_of(written), order);
            assert_eq!(decoded.as_ref(), Ok(&value), "{name} as the peer writes it, {order:?}");
        }
    }
    is_there
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes_of(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// Sends values of all types to a peer and compares its answers. Returns the number of types that the peer has, and of
/// all.
fn exchange(peer: &mut Command) -> (usize, usize) {
    let mut lines = String::new();
    macro_rules! ask_one {
        ($of:ty, $name:literal) => {
            ask::<$of>(&mut lines, $name);
        };
    }
    each_type!(ask_one);
    let mut peer = peer.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // The peer reads all lines before it writes the first one.
    peer.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = peer.wait_with_output().unwrap();
    assert!(output.status.success());
    let answers = String::from_utf8(output.stdout).unwrap();
    let mut answers = answers.lines();
    let mut compared = 0;
    let mut all = 0;
    macro_rules! compare_one {
        ($of:ty, $name:literal) => {
            compared += usize::from(compare::<$of>(&mut answers, $name));
            all += 1;
        };
    }
    each_type!(compare_one);
    assert_eq!(answers.next(), None);
    (compared, all)
}

#[test]
fn all_types_go_to_cyclonedds_and_back() {
    let Some(python) = python::python("cyclonedds==11.0.1", "import cyclonedds.idl") else { return };
    let (compared, all) = exchange(
        Command::new(python)
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cyclonedds_cdr.py"))
            .args(env!("DEFINITIONS").split(':'))
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/interfaces")),
    );
    assert_eq!(compared, all);
    assert!(all > 250, "{all} types");
}

#[test]
#[expect(clippy::print_stderr, reason = "it says that the test is skipped, or how much it compared")]
fn installed_types_go_to_ros_and_back() {
    let has_rclpy =
        || Command::new("python3").args(["-c", "import rclpy.serialization"]).output().unwrap().status.success();
    if std::env::var_os("AMENT_PREFIX_PATH").is_none() || !has_rclpy() {
        eprintln!("SKIPPED for want of a peer: ROS 2 with rclpy is not sourced (AMENT_PREFIX_PATH)");
        return;
    }
    let (compared, all) =
        exchange(Command::new("python3").arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rclpy_cdr.py")));
    eprintln!("ROS 2 has {compared} of {all} types");
    // Every installation has those of rclpy itself.
    assert!(compared > 50, "only {compared} of {all} types were compared");
}
