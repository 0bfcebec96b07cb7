//! Constants and defaults as Rust code.

use super::fields::element_type;
use crate::model::{Base, Field, Literal, Shape};

/// Returns the type of a constant.
pub(super) fn constant_type(base: &Base) -> &'static str {
    match base {
        Base::String { .. } | Base::WString { .. } => "&'static str",
        base => element_type(base),
    }
}

/// Returns the value of a constant.
pub(super) fn constant(base: &Base, value: &Literal) -> String {
    match value {
        Literal::Bool(value) => value.to_string(),
        Literal::Int(value) => value.to_string(),
        Literal::Float(value) => float(base, *value),
        Literal::Text(text) => format!("{text:?}"),
    }
}

/// Returns a floating-point number of the type `base`, as Rust code.
fn float(base: &Base, value: f64) -> String {
    let of = element_type(base);
    if value.is_nan() {
        format!("{of}::NAN")
    } else if value.is_infinite() {
        format!("{of}::{}INFINITY", if value < 0.0 { "NEG_" } else { "" })
    } else if *base == Base::Float32 {
        format!("{:?}", value as f32)
    } else {
        format!("{value:?}")
    }
}

/// Returns an element of a default.
fn element(base: &Base, value: &Literal) -> String {
    match value {
        Literal::Text(text) => format!("::std::string::String::from({text:?})"),
        value => constant(base, value),
    }
}

/// Returns the default of a field.
pub(super) fn default(field: &Field) -> String {
    let nothing = "::core::default::Default::default()";
    match (&field.default, field.shape) {
        (None, Shape::Array(_)) => format!("::core::array::from_fn(|_| {nothing})"),
        (None, _) => nothing.to_owned(),
        (Some(values), shape) => {
            let values: Vec<_> = values.iter().map(|value| element(&field.base, value)).collect();
            match shape {
                Shape::One => values.join(""),
                Shape::Array(_) => format!("[{}]", values.join(", ")),
                Shape::Sequence { .. } if field.is_blob() => {
                    format!("::core::convert::From::from([{}])", values.join(", "))
                }
                Shape::Sequence { .. } => format!("::std::vec![{}]", values.join(", ")),
            }
        }
    }
}
