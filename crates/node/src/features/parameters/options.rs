//! Options of a parameter's declaration.

use std::fmt;
use std::ops::{RangeFrom, RangeInclusive, RangeToInclusive};

use super::value::{ParameterKind, ParameterValue};
use super::variant::{ParameterVariant, Ranged};
use crate::interfaces::rcl_interfaces::{FloatingPointRange, IntegerRange, ParameterDescriptor, ParameterType};

/// Options of a parameter's declaration. A plain value is the default.
///
/// ```
/// use rospin::ParameterOptions;
///
/// let gain = ParameterOptions::new().default_value(1.0).range(0.0..=10.0).step(0.5).description("of the controller");
/// let port = ParameterOptions::<i64>::new().range(1024..).read_only();
/// # let _ = (gain, port);
/// ```
#[derive(Clone, Debug)]
pub struct ParameterOptions<T: ParameterVariant> {
    pub(super) default: Option<T>,
    pub(super) spec: Spec,
}

/// The options without the Rust type.
#[derive(Clone, Debug, Default)]
pub(super) struct Spec {
    pub(super) description: String,
    pub(super) additional_constraints: String,
    pub(super) read_only: bool,
    pub(super) ignore_override: bool,
    pub(super) range: Option<RangeSpec>,
}

/// Range of a parameter, by type, ends included. A step of zero allows all values of the range.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum RangeSpec {
    Integer { from: i64, to: i64, step: u64 },
    Double { from: f64, to: f64, step: f64 },
}

/// Formats the range for error messages.
impl fmt::Display for RangeSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer { from, to, step: 0 } => write!(f, "{from} to {to}"),
            Self::Integer { from, to, step } => write!(f, "{from} to {to} in steps of {step}"),
            Self::Double { from, to, step: 0.0 } => write!(f, "{from:?} to {to:?}"),
            Self::Double { from, to, step } => write!(f, "{from:?} to {to:?} in steps of {step:?}"),
        }
    }
}

impl<T: ParameterVariant> ParameterOptions<T> {
    /// Returns the options of a parameter without default, range or description.
    #[must_use]
    pub fn new() -> Self {
        Self { default: None, spec: Spec::default() }
    }

    /// Sets the initial value of the parameter, unless it is [overridden](crate::NodeOptions::parameter_override).
    #[must_use]
    pub fn default_value(mut self, value: T) -> Self {
        self.default = Some(value);
        self
    }

    /// Sets the description, for people.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.spec.description = text.into();
        self
    }

    /// Describes constraints besides the range, for people. An [on-set
    /// callback](crate::Node::add_on_set_parameters_callback) must check them.
    #[must_use]
    pub fn additional_constraints(mut self, text: impl Into<String>) -> Self {
        self.spec.additional_constraints = text.into();
        self
    }

    /// Makes the parameter keep its initial value.
    #[must_use]
    pub const fn read_only(mut self) -> Self {
        self.spec.read_only = true;
        self
    }

    /// Makes the parameter start with its default, even if it has an override.
    #[must_use]
    pub const fn ignore_override(mut self) -> Self {
        self.spec.ignore_override = true;
        self
    }

    /// Sets the range of allowed values, ends included: `0.0..=1.0`, `1..` or `..=100`.
    #[must_use]
    pub fn range(mut self, range: impl Into<ParameterRange<T>>) -> Self
    where
        T: Ranged,
    {
        let ParameterRange { from, to } = range.into();
        self.spec.range = Some(T::range(self.spec.range, from, to));
        self
    }

    /// Sets the step between allowed values. Allowed are the start of the range plus a multiple of the step, and the
    /// end of the range. A floating-point parameter with a step needs a [range](Self::range) with a start.
    #[must_use]
    pub fn step(mut self, step: T::Step) -> Self
    where
        T: Ranged,
    {
        T::step(self.spec.range.get_or_insert_with(|| T::range(None, T::LEAST, T::GREATEST)), step);
        self
    }
}

impl<T: ParameterVariant> Default for ParameterOptions<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: ParameterVariant> From<T> for ParameterOptions<T> {
    fn from(default: T) -> Self {
        Self { default: Some(default), spec: Spec::default() }
    }
}

impl From<&str> for ParameterOptions<String> {
    fn from(default: &str) -> Self {
        Self::from(default.to_owned())
    }
}

impl From<Vec<&str>> for ParameterOptions<Vec<String>> {
    fn from(default: Vec<&str>) -> Self {
        Self::from(default.into_iter().map(str::to_owned).collect::<Vec<_>>())
    }
}

impl<const N: usize> From<[&str; N]> for ParameterOptions<Vec<String>> {
    fn from(default: [&str; N]) -> Self {
        Self::from(default.to_vec())
    }
}

impl<T, const N: usize> From<[T; N]> for ParameterOptions<Vec<T>>
where
    Vec<T>: ParameterVariant,
{
    fn from(default: [T; N]) -> Self {
        Self::from(Vec::from(default))
    }
}

/// Range of a parameter, ends included. Converted from a range of Rust.
#[derive(Clone, Copy, Debug)]
pub struct ParameterRange<T: Ranged> {
    from: T::End,
    to: T::End,
}

impl<T: Ranged> From<RangeInclusive<T::End>> for ParameterRange<T> {
    fn from(range: RangeInclusive<T::End>) -> Self {
        Self { from: *range.start(), to: *range.end() }
    }
}

impl<T: Ranged> From<RangeFrom<T::End>> for ParameterRange<T> {
    fn from(range: RangeFrom<T::End>) -> Self {
        Self { from: range.start, to: T::GREATEST }
    }
}

impl<T: Ranged> From<RangeToInclusive<T::End>> for ParameterRange<T> {
    fn from(range: RangeToInclusive<T::End>) -> Self {
        Self { from: T::LEAST, to: range.end }
    }
}

impl RangeSpec {
    /// Checks that the range makes sense. The error says in words what is wrong with it.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        match *self {
            Self::Integer { from, to, .. } if from > to => Err("it ends before it begins"),
            Self::Integer { .. } => Ok(()),
            Self::Double { from, to, step } if from.is_nan() || to.is_nan() || step.is_nan() => {
                Err("a part of it is not a number")
            }
            Self::Double { from, to, .. } if from > to => Err("it ends before it begins"),
            Self::Double { step, .. } if step < 0.0 || step.is_infinite() => {
                Err("its step is negative or infinite; use 0 for none")
            }
            Self::Double { from, step, .. } if step != 0.0 && from.is_infinite() => {
                Err("a step needs a beginning to start from")
            }
            Self::Double { .. } => Ok(()),
        }
    }

    /// Returns true if the value is in the range. Values of another type than the range always are.
    pub(super) fn contains(&self, value: &ParameterValue) -> bool {
        match (*self, value) {
            (Self::Integer { from, to, step }, ParameterValue::Integer(value)) => {
                let is_end = *value == from || *value == to;
                // The distance of two `i64` may exceed an `i64`, but not a `u64`.
                let on_step = || step == 0 || value.wrapping_sub(from).cast_unsigned() % step == 0;
                is_end || ((from..=to).contains(value) && on_step())
            }
            (Self::Double { from, to, step }, ParameterValue::Double(value)) => {
                if !value.is_finite() {
                    return *value == from || *value == to;
                }
                let is_end = nearly_equal(*value, from) || nearly_equal(*value, to);
                let on_step = || {
                    let steps = ((value - from) / step).round();
                    step == 0.0 || nearly_equal(*value, steps.mul_add(step, from))
                };
                is_end || ((from..=to).contains(value) && on_step())
            }
            _ => true,
        }
    }
}

/// Returns true if two numbers are equal up to rounding. The tolerance is that of rclcpp.
fn nearly_equal(a: f64, b: f64) -> bool {
    a == b || (b.is_finite() && (a - b).abs() <= f64::EPSILON * (a + b).abs() * 100.0)
}

impl Spec {
    /// Returns the description for other nodes. `kind` is `None` for a parameter of dynamic type, whose value has the
    /// type number `code` now.
    pub(super) fn descriptor(&self, name: &str, kind: Option<ParameterKind>, code: u8) -> ParameterDescriptor {
        let mut descriptor = ParameterDescriptor {
            name: name.to_owned(),
            r#type: kind.map_or(code, ParameterKind::code),
            description: self.description.clone(),
            additional_constraints: self.additional_constraints.clone(),
            read_only: self.read_only,
            dynamic_typing: kind.is_none(),
            ..ParameterDescriptor::default()
        };
        match self.range {
            Some(RangeSpec::Integer { from, to, step }) => {
                descriptor.integer_range.push(IntegerRange { from_value: from, to_value: to, step });
            }
            Some(RangeSpec::Double { from, to, step }) => {
                descriptor.floating_point_range.push(FloatingPointRange { from_value: from, to_value: to, step });
            }
            None => {}
        }
        descriptor
    }

    /// Returns the description of a parameter that is not declared.
    pub(super) fn unknown(name: &str) -> ParameterDescriptor {
        ParameterDescriptor {
            name: name.to_owned(),
            r#type: ParameterType::PARAMETER_NOT_SET,
            ..ParameterDescriptor::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integers(from: i64, to: i64, step: u64) -> impl Fn(i64) -> bool {
        move |value| RangeSpec::Integer { from, to, step }.contains(&value.into())
    }

    fn doubles(from: f64, to: f64, step: f64) -> impl Fn(f64) -> bool {
        move |value| RangeSpec::Double { from, to, step }.contains(&value.into())
    }

    #[test]
    fn steps_count_from_the_beginning_and_both_ends_are_allowed() {
        let allowed = integers(1, 10, 4);
        assert_eq!((-1..13).filter(|value| allowed(*value)).collect::<Vec<_>>(), [1, 5, 9, 10]);
        let all = integers(-2, 2, 0);
        assert_eq!((-4..5).filter(|value| all(*value)).count(), 5);
        let allowed = doubles(0.1, 1.0, 0.3);
        for (value, expected) in
            [(0.1, true), (0.4, true), (0.7, true), (1.0, true), (0.5, false), (0.0, false), (1.3, false)]
        {
            assert_eq!(allowed(value), expected, "{value}");
        }
        // The comparison allows for rounding: a tenth has no exact binary representation.
        assert!((0..=1000).all(|n| doubles(0.0, 100.0, 0.1)(f64::from(n) * 0.1)));
    }

    #[test]
    fn the_widest_ranges_do_not_overflow() {
        let allowed = integers(i64::MIN, i64::MAX, u64::MAX);
        assert!(allowed(i64::MIN) && allowed(i64::MAX) && !allowed(0));
        let allowed = doubles(f64::MIN, f64::MAX, 1.0);
        assert!(allowed(f64::MIN) && allowed(f64::MAX));
    }

    #[test]
    fn nan_is_in_no_range_and_infinity_only_below_an_infinite_bound() {
        assert!(!doubles(0.0, 1.0, 0.0)(f64::NAN));
        assert!(!doubles(f64::NEG_INFINITY, f64::INFINITY, 0.0)(f64::NAN));
        assert!(!doubles(0.0, 1.0, 0.0)(f64::INFINITY));
        assert!(doubles(0.0, f64::INFINITY, 0.5)(f64::INFINITY));
        assert!(doubles(0.0, f64::INFINITY, 0.5)(1e6) && !doubles(0.0, f64::INFINITY, 0.5)(0.7));
    }

    #[test]
    fn ranges_that_make_no_sense_are_refused() {
        let nonsense = [
            RangeSpec::Integer { from: 1, to: 0, step: 0 },
            RangeSpec::Double { from: 1.0, to: 0.0, step: 0.0 },
            RangeSpec::Double { from: f64::NAN, to: 0.0, step: 0.0 },
            RangeSpec::Double { from: 0.0, to: 1.0, step: -1.0 },
            RangeSpec::Double { from: f64::NEG_INFINITY, to: 1.0, step: 1.0 },
        ];
        for range in nonsense {
            assert!(range.check().is_err(), "{range:?}");
        }
        assert_eq!(RangeSpec::Double { from: 0.0, to: 0.0, step: 0.0 }.check(), Ok(()));
    }
}
