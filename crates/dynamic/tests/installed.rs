//! Installed types, and fields of their messages by path.

use std::path::{Path, PathBuf};

use rospin_dynamic::{
    DynamicMessage, FindTypeError, GetFieldError, MessageType, MessageTypeError, PathError, SetFieldError, Value,
    field_type as id,
};

fn install() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/install")
}

fn find(name: &str) -> MessageType {
    MessageType::find_in(name, &[install()]).unwrap()
}

/// Returns the type of an installed description in which one text was replaced.
fn json(from: &str, to: &str) -> Result<MessageType, MessageTypeError> {
    let text = std::fs::read_to_string(install().join("share/geometry_msgs/msg/Twist.json")).unwrap();
    assert!(text.contains(from));
    MessageType::from_json(&text.replace(from, to))
}

#[test]
fn types_are_found_where_they_are_installed() {
    let twist = find("geometry_msgs/msg/Twist");
    assert_eq!(twist.fields().iter().map(|field| field.name()).collect::<Vec<_>>(), ["linear", "angular"]);
    assert_eq!(MessageType::from_description(&twist.description()), Ok(twist));
    let find = |name: &str, places: &[PathBuf]| MessageType::find_in(name, places).unwrap_err();
    let error = find("geometry_msgs/msg/Twirl", &["/nowhere".into(), install()]);
    assert!(error.to_string().contains("no `share/geometry_msgs/msg/Twirl.json` below /nowhere, "), "{error}");
    assert!(matches!(find("Twist", &[]), FindTypeError::Name(_)));
    assert!(matches!(find("std_srvs/srv/Empty", &[install()]), FindTypeError::NoMessage { .. }));
}

#[test]
fn mistakes_in_an_installed_type_are_told() {
    let error = json("type_description_msg", "something_else").unwrap_err();
    assert!(matches!(&error, MessageTypeError::Json { reason } if reason.contains("type_description_msg")), "{error}");
    let error = json("\"type_id\": 11", "\"type_id\": 10").unwrap_err();
    let hash = "RIHS01_9c45bf16fe0983d80e3cfe750d6835843d265a9a6c46bd2e609fcddde6fb8d2a";
    assert!(matches!(&error, MessageTypeError::Hash { expected, .. } if expected == hash), "{error}");
    let error = json("\"type_id\": 11", "\"type_id\": 18").unwrap_err();
    assert!(error.to_string().contains("is of wide characters, which is not supported"), "{error}");
    // Defaults do not count for the hash.
    let slow = json("\"default_value\": \"\"", "\"default_value\": \"0.25\"").unwrap();
    assert_eq!(DynamicMessage::new(&slow).get::<f64>("angular.y"), Ok(0.25));
    assert_eq!(slow, find("geometry_msgs/msg/Twist"));
}

#[test]
fn fields_are_found_by_path() {
    let mut description = find("geometry_msgs/msg/Twist").description();
    let fields = &mut description.type_description.fields;
    let like_first = |name: &str, type_id| {
        let mut field = fields[0].clone();
        name.clone_into(&mut field.name);
        field.r#type.type_id = type_id;
        field
    };
    let many = like_first("path", id::NESTED_TYPE + id::UNBOUNDED_SEQUENCE);
    let mut codes = like_first("codes", id::UINT8 + id::BOUNDED_SEQUENCE);
    codes.r#type.capacity = 2;
    fields.extend([many, codes]);
    let of = MessageType::from_description(&description).unwrap();
    let mut message = DynamicMessage::new(&of);
    let mut point = message.get::<DynamicMessage>("linear").unwrap();
    point.set("y", 2.5_f32).unwrap();
    message.set("path", vec![point.clone(), point.clone()]).unwrap();
    message.set("path[1].z", -7).unwrap();
    message.set("codes", [1, 255]).unwrap();
    message.set("codes[0]", 9).unwrap();
    message.set("angular", point).unwrap();
    assert_eq!(message.get::<f64>("path[1].y"), Ok(2.5));
    assert_eq!(message.get::<f64>("path[1].z"), Ok(-7.0));
    assert_eq!(message.get::<f64>("angular.y"), Ok(2.5));
    assert_eq!(message.get::<Vec<u8>>("codes"), Ok(vec![9, 255]));
    assert_eq!(message.get::<Value>("codes[1]"), Ok(Value::UInt8(255)));
    assert_eq!(message.fields().map(|(name, _)| name).collect::<Vec<_>>(), ["linear", "angular", "path", "codes"]);

    let before = message.clone();
    let path = |error| match error {
        SetFieldError::Path(error) => error,
        other => panic!("{other}"),
    };
    let no_field = path(message.set("speed", 1).unwrap_err());
    assert!(no_field.to_string().ends_with("no field `speed`; it has linear, angular, path, codes"), "{no_field}");
    assert!(matches!(path(message.set("linear.x.y", 1).unwrap_err()), PathError::NoMessage { .. }));
    assert!(matches!(path(message.set("path.x", 1).unwrap_err()), PathError::NoMessage { .. }));
    assert!(matches!(path(message.set("linear[0]", 1).unwrap_err()), PathError::NoElements { .. }));
    assert!(matches!(path(message.set("path[2].x", 1).unwrap_err()), PathError::OutOfRange { length: 2, .. }));
    assert!(matches!(path(message.set("linear..x", 1).unwrap_err()), PathError::Malformed { .. }));
    let error = message.set("codes", [1, 2, 3]).unwrap_err();
    assert_eq!(error.to_string(), "`codes` is uint8[<=2], which cannot have a length of 3");
    let error = message.set("codes[0]", 256).unwrap_err();
    assert_eq!(error.to_string(), "`codes[0]` is uint8, which cannot hold 256");
    let error = message.set("linear", DynamicMessage::new(&of)).unwrap_err();
    assert_eq!(error.to_string(), "`linear` is geometry_msgs/msg/Vector3, which cannot hold geometry_msgs/msg/Twist");
    let error = message.get::<String>("codes").unwrap_err();
    assert!(
        matches!(&error, GetFieldError::WrongType { expected: "string", found, .. } if found == "uint8[]"),
        "{error}"
    );
    assert_eq!(message, before);
}
