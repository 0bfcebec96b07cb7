//! Definitions of message types as bags have them: the text of a `.msg` file, followed by those of the types in it.
//!
//! Installed packages have the texts with their comments and constants. A node tells only names and types of fields,
//! which is enough to decode messages.

use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use rospin::dynamic::MessageType;
use rospin_node::interfaces::type_description_interfaces::{FieldType, IndividualTypeDescription};

/// Line between the texts of two types.
const RULE: &str = "================================================================================";

/// Number of types that a definition may have.
const TYPES_MAX: usize = 1000;

/// Returns a type's name as `.msg` files have it: `std_msgs/Header`.
fn short(name: &str) -> String {
    name.replacen("/msg/", "/", 1)
}

/// Appends a text, with the line that says of which type it is, unless it is the first.
fn append(definition: &mut String, name: &str, text: &str) {
    if !definition.is_empty() {
        let _ = write!(definition, "\n{RULE}\nMSG: {}\n", short(name));
    }
    *definition += text;
    if !text.ends_with('\n') {
        definition.push('\n');
    }
}

/// Returns the definition of a type from its fields.
pub(crate) fn of_type(message_type: &MessageType) -> String {
    let description = message_type.description();
    let mut definition = String::new();
    append(&mut definition, message_type.name(), &fields(&description.type_description));
    for referenced in &description.referenced_type_descriptions {
        append(&mut definition, &referenced.type_name, &fields(referenced));
    }
    definition
}

fn fields(described: &IndividualTypeDescription) -> String {
    let mut text = String::new();
    for field in &described.fields {
        let _ = writeln!(text, "{} {}", type_text(&field.r#type), field.name);
    }
    text
}

/// Returns the type of a field as a `.msg` file has it. The numbers are those of `type_description_interfaces`.
fn type_text(of: &FieldType) -> String {
    let (kind, shape) = ((of.type_id.wrapping_sub(1)) % 48 + 1, of.type_id.saturating_sub(1) / 48);
    let name = match kind {
        1 => short(&of.nested_type_name),
        2 => "int8".to_owned(),
        3 => "uint8".to_owned(),
        4 => "int16".to_owned(),
        5 => "uint16".to_owned(),
        6 => "int32".to_owned(),
        7 => "uint32".to_owned(),
        8 => "int64".to_owned(),
        9 => "uint64".to_owned(),
        10 => "float32".to_owned(),
        11 => "float64".to_owned(),
        13 => "char".to_owned(),
        15 => "bool".to_owned(),
        16 => "byte".to_owned(),
        18 | 20 | 22 => "wstring".to_owned(),
        _ => "string".to_owned(),
    };
    let bound = if matches!(kind, 21 | 22) { format!("<={}", of.string_capacity) } else { String::new() };
    match shape {
        0 => format!("{name}{bound}"),
        1 => format!("{name}{bound}[{}]", of.capacity),
        2 => format!("{name}{bound}[<={}]", of.capacity),
        _ => format!("{name}{bound}[]"),
    }
}

/// Returns the definition of a type from the `.msg` files that are installed in these places, if they have the type
/// with that hash. `None` if they do not.
pub(crate) fn installed(name: &str, hash: Option<&str>, places: &[PathBuf]) -> Option<String> {
    if let Some(hash) = hash {
        let found = MessageType::find_in(name, places).ok()?;
        if found.hash() != hash {
            return None;
        }
        return Some(from_files(name, places).unwrap_or_else(|| of_type(&found)));
    }
    from_files(name, places)
}

fn from_files(name: &str, places: &[PathBuf]) -> Option<String> {
    let mut definition = String::new();
    let mut seen = BTreeSet::from([name.to_owned()]);
    let mut next = VecDeque::from([name.to_owned()]);
    while let Some(name) = next.pop_front() {
        let (package, base) = name.split_once("/msg/")?;
        let file = format!("share/{package}/msg/{base}.msg");
        let text = places.iter().find_map(|place| fs::read_to_string(place.join(&file)).ok())?;
        for referenced in referenced(&text, package) {
            if seen.len() < TYPES_MAX && seen.insert(referenced.clone()) {
                next.push_back(referenced);
            }
        }
        append(&mut definition, &name, &text);
    }
    Some(definition)
}

/// Returns the names of the types that the text of a `.msg` file of that package refers to.
fn referenced(text: &str, package: &str) -> Vec<String> {
    const PRIMITIVE: [&str; 15] = [
        "bool", "byte", "char", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64",
        "uint64", "string", "wstring",
    ];
    let mut names = Vec::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default();
        let Some(word) = line.split_whitespace().next() else { continue };
        let name = word.split(['[', '<']).next().unwrap_or_default();
        if PRIMITIVE.contains(&name) || !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            continue;
        }
        names.push(match name.split_once('/') {
            None => format!("{package}/msg/{name}"),
            Some((_, base)) if base.contains('/') => name.to_owned(),
            Some((package, base)) => format!("{package}/msg/{base}"),
        });
    }
    names
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn install() -> Vec<PathBuf> {
        vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../dynamic/tests/install")]
    }

    #[test]
    fn definition_has_the_types_in_it() {
        let twist = MessageType::find_in("geometry_msgs/msg/Twist", &install()).unwrap();
        let expected = format!(
            "geometry_msgs/Vector3 linear\ngeometry_msgs/Vector3 angular\n\n{RULE}\nMSG: geometry_msgs/Vector3\n\
             float64 x\nfloat64 y\nfloat64 z\n"
        );
        assert_eq!(of_type(&twist), expected);
        // Without `.msg` files, the description is used; with another hash, nothing.
        assert_eq!(installed(twist.name(), Some(twist.hash()), &install()).as_ref(), Some(&expected));
        assert_eq!(installed(twist.name(), Some("RIHS01_0"), &install()), None);
    }

    #[test]
    fn files_refer_to_types_of_their_own_package_and_of_others() {
        let text = "# Header first\nstd_msgs/Header header\nuint8 KIND=3 # Point no\nPoint[<=3] points\nstring<=5 name \"a\"\n\n";
        assert_eq!(referenced(text, "shapes"), ["std_msgs/msg/Header", "shapes/msg/Point"]);
    }

    #[test]
    fn fields_have_the_texts_of_their_types() {
        let text = |type_id, capacity, string_capacity| {
            type_text(&FieldType { type_id, capacity, string_capacity, nested_type_name: "a/msg/B".to_owned() })
        };
        assert_eq!(text(1, 0, 0), "a/B");
        assert_eq!(text(3 + 48, 4, 0), "uint8[4]");
        assert_eq!(text(16 + 144, 0, 0), "byte[]");
        assert_eq!(text(21 + 96, 5, 9), "string<=9[<=5]");
        assert_eq!(text(48 + 22, 2, 3), "wstring<=3[2]");
        assert_eq!(text(48, 0, 0), "string");
    }
}
