//! `rospin param dump`: a node's parameters as a parameter file.

use std::collections::BTreeMap;
use std::io::Write;

use rospin::parameters::ParameterValue;
use rospin_report::Failure;

use super::remote::Remote;
use super::text;

/// Names with values, or with names below them.
#[derive(Default)]
struct Tree {
    value: Option<ParameterValue>,
    below: BTreeMap<String, Tree>,
}

impl Tree {
    fn insert(&mut self, name: &str, value: ParameterValue) {
        match name.split_once('.') {
            // A name that has a value cannot have names below it in YAML, so the rest of the name stays whole.
            Some((first, rest)) if self.below.get(first).is_none_or(|tree| tree.value.is_none()) => {
                self.below.entry(first.to_owned()).or_default().insert(rest, value);
            }
            _ => self.below.entry(name.to_owned()).or_default().value = Some(value),
        }
    }

    fn append(&self, out: &mut String, indent: usize) {
        for (name, tree) in &self.below {
            out.extend(std::iter::repeat_n(' ', indent));
            // A part such as `1` or `on` would be something else than a string.
            out.push_str(text::yaml(&ParameterValue::from(name.as_str()), 0).trim_start());
            out.push(':');
            if let Some(value) = &tree.value {
                out.push_str(&text::yaml(value, indent));
            }
            out.push('\n');
            tree.append(out, indent + 2);
        }
    }
}

/// Prints the parameters of a node.
pub(super) fn run(remote: &Remote<'_>, out: &mut dyn Write) -> Result<(), Failure> {
    let mut names = remote.list(&[])?;
    names.sort();
    let values = remote.values(&names)?;
    let mut tree = Tree::default();
    for (name, value) in names.iter().zip(values) {
        tree.insert(name, value);
    }
    let mut text = format!("{}:\n  ros__parameters:", remote.node);
    if tree.below.is_empty() {
        text.push_str(" {}\n");
    } else {
        text.push('\n');
        tree.append(&mut text, 4);
    }
    // `ros2` ends it with an empty line.
    writeln!(out, "{text}")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_dots_are_nested() {
        let mut tree = Tree::default();
        for (name, value) in [
            ("a.b", ParameterValue::Integer(1)),
            ("a.c.d", ParameterValue::from("true")),
            ("e", ParameterValue::DoubleArray(vec![1.0, 2.5])),
            ("e.f", ParameterValue::Bool(true)),
            ("g", ParameterValue::StringArray(Vec::new())),
            ("h", ParameterValue::NotSet),
        ] {
            tree.insert(name, value);
        }
        let mut text = String::new();
        tree.append(&mut text, 4);
        let expected = "    a:\n      b: 1\n      c:\n        d: 'true'\n    e:\n    - 1.0\n    - 2.5\n    e.f: true\n    g: []\n    h: null\n";
        assert_eq!(text, expected);
    }
}
