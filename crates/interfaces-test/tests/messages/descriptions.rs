//! Descriptions of all generated types: they have the hashes of the types, and are those that ROS 2 installs.

use std::collections::BTreeMap;
use std::path::Path;
use std::{env, fs};

use rospin_dynamic::describe;
use rospin_wire::{Action, Description, Message, ServiceInterface};

include!(concat!(env!("OUT_DIR"), "/each_interface.rs"));

/// Returns the descriptions of all generated types with their hashes, by their names.
fn descriptions() -> BTreeMap<String, (&'static Description, Option<&'static str>)> {
    let mut found = BTreeMap::new();
    macro_rules! add {
        (Action, $of:ty, $name:literal) => {
            for (part, description, hash) in [
                ("SendGoal", <$of>::SEND_GOAL_DESCRIPTION, <$of>::SEND_GOAL_HASH),
                ("GetResult", <$of>::GET_RESULT_DESCRIPTION, <$of>::GET_RESULT_HASH),
                ("FeedbackMessage", <$of>::FEEDBACK_MESSAGE_DESCRIPTION, <$of>::FEEDBACK_MESSAGE_HASH),
            ] {
                let description = description.expect("generated types have one");
                found.insert(format!("{}_{part}", $name), (description, hash));
            }
        };
        ($trait:ident, $of:ty, $name:literal) => {
            let description = <$of as $trait>::DESCRIPTION.expect("generated types have one");
            found.insert($name.to_owned(), (description, <$of as $trait>::TYPE_HASH));
        };
    }
    each_interface!(add);
    found
}

#[test]
fn a_description_has_the_hash_of_its_type() {
    let descriptions = descriptions();
    assert!(descriptions.len() > 220, "{} types", descriptions.len());
    for (name, (description, hash)) in descriptions {
        assert_eq!(description.name(), name);
        let (described, of_description) = describe(description, &name).unwrap();
        assert_eq!(described.type_description.type_name, name);
        // Types for Humble have no hash.
        assert_eq!(hash.unwrap_or(&of_description), of_description, "{name}");
    }
}

/// Checks the hashes of the events of all services, also by the files of the ROS 2 whose folder the variable
/// `ROSPIN_TEST_ROS` has.
#[test]
fn events_of_services_have_the_hashes_of_ros() {
    let mut checked = 0;
    let mut compared = 0;
    macro_rules! check {
        (ServiceInterface, $of:ty, $name:literal) => {
            let event = concat!($name, "_Event");
            let (_, described) = describe(<$of>::DESCRIPTION.unwrap(), event).unwrap();
            let hash = <$of>::EVENT_TYPE_HASH;
            // Types for Humble have no hash.
            assert_eq!(hash.unwrap_or(&described), described, "{event}");
            if let (Some(hash), Some(installed)) = (hash, installed_hash($name, event)) {
                assert_eq!(hash, installed, "{event}");
                compared += 1;
            }
            checked += 1;
        };
        ($trait:ident, $of:ty, $name:literal) => {};
    }
    each_interface!(check);
    assert!(checked > 30, "{checked} services");
    assert!(env::var_os("ROSPIN_TEST_ROS").is_none() || env!("DISTRIBUTION") == "humble" || compared > 20);
}

/// Returns the hash that ROS 2 has installed for `part` of the interface `name`; `None` if it is not there.
fn installed_hash(name: &str, part: &str) -> Option<String> {
    let file = Path::new(&env::var_os("ROSPIN_TEST_ROS")?).join("share").join(name).with_extension("json");
    let installed: serde_json::Value = serde_json::from_str(&fs::read_to_string(file).ok()?).unwrap();
    let hashes = installed["type_hashes"].as_array()?;
    let found = hashes.iter().find(|each| each["type_name"] == part)?;
    Some(found["hash_string"].as_str()?.to_owned())
}

#[test]
fn contained_types_are_described_too() {
    let (twist, _) = descriptions()["geometry_msgs/msg/TwistStamped"];
    let (_, header) = describe(twist, "std_msgs/msg/Header").unwrap();
    assert_eq!(rospin_msgs::std_msgs::msg::Header::TYPE_HASH.unwrap_or(&header), header);
    assert_eq!(describe(twist, "std_msgs/msg/String"), None);
}

/// Compares the types with those of the ROS 2 whose folder the variable `ROSPIN_TEST_ROS` has, their defaults included.
#[test]
#[expect(clippy::print_stderr, reason = "it says that the test is skipped")]
fn descriptions_are_those_that_ros_installs() {
    let Some(ros) = env::var_os("ROSPIN_TEST_ROS").filter(|_| env!("DISTRIBUTION") != "humble") else {
        assert!(env::var_os("ROSPIN_TEST_REQUIRE_ROS").is_none(), "ROSPIN_TEST_ROS must be the folder of a ROS 2");
        eprintln!("SKIPPED: ROSPIN_TEST_ROS is not the folder of a ROS 2");
        return;
    };
    let mut compared = 0;
    for (name, (description, _)) in descriptions() {
        let file = Path::new(&ros).join("share").join(&name).with_extension("json");
        let Ok(text) = fs::read_to_string(file) else { continue };
        let installed: serde_json::Value = serde_json::from_str(&text).unwrap();
        let mut installed = installed["type_description_msg"].clone();
        let (described, _) = describe(description, &name).unwrap();
        let mut described = serde_json::to_value(described).unwrap();
        for each in [&mut installed, &mut described] {
            each["referenced_type_descriptions"].as_array_mut().unwrap().sort_by_key(|of| of["type_name"].to_string());
        }
        assert_eq!(described, installed, "{name}");
        compared += 1;
    }
    assert!(compared > 100, "{compared} types");
}
