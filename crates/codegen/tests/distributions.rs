//! Shipped packages for each distribution: which definitions differ, and which hashes follow.

use std::collections::BTreeMap;
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
            let hash = value.contains("RIHS01_").then(|| value.split('"').nth(1).unwrap().to_owned());
            hashes.insert(format!("{name} {part}"), hash);
        }
    }
    hashes
}

fn differences(one: &str, other: &str) -> Vec<String> {
    let (one, other) = (hashes(&generated(one)), hashes(&generated(other)));
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
    let (jazzy, kilted, lyrical) = (generated("jazzy"), generated("kilted"), generated("lyrical"));
    let (jazzy, kilted, lyrical) = (hashes(&jazzy), hashes(&kilted), hashes(&lyrical));
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
    let (humble, jazzy) = (generated("humble"), generated("jazzy"));
    assert!(hashes(&humble).values().all(Option::is_none));
    assert!(hashes(&jazzy).values().all(Option::is_some));
    let range = |code: &BTreeMap<String, String>| {
        let (_, rest) = code["sensor_msgs"].split_once("pub struct Range ").expect("the struct");
        rest.split('}').next().unwrap().to_owned()
    };
    assert!(range(&jazzy).contains("variance") && !range(&humble).contains("variance"));
    let fields = |code: &str| code.lines().filter(|line| !line.trim_start().starts_with("//")).count();
    let same = SHIPPED.iter().filter(|name| **name != "sensor_msgs");
    same.for_each(|name| assert_eq!(fields(&humble[*name]), fields(&jazzy[*name]), "{name}"));
}
