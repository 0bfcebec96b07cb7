//! Values in the texts of a launch file: `$(var NAME)`, `$(env NAME)` and `$(dirname)`, as in launch files of ROS 2.

use std::collections::BTreeMap;

/// What the texts of a launch file may refer to.
pub(super) struct Scope {
    /// Folder of the launch file, as an absolute path.
    pub(super) folder: String,
    /// Values of the file's arguments.
    pub(super) arguments: BTreeMap<String, String>,
}

impl Scope {
    /// Returns the text with values in place of `$(...)`; `$$(` stands for `$(`. The error is a sentence with the fix.
    pub(super) fn fill(&self, text: &str) -> Result<String, String> {
        let mut filled = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("$(") {
            if let Some(before) = rest[..at].strip_suffix('$') {
                filled.push_str(before);
                filled.push_str("$(");
                rest = &rest[at + 2..];
                continue;
            }
            filled.push_str(&rest[..at]);
            let Some(length) = rest[at..].find(')') else {
                return Err(format!("`{}` has no end; add `)`, or write `$$(` for the text `$(`", &rest[at..]));
            };
            filled.push_str(&self.value(&rest[at + 2..at + length])?);
            rest = &rest[at + length + 1..];
        }
        filled.push_str(rest);
        Ok(filled)
    }

    /// Returns the value of what stands between the parentheses.
    fn value(&self, words: &str) -> Result<String, String> {
        let parts: Vec<&str> = words.split_whitespace().collect();
        match parts[..] {
            ["dirname"] => Ok(self.folder.clone()),
            ["var", name] => match self.arguments.get(name) {
                Some(value) => Ok(value.clone()),
                None => Err(self.no_argument(name)),
            },
            ["env", name] => match std::env::var(name) {
                Ok(value) => Ok(value),
                Err(_) => Err(format!(
                    "the environment has no variable `{name}`; set it, or write a value for this case: \
                     `$(env {name} VALUE)`"
                )),
            },
            ["env", name, default] => Ok(std::env::var(name).unwrap_or_else(|_| default.to_owned())),
            _ => Err(format!(
                "`$({words})` has no value; there are `$(var NAME)`, `$(env NAME)`, `$(env NAME VALUE)` and \
                 `$(dirname)`, and `$$(` for the text `$(`"
            )),
        }
    }

    /// Returns the sentence about an argument that the file does not declare.
    pub(super) fn no_argument(&self, name: &str) -> String {
        let known: Vec<&str> = self.arguments.keys().map(String::as_str).collect();
        let fix = match rospin_scenario::nearest(name, &known) {
            Some(nearest) => format!("nearest: {nearest}"),
            None => format!("declare it below `[arguments]`: {name} = \"its default\""),
        };
        format!("the launch file has no argument `{name}`; {fix}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(text: &str) -> Result<String, String> {
        let arguments = BTreeMap::from([("robot".to_owned(), "r1".to_owned())]);
        Scope { folder: "/opt".to_owned(), arguments }.fill(text)
    }

    #[test]
    fn values_are_filled_in() {
        assert_eq!(fill("/$(var robot)/$(dirname)$(env NONE_SUCH 7)"), Ok("/r1//opt7".to_owned()));
        assert_eq!(fill("$$(date) $(var robot)"), Ok("$(date) r1".to_owned()));
        assert_eq!(fill("$HOME (x) $"), Ok("$HOME (x) $".to_owned()));
        assert!(fill("$(env PATH)").is_ok());
    }

    #[test]
    fn what_has_no_value_is_told_with_the_fix() {
        for (text, said) in [
            ("$(var robt)", "no argument `robt`; nearest: robot"),
            ("$(var x)", "declare it below `[arguments]`: x = \"its default\""),
            ("$(env NONE_SUCH)", "no variable `NONE_SUCH`; set it"),
            ("$(find-pkg-share robot)", "`$(find-pkg-share robot)` has no value; there are `$(var NAME)`"),
            ("a $(var robot", "`$(var robot` has no end"),
        ] {
            let error = fill(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
