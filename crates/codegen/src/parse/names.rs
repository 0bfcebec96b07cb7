//! Rules of ROS 2 for names.

use crate::error::Fault;

/// Returns true for names that start with a lower-case ASCII letter, go on with such letters, digits and single
/// underscores, and do not end with an underscore.
fn is_snake(name: &str) -> bool {
    let is_known = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '_';
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.chars().all(is_known)
        && !name.contains("__")
        && !name.ends_with('_')
}

/// Refuses an invalid name of a package.
pub(crate) fn check_package(name: &str) -> Result<(), Fault> {
    if is_snake(name) {
        return Ok(());
    }
    Err(Fault::new(
        format!("`{name}` is not a valid name of a package"),
        "use lower-case letters, digits and single underscores, and begin with a letter",
    ))
}

/// Refuses an invalid name of a field.
pub(crate) fn check_field(name: &str) -> Result<(), Fault> {
    if is_snake(name) {
        return Ok(());
    }
    let fix = if name.starts_with(|first: char| first.is_ascii_uppercase()) {
        format!("call it `{}`; a constant would need `=` and a value", name.to_ascii_lowercase())
    } else {
        "use lower-case letters, digits and single underscores, and begin with a letter".to_owned()
    };
    Err(Fault::new(format!("`{name}` is not a valid name of a field"), fix))
}

/// Refuses an invalid name of a constant.
pub(super) fn check_constant(name: &str) -> Result<(), Fault> {
    let is_known = |char: char| char.is_ascii_uppercase() || char.is_ascii_digit() || char == '_';
    if name.starts_with(|first: char| first.is_ascii_uppercase()) && name.chars().all(is_known) && !name.ends_with('_')
    {
        return Ok(());
    }
    Err(Fault::new(
        format!("`{name}` is not a valid name of a constant; `=` makes it a constant"),
        "use upper-case letters, digits and underscores; write `type name default` for a field, without `=` in its \
         default",
    ))
}

/// Refuses an invalid name of a message, service or action.
pub(crate) fn check_interface(name: &str) -> Result<(), Fault> {
    if name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.chars().all(|char| char.is_ascii_alphanumeric())
    {
        return Ok(());
    }
    Err(Fault::new(
        format!("`{name}` is not a valid name of an interface"),
        "rename the file: letters and digits, the first one an upper-case letter",
    ))
}
