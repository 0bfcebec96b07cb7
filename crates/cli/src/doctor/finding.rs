//! Findings about the machine, with their meaning.

use serde::Serialize;

/// Verdict on one property of the machine: the degree to which it hinders real time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Verdict {
    /// The property does not hinder real time, or cannot be read here.
    Good,
    /// Real time works, but with less than the machine could do.
    LimitsYou,
    /// Real time does not work with the property as it is.
    Broken,
}

impl Verdict {
    /// Returns the verdict in words.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::LimitsYou => "limits you",
            Self::Broken => "broken",
        }
    }
}

/// A property of this machine that matters to real time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Finding {
    pub(crate) name: &'static str,
    pub(crate) verdict: Verdict,
    /// State that was found.
    pub(crate) value: String,
    /// Consequence for a real-time program.
    pub(crate) meaning: String,
    /// Command, boot parameter or advice that improves the property; `None` if it is good.
    pub(crate) fix: Option<String>,
}

impl Finding {
    /// Returns a finding with the verdict [`Verdict::Good`], which needs no fix.
    pub(crate) fn good(name: &'static str, value: impl Into<String>, meaning: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Good, value: value.into(), meaning: meaning.into(), fix: None }
    }

    /// Returns a finding with the verdict [`Verdict::LimitsYou`].
    pub(crate) fn limits(
        name: &'static str,
        value: impl Into<String>,
        meaning: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        let fix = Some(fix.into());
        Self { name, verdict: Verdict::LimitsYou, value: value.into(), meaning: meaning.into(), fix }
    }

    /// Returns the same finding with the verdict [`Verdict::Broken`].
    pub(crate) fn broken(self) -> Self {
        Self { verdict: Verdict::Broken, ..self }
    }
}

/// Function that returns the text of the file at a path, without white space around it; `None` if there is no such file
/// or it may not be read.
pub(crate) type Read<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Reads a file of this machine, as a [`Read`].
pub(crate) fn read_file(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// Returns a [`Read`] of made-up files, for tests.
#[cfg(test)]
pub(crate) fn files(texts: &[(&str, &str)]) -> impl Fn(&str) -> Option<String> {
    move |path| texts.iter().find(|(name, _)| *name == path).map(|(_, text)| text.trim().to_owned())
}
