//! Types and values of scalars, by the rules of rcl. These are YAML 1.1 in part, and C's functions `strtoll` and
//! `strtod`.

use crate::features::parameters::value::ParameterValue;
use rospin_dynamic::tree::Scalar;

/// Returns the value of a scalar.
pub(super) fn value_of(scalar: &Scalar) -> ParameterValue {
    let text = scalar.text.as_str();
    if scalar.is_tagged_text || scalar.is_quoted {
        return text.into();
    }
    match text {
        "Y" | "y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => return true.into(),
        "N" | "n" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => return false.into(),
        _ => {}
    }
    if let Some(integer) = integer(text) {
        return integer.into();
    }
    double(text).map_or_else(|| text.into(), ParameterValue::Double)
}

/// Returns true if a scalar is written as YAML's null.
pub(super) fn is_null(scalar: &Scalar) -> bool {
    !scalar.is_quoted && !scalar.is_tagged_text && matches!(scalar.text.as_str(), "null" | "Null" | "NULL" | "~")
}

/// Splits the sign from a number.
fn sign_of(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// Returns the digits behind `0x`.
fn hexadecimal(text: &str) -> Option<&str> {
    text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))
}

/// Returns an integer of 64 bits: hexadecimal with `0x`, octal with `0`, decimal otherwise.
fn integer(text: &str) -> Option<i64> {
    let (is_negative, rest) = sign_of(text);
    let (digits, radix) = match hexadecimal(rest) {
        Some(digits) => (digits, 16),
        None if rest.len() > 1 && rest.starts_with('0') => (&rest[1..], 8),
        None => (rest, 10),
    };
    // A second sign would be taken otherwise.
    if !digits.starts_with(|first: char| first.is_digit(radix)) {
        return None;
    }
    let value = i128::from_str_radix(digits, radix).ok()?;
    i64::try_from(if is_negative { -value } else { value }).ok()
}

/// Returns a floating-point number. `None` for a text that is none, and, as `strtod` reports it, for a number that is
/// too large or too small.
fn double(text: &str) -> Option<f64> {
    if let ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" | ".nan" | ".NaN" | ".NAN" | "-.inf" | "-.Inf"
    | "-.INF" = text
    {
        return text.replace('.', "").parse().ok();
    }
    let (is_negative, rest) = sign_of(text);
    if let Some(digits) = hexadecimal(rest) {
        let value = hexadecimal_double(digits)?;
        return Some(if is_negative { -value } else { value });
    }
    let lower = rest.to_ascii_lowercase();
    if let Some(inner) = lower.strip_prefix("nan(").and_then(|rest| rest.strip_suffix(')')) {
        let is_valid = inner.chars().all(|char| char.is_ascii_alphanumeric() || char == '_');
        return if is_valid { Some(f64::NAN) } else { None };
    }
    let value: f64 = text.parse().ok()?;
    if matches!(lower.as_str(), "inf" | "infinity" | "nan") {
        return Some(value);
    }
    let mantissa = lower.split('e').next().unwrap_or_default();
    let is_zero = !mantissa.contains(|char: char| char.is_ascii_digit() && char != '0');
    if is_zero || value.is_normal() { Some(value) } else { None }
}

/// Returns the number that hexadecimal digits with a point, and an exponent of two behind `p`, stand for.
fn hexadecimal_double(text: &str) -> Option<f64> {
    let (mantissa, exponent) = match text.split_once(['p', 'P']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value = 0.0_f64;
    for char in whole.chars().chain(fraction.chars()) {
        value = value.mul_add(16.0, f64::from(char.to_digit(16)?));
    }
    let places = i32::try_from(fraction.len()).ok()?;
    let value = value * 2.0_f64.powi(exponent.checked_sub(places.checked_mul(4)?)?);
    if value == 0.0 || value.is_normal() { Some(value) } else { None }
}
