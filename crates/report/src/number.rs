//! Numbers that a user gives, numbers on axes, and numbers of things.

use std::time::Duration;

/// Parses a number from `min` to `max`. `unit` is the unit's name in the error's text.
///
/// # Errors
/// If `text` is not a number in that range: a sentence that says which numbers are valid.
pub fn parse(text: &str, unit: &str, min: f64, max: f64) -> Result<f64, String> {
    let number = text.trim().parse().ok().filter(|number| (min..=max).contains(number));
    number.ok_or_else(|| format!("give a number of {unit} from {min} to {max}"))
}

/// Parses a number of seconds from `min` to `max`.
///
/// # Errors
/// If `text` is not a number in that range: a sentence that says which numbers are valid.
pub fn parse_seconds(text: &str, min: f64, max: f64) -> Result<Duration, String> {
    parse(text, "seconds", min, max).map(Duration::from_secs_f64)
}

/// Returns `value` as text, rounded to four decimal places, without trailing zeros.
pub fn plain(value: f64) -> String {
    format!("{}", (value * 1e4).round() / 1e4)
}

/// Returns the number with the noun, in the plural unless it is one.
#[must_use]
pub fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_out_of_range_are_told_the_range() {
        assert_eq!(parse(" 2.5 ", "percent", 1.0, 100.0), Ok(2.5));
        for text in ["0", "101", "nan", "inf", "x", ""] {
            assert_eq!(parse(text, "percent", 1.0, 100.0).unwrap_err(), "give a number of percent from 1 to 100");
        }
        assert_eq!(parse_seconds("0.06", 0.001, 60.0), Ok(Duration::from_millis(60)));
        assert_eq!(parse_seconds("0", 0.001, 60.0).unwrap_err(), "give a number of seconds from 0.001 to 60");
    }

    #[test]
    fn axes_show_no_more_digits_than_there_are() {
        let shown = [0.1 + 0.2, 20.0, 1.0 / 3.0, 0.000_01].map(plain);
        assert_eq!(shown, ["0.3", "20", "0.3333", "0"]);
    }
}
