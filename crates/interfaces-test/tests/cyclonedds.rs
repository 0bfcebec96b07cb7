//! Every shipped type, compared byte by byte with Cyclone DDS under Python, a codec that shares no code with ours.
//!
//! It wants `pip install cyclonedds`, see `rospin_testkit::peers::python`.

mod random;

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use rospin_testkit::peers::python;
use rospin_wire::cdr;
use serde::Serialize;
use serde::de::DeserializeOwned;

include!(concat!(env!("OUT_DIR"), "/each_shipped.rs"));

fn list<T: Serialize + DeserializeOwned>(lines: &mut String, name: &str) {
    for seed in 0..4 {
        let value: T = random::value(seed);
        let json = serde_json::to_string(&value).unwrap();
        let _ = write!(lines, "{name}\t{json}\t");
        for byte in cdr::to_vec(&value).unwrap() {
            let _ = write!(lines, "{byte:02x}");
        }
        lines.push('\n');
    }
}

#[test]
fn all_types_are_as_cyclonedds_writes_them() {
    let Some(python) = python::python("cyclonedds==11.0.1", "import cyclonedds.idl") else { return };
    let (mut lines, mut types) = (String::new(), 0);
    macro_rules! list_one {
        ($package:ident $kind:ident $name:ident) => {
            let name = [stringify!($package), stringify!($kind), stringify!($name)].join("/");
            list::<rospin_msgs::$package::$kind::$name>(&mut lines, &name);
            types += 1;
        };
    }
    each_shipped!(list_one);
    let mut peer = Command::new(python)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cyclonedds_cdr.py"))
        .args(env!("DEFINITIONS").split(':'))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    peer.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = peer.wait_with_output().unwrap();
    assert!(output.status.success());
    let said = String::from_utf8(output.stdout).unwrap();
    let numbers: Vec<usize> = said.split_whitespace().map(|number| number.parse().unwrap()).collect();
    // Only types with wide strings are left out.
    let &[compared, left_out] = &numbers[..] else { panic!("{said}") };
    assert_eq!(compared, (types - left_out) * 4);
    assert!(left_out <= 4, "{left_out} types were left out");
}
