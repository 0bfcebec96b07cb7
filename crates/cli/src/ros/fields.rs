//! Arguments of the commands that send something: a type, the fields, and a rate.

use std::io::Read;

use rospin_report::Failure;

/// Returns the type's name, if one is given, and the fields in YAML. Where the type is left out, the fields come second.
/// With `stdin`, they are read from standard input.
pub(crate) fn type_and_fields(
    type_name: Option<&str>,
    fields: Option<&str>,
    stdin: bool,
) -> Result<(Option<String>, String), Failure> {
    let mut type_name = type_name.map(str::to_owned);
    let mut fields = fields.map(str::to_owned);
    if fields.is_none()
        && let Some(text) = &type_name
        && (text.contains([':', '{']) || text.trim().is_empty())
    {
        fields = type_name.take();
    }
    if stdin {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map_err(Failure::input)?;
        fields = Some(text);
    }
    Ok((type_name, fields.unwrap_or_else(|| "{}".to_owned())))
}

/// Parses a rate in hertz.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(rate) if (1e-6..=1e6).contains(&rate) => Ok(rate),
        _ => Err("a rate is a number above 0 and at most 1000000".to_owned()),
    }
}
