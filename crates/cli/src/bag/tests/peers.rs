//! Other people's readers read what is written here, and their bags are read.
//!
//! `ROSPIN_TEST_PYTHON` is a Python with the packages `mcap`, `mcap-ros2-support` and `rosbags`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use super::*;

/// Runs the script; `None` if there is no Python with the packages.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn python(arguments: &[&str]) -> Option<Vec<u8>> {
    let is_required = std::env::var_os("ROSPIN_TEST_REQUIRE_PEERS").is_some();
    let python = std::env::var_os("ROSPIN_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    let found = Command::new(&python).args(["-c", "import mcap_ros2, rosbags"]).output();
    if !found.is_ok_and(|found| found.status.success()) {
        assert!(!is_required, "ROSPIN_TEST_PYTHON must have mcap, mcap-ros2-support and rosbags");
        eprintln!(
            "SKIPPED for want of a Python with mcap, mcap-ros2-support and rosbags: ROSPIN_TEST_PYTHON names one"
        );
        return None;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bag/tests/peers.py");
    let output = Command::new(python).arg(script).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(output.stdout)
}

/// Content of a bag as other readers see it.
#[derive(Deserialize)]
struct Found {
    count: u64,
    rosbags: Vec<(String, u64, String)>,
    mcap: Vec<(String, u64, String)>,
    qos: BTreeMap<String, Vec<(String, String, u64)>>,
    hashes: BTreeMap<String, String>,
}

#[test]
fn readers_of_others_read_bags_of_all_layouts() {
    let scratch = Scratch::new("theirs");
    for (number, compression) in [Compression::None, Compression::Lz4, Compression::Zstd].into_iter().enumerate() {
        let folder = scratch.path(&format!("drive{number}"));
        let layout = Layout { chunk_bytes: 100, compression };
        let options = WriteOptions { layout, duration_ns_max: Some(3_000_000_000), ..WriteOptions::default() };
        write(&folder, options, &[topic("/a", false), topic("/b", true)], &SAID);
        let Some(output) = python(&["read", folder.to_str().unwrap()]) else { return };
        let found: Found = serde_json::from_slice(&output).unwrap();
        let said = |(place, arrived, _, text): &Said<'_>| {
            (["/a", "/b"][*place].to_owned(), BEGIN + arrived * 1_000_000, (*text).to_owned())
        };
        let expected: Vec<_> = SAID.iter().map(said).collect();
        assert_eq!((found.count, &found.rosbags, &found.mcap), (4, &expected, &expected), "{compression:?}");
        let qos = |durability: &str, depth| vec![("RELIABLE".to_owned(), durability.to_owned(), depth)];
        assert_eq!((&found.qos["/a"], &found.qos["/b"]), (&qos("VOLATILE", 10), &qos("TRANSIENT_LOCAL", 1)));
        assert_eq!(found.hashes["/a"], HASH);
    }
}

#[test]
fn bags_of_others_are_read() {
    let scratch = Scratch::new("ours");
    let mut kinds = vec![("mcap", "9", "NONE"), ("mcap", "8", "NONE"), ("mcap", "9", "STORAGE"), ("mcap", "9", "FILE")];
    if cfg!(feature = "sqlite") {
        kinds.extend([("sqlite3", "9", "NONE"), ("sqlite3", "8", "NONE"), ("sqlite3", "9", "MESSAGE")]);
    }
    for (kind, version, compression) in kinds {
        let folder = scratch.path(&format!("{kind}-{version}-{compression}"));
        if python(&["write", folder.to_str().unwrap(), kind, version, compression]).is_none() {
            return;
        }
        let bag = Bag::open(&folder).unwrap();
        let of = format!("{kind} {version} {compression}");
        assert_eq!((bag.metadata.count, bag.metadata.times), (11, Some((1_000_000_000, 1_900_000_000))), "{of}");
        let latched = bag.metadata.topics.iter().find(|topic| topic.name == "/latched").unwrap();
        assert_eq!(latched.offered[0].durability, Some(Durability::TransientLocal), "{of}");
        assert!(latched.hash.starts_with("RIHS01_"), "{of}");
        let (texts, damages) = heard(&bag);
        assert_eq!((texts.len(), damages), (11, Vec::new()), "{of}");
        assert!(texts[..2].contains(&"/latched map".to_owned()) && texts[10] == "/chatter hello 9", "{of}: {texts:?}");
        // The files alone say it, too.
        let file = bag.files[0].clone();
        if compression != "MESSAGE" {
            let alone = Bag::open(&file).unwrap();
            assert_eq!((alone.metadata.count, heard(&alone).0), (11, texts), "{of}");
        }
    }
}
