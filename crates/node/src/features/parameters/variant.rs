//! Rust types of parameters.

use super::error::WrongParameterType;
use super::options::RangeSpec;
use super::value::{ParameterKind, ParameterValue};

/// A Rust type of parameters: `bool`, `i64`, `f64`, `String`, and `Vec` of these or of `u8`.
///
/// - An [`Option`] of one is a parameter that may have no value.
/// - A [`ParameterValue`] is a parameter of dynamic type: it accepts values of any type.
#[diagnostic::on_unimplemented(
    message = "a parameter cannot be a `{Self}`",
    label = "not a type of a parameter",
    note = "parameters are `bool`, `i64`, `f64`, `String`, `Vec` of these or of `u8`, `Option` of any, or `ParameterValue`",
    note = "convert other numbers and texts: `i64::from(number)`, `f64::from(number)`, `text.to_owned()`",
    note = "a field that is a struct with `#[derive(Parameters)]` of its own needs `#[parameter(nested)]`"
)]
pub trait ParameterVariant: sealed::Variant + Clone + Send + Sync + 'static {}

pub(crate) mod sealed {
    use super::{ParameterKind, ParameterValue};

    pub trait Variant: Sized {
        /// Type of the parameter, or `None` if it is dynamic.
        const KIND: Option<ParameterKind>;
        /// True if the parameter may have no value.
        const OPTIONAL: bool;

        fn into_value(self) -> ParameterValue;

        /// Converts `value`; returns `None` if it has another type.
        fn from_value(value: ParameterValue) -> Option<Self>;

        /// Converts from a word, for types that fit into one, which are read without a lock. Returns `None` for all
        /// other types.
        fn from_bits(_bits: u64) -> Option<Self> {
            None
        }
    }
}

/// Returns the word of a value, for types that fit into one, and zero otherwise.
pub(super) fn bits_of(value: &ParameterValue) -> u64 {
    match value {
        ParameterValue::Bool(value) => u64::from(*value),
        ParameterValue::Integer(value) => value.cast_unsigned(),
        ParameterValue::Double(value) => value.to_bits(),
        _ => 0,
    }
}

/// Implements [`ParameterVariant`] for each `$type`, whose variant of [`ParameterValue`] is `$kind`, and for the
/// [`Option`] of it. `$from_bits` converts a word to the type, if its values fit into one.
macro_rules! variants {
    ($($type:ty => $kind:ident $(, $from_bits:expr)?;)*) => {$(
        impl ParameterVariant for $type {}

        impl sealed::Variant for $type {
            const KIND: Option<ParameterKind> = Some(ParameterKind::$kind);
            const OPTIONAL: bool = false;

            fn into_value(self) -> ParameterValue {
                ParameterValue::$kind(self)
            }

            fn from_value(value: ParameterValue) -> Option<Self> {
                if let ParameterValue::$kind(value) = value { Some(value) } else { None }
            }

            $(fn from_bits(bits: u64) -> Option<Self> {
                Some($from_bits(bits))
            })?
        }

        impl From<$type> for ParameterValue {
            fn from(value: $type) -> Self {
                Self::$kind(value)
            }
        }

        impl TryFrom<ParameterValue> for $type {
            type Error = WrongParameterType;

            /// Takes the value out. Fails if it is of another type, or not set.
            fn try_from(value: ParameterValue) -> Result<Self, WrongParameterType> {
                match value {
                    ParameterValue::$kind(value) => Ok(value),
                    other => Err(WrongParameterType { expected: ParameterKind::$kind, found: other.kind() }),
                }
            }
        }

        impl ParameterVariant for Option<$type> {}

        impl sealed::Variant for Option<$type> {
            const KIND: Option<ParameterKind> = Some(ParameterKind::$kind);
            const OPTIONAL: bool = true;

            fn into_value(self) -> ParameterValue {
                self.map_or(ParameterValue::NotSet, ParameterValue::$kind)
            }

            fn from_value(value: ParameterValue) -> Option<Self> {
                match value {
                    ParameterValue::NotSet => Some(None),
                    ParameterValue::$kind(value) => Some(Some(value)),
                    _ => None,
                }
            }
        }
    )*};
}

variants! {
    bool => Bool, |bits| bits != 0;
    i64 => Integer, u64::cast_signed;
    f64 => Double, f64::from_bits;
    String => String;
    Vec<u8> => ByteArray;
    Vec<bool> => BoolArray;
    Vec<i64> => IntegerArray;
    Vec<f64> => DoubleArray;
    Vec<String> => StringArray;
}

impl From<&str> for ParameterValue {
    fn from(value: &str) -> Self {
        Self::String(value.to_owned())
    }
}

impl From<Vec<&str>> for ParameterValue {
    fn from(values: Vec<&str>) -> Self {
        Self::StringArray(values.into_iter().map(str::to_owned).collect())
    }
}

impl<T, const N: usize> From<[T; N]> for ParameterValue
where
    Vec<T>: Into<Self>,
{
    fn from(values: [T; N]) -> Self {
        Vec::from(values).into()
    }
}

impl ParameterVariant for ParameterValue {}

impl sealed::Variant for ParameterValue {
    const KIND: Option<ParameterKind> = None;
    const OPTIONAL: bool = true;

    fn into_value(self) -> ParameterValue {
        self
    }

    fn from_value(value: ParameterValue) -> Option<Self> {
        Some(value)
    }
}

/// A type with an order, whose parameters can have a range: `i64` and `f64`, and `Option` of them.
#[diagnostic::on_unimplemented(
    message = "a parameter that is a `{Self}` has no range",
    label = "neither `i64` nor `f64`"
)]
pub trait Ranged: ParameterVariant + sealed_range::Ranged {}

pub(crate) mod sealed_range {
    use super::RangeSpec;

    pub trait Ranged {
        /// Type of the range's ends.
        type End: Copy;
        /// Type of the step.
        type Step: Copy;
        const LEAST: Self::End;
        const GREATEST: Self::End;

        /// Returns a range with these ends and the step of the old one.
        fn range(old: Option<RangeSpec>, from: Self::End, to: Self::End) -> RangeSpec;
        /// Sets the step of a range.
        fn step(range: &mut RangeSpec, step: Self::Step);
    }
}

/// Implements [`Ranged`] for each `$type`: the types of the ends and the step of a range, the variant `$kind` of
/// [`RangeSpec`], and the ends of a range without ends.
macro_rules! ranged {
    ($($type:ty, $end:ty, $step:ty, $kind:ident, $least:expr, $greatest:expr;)*) => {$(
        impl Ranged for $type {}

        impl sealed_range::Ranged for $type {
            type End = $end;
            type Step = $step;
            const LEAST: $end = $least;
            const GREATEST: $end = $greatest;

            fn range(old: Option<RangeSpec>, from: $end, to: $end) -> RangeSpec {
                let step = if let Some(RangeSpec::$kind { step, .. }) = old { step } else { Default::default() };
                RangeSpec::$kind { from, to, step }
            }

            fn step(range: &mut RangeSpec, new: $step) {
                if let RangeSpec::$kind { step, .. } = range {
                    *step = new;
                }
            }
        }
    )*};
}

ranged! {
    i64, i64, u64, Integer, i64::MIN, i64::MAX;
    Option<i64>, i64, u64, Integer, i64::MIN, i64::MAX;
    f64, f64, f64, Double, f64::NEG_INFINITY, f64::INFINITY;
    Option<f64>, f64, f64, Double, f64::NEG_INFINITY, f64::INFINITY;
}
