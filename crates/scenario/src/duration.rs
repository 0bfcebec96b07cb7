//! Durations as text: a number and a unit.

use std::time::Duration;

/// Units and their nanoseconds, the longest first.
const UNITS: [(&str, u64); 7] = [
    ("h", 3_600_000_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("µs", 1_000),
    ("ns", 1),
];

/// Reasons for which a text is not a duration. Each holds the text.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DurationError {
    /// The text does not begin with a number.
    #[error("`{0}` is not a duration; write a number and a unit, as in \"500 ms\"")]
    NoNumber(String),
    /// The number has no unit.
    #[error("`{0}` has no unit; write one of ns, us, ms, s, min, h, as in \"{0} ms\"")]
    NoUnit(String),
    /// The unit is not `ns`, `us`, `ms`, `s`, `min` or `h`.
    #[error("`{0}` ends in an unknown unit; write one of ns, us, ms, s, min, h")]
    UnknownUnit(String),
    /// The number is negative.
    #[error("`{0}` is negative; a duration is 0 or more")]
    Negative(String),
    /// The duration is not a whole number of nanoseconds.
    #[error("`{0}` is finer than a nanosecond; leave out the last digits")]
    TooFine(String),
    /// The duration exceeds 64 bits of nanoseconds, about 584 years.
    #[error("`{0}` is too long; the longest is 584 years")]
    TooLong(String),
}

/// Parses a duration: a decimal number and one of the units `ns`, `us`, `ms`, `s`, `min`, `h`.
///
/// ```
/// use std::time::Duration;
/// use rospin_scenario::duration;
///
/// assert_eq!(duration::parse("1.3 s"), Ok(Duration::from_millis(1300)));
/// assert_eq!(duration::parse("20us"), Ok(Duration::from_micros(20)));
/// assert_eq!(duration::format(Duration::from_millis(1300)), "1.3 s");
/// ```
///
/// # Errors
/// If the text is not a duration. The error says what to write instead.
pub fn parse(text: &str) -> Result<Duration, DurationError> {
    let trimmed = text.trim();
    let own = || trimmed.to_owned();
    if trimmed.starts_with('-') {
        return Err(DurationError::Negative(own()));
    }
    let number_ends = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let number = &trimmed[..number_ends];
    let unit = trimmed[number_ends..].trim_start();
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || fraction.contains('.') || (number.contains('.') && fraction.is_empty()) {
        return Err(DurationError::NoNumber(own()));
    }
    if unit.is_empty() {
        return Err(DurationError::NoUnit(own()));
    }
    let known = UNITS.iter().find(|(name, _)| *name == unit);
    let (_, unit_ns) = known.ok_or_else(|| DurationError::UnknownUnit(own()))?;
    let whole: u64 = whole.parse().map_err(|_| DurationError::TooLong(own()))?;
    let whole_ns = whole.checked_mul(*unit_ns).ok_or_else(|| DurationError::TooLong(own()))?;
    let fraction_ns = fraction_ns(fraction, *unit_ns).ok_or_else(|| DurationError::TooFine(own()))?;
    let nanos = whole_ns.checked_add(fraction_ns).ok_or_else(|| DurationError::TooLong(own()))?;
    Ok(Duration::from_nanos(nanos))
}

/// Returns the nanoseconds of `0.fraction` of a unit, if that is a whole number.
fn fraction_ns(fraction: &str, unit_ns: u64) -> Option<u64> {
    let digits = fraction.trim_end_matches('0');
    if digits.is_empty() {
        return Some(0);
    }
    // An hour has 13 digits of nanoseconds, so more digits are finer than a nanosecond.
    if digits.len() > 13 {
        return None;
    }
    let scale = 10_u128.pow(u32::try_from(digits.len()).ok()?);
    let product = digits.parse::<u128>().ok()? * u128::from(unit_ns);
    if product.is_multiple_of(scale) { u64::try_from(product / scale).ok() } else { None }
}

/// Formats a duration exactly, in the longest of the units `s`, `ms`, `us` and `ns` that does not exceed it. Zero is
/// `0 s`.
#[must_use]
pub fn format(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    let writable = [("s", 1_000_000_000_u128), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];
    let (unit, unit_ns) = writable.into_iter().find(|(_, unit_ns)| nanos >= *unit_ns).unwrap_or(("s", 1));
    let whole = nanos / unit_ns;
    let rest = nanos % unit_ns;
    if rest == 0 {
        return format!("{whole} {unit}");
    }
    let width = unit_ns.ilog10() as usize;
    let fraction = format!("{rest:0width$}");
    format!("{whole}.{} {unit}", fraction.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_durations_are_read_again() {
        for nanos in [0, 1, 999, 1_000, 1_001, 500_000_000, 1_300_000_001, 86_400_000_000_000, u64::MAX] {
            let duration = Duration::from_nanos(nanos);
            assert_eq!(parse(&format(duration)), Ok(duration), "{}", format(duration));
        }
        assert_eq!(format(Duration::from_micros(1500)), "1.5 ms");
        assert_eq!(format(Duration::ZERO), "0 s");
    }

    #[test]
    fn units_and_fractions() {
        for (text, nanos) in [("2 min", 120_000_000_000), ("0.5h", 1_800_000_000_000), ("1.25 µs", 1250), ("7ns", 7)] {
            assert_eq!(parse(text), Ok(Duration::from_nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn mistakes_are_told_apart() {
        use DurationError as E;
        type Mistake = fn(String) -> E;
        let cases: [(&str, Mistake); 8] = [
            ("", E::NoNumber),
            ("fast", E::NoNumber),
            ("1. s", E::NoNumber),
            ("500", E::NoUnit),
            ("5 sec", E::UnknownUnit),
            ("-1 s", E::Negative),
            ("0.1 ns", E::TooFine),
            ("99999999999999999999 s", E::TooLong),
        ];
        for (text, error) in cases {
            assert_eq!(parse(text), Err(error(text.to_owned())));
        }
    }
}
