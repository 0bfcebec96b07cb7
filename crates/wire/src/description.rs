//! Descriptions of generated types, from which nodes answer `~/get_type_description`.
//!
//! A description takes 290 bytes a type and 45 a field, on average of all shipped ones, and the linker keeps only those
//! that a program's endpoints use. Structures in place of text would need relocations at start-up, and more room.
//! Source texts of definitions, 490 bytes a type, are left out: nothing can be decoded by them that the description
//! does not tell.

use std::collections::BTreeSet;

/// Description of a generated type: names and types of its fields, and those of all types that it contains.
///
/// It is text in the program's read-only memory, about 45 bytes for a field, and only for types that the program uses.
/// Nothing reads it before somebody asks.
#[derive(PartialEq, Eq, Debug)]
pub struct Description {
    text: &'static str,
    contained: &'static [Option<&'static Self>],
}

/// A type of a [`Description`].
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct DescribedType<'a> {
    /// Name of the type, such as `std_msgs/msg/Header`, or for a part of a service `std_srvs/srv/SetBool_Request`.
    pub name: &'a str,
    /// The fields, in order.
    pub fields: Vec<DescribedField<'a>>,
}

/// A field of a [`DescribedType`].
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct DescribedField<'a> {
    /// Name of the field.
    pub name: &'a str,
    /// Number of the field's type, as `type_description_interfaces/msg/FieldType` defines it.
    pub type_id: u8,
    /// Length of an array, or bound of a sequence; 0 without one.
    pub capacity: u64,
    /// Bound of a string; 0 without one.
    pub string_capacity: u64,
    /// Name of the type of the messages in the field; empty if there are none.
    pub nested_type_name: &'a str,
    /// Default as text, as Python writes it; empty without one.
    pub default_value: String,
}

impl Description {
    /// Returns a description. Generated code calls this.
    ///
    /// `text` has the described type first, and then those that only services and actions have. A type is a line with
    /// `:` and its name, and a line for each of its fields: name, number, two capacities, type of the messages or `-`,
    /// and the default, in which line feeds and backslashes are escaped. `contained` are the descriptions of the
    /// messages in it.
    #[doc(hidden)]
    #[must_use]
    pub const fn of(text: &'static str, contained: &'static [Option<&'static Self>]) -> Self {
        Self { text, contained }
    }

    /// Returns the name of the described type.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.text.lines().next().and_then(|line| line.strip_prefix(':')).unwrap_or_default()
    }

    /// Returns the described type first, and then all types that it contains, directly or not, each once. Allocates.
    #[must_use]
    pub fn types(&self) -> Vec<DescribedType<'static>> {
        let mut types = Vec::new();
        let mut names = BTreeSet::new();
        let mut next = vec![self];
        // Types contain each other in a finite depth, because the compiler has built their Rust types.
        while let Some(description) = next.pop() {
            if names.contains(description.name()) {
                continue;
            }
            for each in parse(description.text) {
                if names.insert(each.name) {
                    types.push(each);
                }
            }
            next.extend(description.contained.iter().flatten());
        }
        types
    }
}

/// Returns the types in the text of a description. Lines that are invalid are left out; generated text has none.
fn parse(text: &'static str) -> Vec<DescribedType<'static>> {
    let mut types: Vec<DescribedType<'static>> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix(':') {
            types.push(DescribedType { name, fields: Vec::new() });
        } else if let (Some(last), Some(field)) = (types.last_mut(), parse_field(line)) {
            last.fields.push(field);
        }
    }
    types
}

fn parse_field(line: &'static str) -> Option<DescribedField<'static>> {
    let mut words = line.splitn(6, ' ');
    let field = DescribedField {
        name: words.next()?,
        type_id: words.next()?.parse().ok()?,
        capacity: words.next()?.parse().ok()?,
        string_capacity: words.next()?.parse().ok()?,
        nested_type_name: words.next().filter(|name| *name != "-").unwrap_or_default(),
        default_value: unescape(words.next().unwrap_or_default()),
    };
    Some(field)
}

/// Replaces `\n` by a line feed, `\r` by a carriage return, and a backslash and any other character by that character.
fn unescape(text: &str) -> String {
    let mut plain = String::new();
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        if char != '\\' {
            plain.push(char);
            continue;
        }
        match chars.next() {
            Some('n') => plain.push('\n'),
            Some('r') => plain.push('\r'),
            other => plain.extend(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Description = Description::of(":b/msg/Time\nsec 6 0 0 -\nnanosec 8 0 0 -", &[]);
    const TEXT: &str = ":a/msg/A\nat 1 0 0 b/msg/Time\ntimes 49 3 0 b/msg/Time\nname 17 0 0 - a \\n\\\\n  b";
    const A: Description = Description::of(TEXT, &[Some(&TIME), None]);
    const B: Description = Description::of(":a/msg/B\na 1 0 0 a/msg/A\nat 1 0 0 b/msg/Time", &[Some(&TIME), Some(&A)]);

    #[test]
    fn a_type_comes_with_all_types_that_it_contains() {
        let types = B.types();
        assert_eq!(B.name(), "a/msg/B");
        assert_eq!(types.iter().map(|each| each.name).collect::<Vec<_>>(), ["a/msg/B", "a/msg/A", "b/msg/Time"]);
        let times = &types[1].fields[1];
        assert_eq!((times.name, times.type_id, times.capacity), ("times", 49, 3));
        assert_eq!(times.nested_type_name, "b/msg/Time");
        let name = &types[1].fields[2];
        assert_eq!((name.nested_type_name, name.default_value.as_str()), ("", "a \n\\n  b"));
    }
}
