//! Parameters of a launch file as arguments of a program: `NAME:=VALUE` with the value in YAML.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::substitute::Scope;

/// Returns the values in YAML, by the names of the parameters. A table stands for parameters with dots in their names.
/// The error is a sentence with the fix.
pub(super) fn flat(table: &Table, scope: &Scope) -> Result<BTreeMap<String, String>, String> {
    let mut flat = BTreeMap::new();
    add(table, "", scope, &mut flat)?;
    Ok(flat)
}

fn add(table: &Table, before: &str, scope: &Scope, flat: &mut BTreeMap<String, String>) -> Result<(), String> {
    for (key, value) in table {
        let name = format!("{before}{key}");
        if let Value::Table(below) = value {
            add(below, &format!("{name}."), scope, flat)?;
            continue;
        }
        let value = yaml(value, scope).map_err(|error| format!("parameter `{name}`: {error}"))?;
        if flat.insert(name.clone(), value).is_some() {
            return Err(format!("parameter `{name}` is given twice, once with a dot; leave one out"));
        }
    }
    Ok(())
}

/// Returns the value in YAML.
fn yaml(value: &Value, scope: &Scope) -> Result<String, String> {
    match value {
        Value::Boolean(value) => Ok(value.to_string()),
        Value::Integer(value) => Ok(value.to_string()),
        Value::Float(value) => Ok(float(*value)),
        // What comes from an argument has the type that it has in YAML, as in launch files of ROS 2.
        Value::String(text) if text.starts_with("$(") && text.find(')') == Some(text.len() - 1) => scope.fill(text),
        Value::String(text) => Ok(string(&scope.fill(text)?)),
        Value::Array(values) => list(values, scope),
        Value::Datetime(_) => Err("a date is no value of a parameter; write it in quotation marks".to_owned()),
        Value::Table(_) => Err("a parameter's list has no tables; give each value a name of its own".to_owned()),
    }
}

fn float(value: f64) -> String {
    if value.is_nan() {
        ".nan".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { ".inf" } else { "-.inf" }.to_owned()
    } else {
        format!("{value:?}")
    }
}

/// Returns the text so that YAML does not take it for a number or the like. Text in JSON is text in YAML, too.
fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn list(values: &[Value], scope: &Scope) -> Result<String, String> {
    let Some(first) = values.first() else {
        return Err("an empty list has no type; leave it out".to_owned());
    };
    let mut parts = Vec::new();
    for value in values {
        if !value.same_type(first) {
            return Err("a list has values of one type; write whole numbers among fractions as in 7.0".to_owned());
        }
        if value.is_array() {
            return Err("a list of lists is no value of a parameter; leave one pair of brackets out".to_owned());
        }
        parts.push(yaml(value, scope)?);
    }
    Ok(format!("[{}]", parts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<String>, String> {
        let arguments = BTreeMap::from([("rate".to_owned(), "20".to_owned())]);
        let scope = Scope { folder: "/opt".to_owned(), arguments };
        let flat = flat(&text.parse().unwrap(), &scope)?;
        Ok(flat.into_iter().map(|(name, value)| format!("{name}:={value}")).collect())
    }

    #[test]
    fn values_keep_their_types() {
        let text = r#"
            a = true
            b = 7
            c = 7.0
            d = "7"
            e = "a \"b\"\n"
            f = [1.0, 2.5]
            g = ["x", "$(var rate)"]
            h = "$(var rate)"
            i = "$(var rate) Hz"
            j = { k = 1e300, l.m = inf }
        "#;
        let expected = [
            "a:=true",
            "b:=7",
            "c:=7.0",
            "d:=\"7\"",
            "e:=\"a \\\"b\\\"\\n\"",
            "f:=[1.0, 2.5]",
            "g:=[\"x\", 20]",
            "h:=20",
            "i:=\"20 Hz\"",
            "j.k:=1e300",
            "j.l.m:=.inf",
        ];
        assert_eq!(read(text).unwrap(), expected);
    }

    #[test]
    fn what_is_no_parameter_is_told_with_the_fix() {
        for (text, said) in [
            ("a = []", "an empty list has no type"),
            ("a = [1, 0.5]", "as in 7.0"),
            ("a = [[1]]", "a list of lists"),
            ("a = [{ b = 1 }]", "has no tables"),
            ("a = 2026-11-21", "in quotation marks"),
            ("\"a.b\" = 1\na = { b = 2 }", "parameter `a.b` is given twice"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
