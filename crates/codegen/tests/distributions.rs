//! Shipped packages for each distribution: which definitions differ, and which hashes follow.

use std::collections::BTreeMap;
use std::env;
use std::path::Path;

use rospin_codegen::{Generator, SHIPPED};

/// Returns the generated code of each shipped package.
fn generated(distribution: &str) -> BTreeMap<String, String> {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("distributions").join(distribution);
    std::fs::create_dir_all(&out).unwrap();
    let names = SHIPPED.iter().map(|name| (*name).to_owned());
    let generator = Generator::new().ship(names, "::rospin_wire").prefixes([]).distribution(distribution).out_dir(&out);
    generator.generate().unwrap();
    let code = |name: &&str| std::fs::read_to_string(out.join(name).with_extension("rs")).unwrap();
    SHIPPED.iter().map(|name| ((*name).to_owned(), code(name))).collect()
}

/// Returns the hashes of all types, by name; of an action, the hash of each of its parts.
fn hashes(code: &BTreeMap<String, String>) -> BTreeMap<String, Option<String>> {
    let mut hashes = BTreeMap::new();
    let mut name = "";
    for line in code.values().flat_map(|code| code.lines()) {
        if let Some((_, rest)) = line.split_once("const TYPE: &'static str = \"") {
            name = rest.split('"').next().unwrap();
        }
        if let Some((before, value)) = line.split_once("_HASH: ::core::option::Option<&'static str> = ") {
            let part = before.trim_start_matches("const ");
            let hash = if value.contains("RIHS01_") { Some(value.split('"').nth(1).unwrap().to_owned()) } else { None };
            hashes.insert(format!("{name} {part}"), hash);
        }
    }
    hashes
}

fn differences(one: &str, other: &str) -> Vec<String> {
    let one = hashes(&generated(one));
    let other = hashes(&generated(other));
    assert!(one.len() > 200, "only {} types were found", one.len());
    let differs = |name: &&String| other.get(*name).is_some_and(|hash| hash != &one[*name]);
    one.keys().filter(differs).cloned().collect()
}

#[test]
fn hashes_of_iron_jazzy_and_kilted_are_equal() {
    assert_eq!(differences("iron", "jazzy"), [""; 0]);
    assert_eq!(differences("jazzy", "kilted"), [""; 0]);
}

#[test]
fn lyrical_has_one_message_with_another_hash() {
    assert_eq!(differences("jazzy", "lyrical"), ["lifecycle_msgs/msg/TransitionEvent TYPE"]);
    assert_eq!(differences("lyrical", "rolling"), [""; 0]);
}

#[test]
fn kilted_has_more_messages_than_jazzy() {
    let jazzy = generated("jazzy");
    let kilted = generated("kilted");
    let lyrical = generated("lyrical");
    let jazzy = hashes(&jazzy);
    let kilted = hashes(&kilted);
    let lyrical = hashes(&lyrical);
    let new: Vec<_> = kilted.keys().filter(|name| !jazzy.contains_key(*name)).collect();
    let expected = [
        "nav_msgs/msg/Trajectory TYPE",
        "nav_msgs/msg/TrajectoryPoint TYPE",
        "rosgraph_msgs/msg/Action TYPE",
        "rosgraph_msgs/msg/Graph TYPE",
        "rosgraph_msgs/msg/InterfaceType TYPE",
        "rosgraph_msgs/msg/Node TYPE",
        "rosgraph_msgs/msg/QoSProfile TYPE",
        "rosgraph_msgs/msg/Service TYPE",
        "rosgraph_msgs/msg/Topic TYPE",
        "rosgraph_msgs/msg/TypeHash TYPE",
    ];
    assert_eq!(new, expected);
    assert!(expected.iter().all(|name| kilted[*name] == lyrical[*name]));
}

#[test]
fn humble_has_no_hashes_and_a_shorter_range() {
    let humble = generated("humble");
    let jazzy = generated("jazzy");
    assert!(hashes(&humble).values().all(Option::is_none));
    assert!(hashes(&jazzy).values().all(Option::is_some));
    let range = |code: &BTreeMap<String, String>| {
        let (_, rest) = code["sensor_msgs"].split_once("pub struct Range ").expect("the struct");
        rest.split('}').next().unwrap().to_owned()
    };
    assert!(range(&jazzy).contains("variance") && !range(&humble).contains("variance"));
    let fields = |code: &str| code.lines().filter(|line| !line.trim_start().starts_with("//")).count();
    let same = SHIPPED.iter().filter(|name| **name != "sensor_msgs");
    for name in same {
        assert_eq!(fields(&humble[*name]), fields(&jazzy[*name]), "{name}");
    }
}

/// Compares with the descriptions that an installed ROS 2 has of its types, from Iron on.
#[test]
#[expect(clippy::print_stderr, reason = "it says that the test is skipped, or how much it compared")]
fn hashes_are_those_of_an_installed_ros() {
    let prefixes = env::var_os("AMENT_PREFIX_PATH").unwrap_or_default();
    let description = |file: &str| {
        let mut paths = env::split_paths(&prefixes).map(|prefix| prefix.join("share").join(file));
        paths.find_map(|path| std::fs::read_to_string(path).ok())
    };
    let Ok(distribution) = env::var("ROS_DISTRO") else {
        eprintln!("SKIPPED for want of a peer: ROS 2 is not sourced (ROS_DISTRO)");
        return;
    };
    let mut compared = 0;
    let mut absent = 0;
    for (name, hash) in hashes(&generated(&distribution)) {
        let (of, part) = name.split_once(' ').unwrap();
        let suffix = match part {
            "SEND_GOAL" => "_SendGoal",
            "GET_RESULT" => "_GetResult",
            "FEEDBACK_MESSAGE" => "_FeedbackMessage",
            _ => "",
        };
        let (Some(hash), Some(text)) = (hash, description(&format!("{of}.json"))) else {
            absent += 1;
            continue;
        };
        let text: String = text.split_whitespace().collect();
        let expected = format!(r#""type_name":"{of}{suffix}","hash_string":"{hash}""#);
        assert!(text.contains(&expected), "{name} should have hash {hash}");
        compared += 1;
    }
    eprintln!("{distribution} has {compared} of {} hashes", compared + absent);
}
