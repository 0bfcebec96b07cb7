//! Traits that a generated type derives.

use crate::model::{Base, Field, Part, Shape};
use crate::packages::Packages;

/// The length of the longest array for which the standard library implements `Default`.
const DEFAULT_ARRAY_MAX: usize = 32;

/// The traits that can be derived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Traits {
    pub(super) copy: bool,
    /// True for `Eq` and `Hash`.
    pub(super) eq: bool,
    pub(super) default: bool,
}

/// Returns the traits that a message, or a part of a service or an action, can derive.
pub(super) fn of(packages: &Packages, part: &Part) -> Traits {
    let has_default = |field: &Field| {
        field.default.is_none() && !matches!(field.shape, Shape::Array(length) if length > DEFAULT_ARRAY_MAX)
    };
    Traits {
        copy: all(packages, part, &|field| {
            let is_text = matches!(field.base, Base::String { .. } | Base::WString { .. });
            !is_text && !matches!(field.shape, Shape::Sequence { .. })
        }),
        eq: all(packages, part, &|field| !field.base.is_float()),
        default: part.fields.iter().all(has_default),
    }
}

/// Returns true if a property holds for all fields, those of contained messages included.
fn all(packages: &Packages, part: &Part, holds: &dyn Fn(&Field) -> bool) -> bool {
    part.fields.iter().all(|field| {
        holds(field)
            && match &field.base {
                Base::Nested(reference) => {
                    packages.message(reference).is_some_and(|inner| all(packages, &inner.parts[0], holds))
                }
                _ => true,
            }
    })
}
