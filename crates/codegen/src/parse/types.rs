//! Parser of types.

use super::names;
use crate::error::Fault;
use crate::model::{Base, Shape, TypeRef};

/// Parses the type of a field: `int32`, `string<=10[<=3]`, `geometry_msgs/Point[4]`.
pub(super) fn field(package: &str, text: &str) -> Result<(Base, Shape), Fault> {
    let (of, shape) = match text.strip_suffix(']') {
        None => (text, Shape::One),
        Some(open) => {
            let (of, length) = open.rsplit_once('[').ok_or_else(|| {
                Fault::new(format!("`{text}` has a `]` without a `[`"), "write `type[]`, `type[4]` or `type[<=4]`")
            })?;
            (of, shape(text, length)?)
        }
    };
    Ok((base(package, of)?, shape))
}

/// Parses the type of a constant, which must be primitive.
pub(super) fn constant(text: &str) -> Result<Base, Fault> {
    let bounded = if text.contains("<=") { bounded(text)? } else { None };
    bounded.or_else(|| Base::primitive(text)).ok_or_else(|| {
        Fault::new(
            format!("a constant cannot be of type `{text}`"),
            "use a number, a `bool`, a `string` or a `wstring`",
        )
    })
}

/// Parses what is between the brackets of the type `text`.
fn shape(text: &str, length: &str) -> Result<Shape, Fault> {
    let number = length.strip_prefix("<=").unwrap_or(length);
    let is_number = |number: &&str| number.chars().all(|char| char.is_ascii_digit());
    let parsed = Some(number).filter(is_number).and_then(|number| number.parse().ok()).filter(|number| *number > 0);
    match (length, parsed) {
        ("", _) => Ok(Shape::Sequence { max: 0 }),
        (_, Some(max)) if length.starts_with("<=") => Ok(Shape::Sequence { max }),
        (_, Some(length)) => Ok(Shape::Array(length)),
        (_, None) => Err(Fault::new(
            format!("`{length}` is not a length of an array in `{text}`"),
            "write `type[]`, `type[4]` or `type[<=4]`, with a number above 0",
        )),
    }
}

/// Parses a string with a bound. `None` if the text is something else.
fn bounded(text: &str) -> Result<Option<Base>, Fault> {
    let Some((of, max)) = text.split_once("<=").filter(|(of, _)| matches!(*of, "string" | "wstring")) else {
        return Ok(None);
    };
    let max = max.parse().ok().filter(|max| *max > 0).ok_or_else(|| {
        Fault::new(
            format!("`{max}` is not a length of a string in `{text}`"),
            "write `string<=10`, with a number above 0",
        )
    })?;
    Ok(Some(if of == "string" { Base::String { max } } else { Base::WString { max } }))
}

/// Parses a type without brackets. A message without a package is one of `package`.
fn base(package: &str, text: &str) -> Result<Base, Fault> {
    if let Some(base) = bounded(text)?.or_else(|| Base::primitive(text)) {
        return Ok(base);
    }
    let mut parts = text.split('/');
    let (package, name) = match (parts.next(), parts.next(), parts.next(), parts.next()) {
        // The three-part form is the type's full name.
        (Some(package), Some("msg"), Some(name), None) | (Some(package), Some(name), None, None) => (package, name),
        (Some(name), None, ..) => (package, name),
        _ => return Err(unknown(text)),
    };
    if names::check_package(package).is_err() || names::check_interface(name).is_err() {
        return Err(unknown(text));
    }
    Ok(Base::Nested(TypeRef { package: package.to_owned(), name: name.to_owned() }))
}

/// Returns the error of a text that is not a type.
fn unknown(text: &str) -> Fault {
    let fix = match text {
        "time" => "write `builtin_interfaces/Time`, as ROS 2 calls it",
        "duration" => "write `builtin_interfaces/Duration`, as ROS 2 calls it",
        _ => "write a primitive type such as `int32` or `string`, or a message as `package/Name`",
    };
    Fault::new(format!("`{text}` is not a type"), fix)
}
