//! Bounds that an analysis has proven for a scenario, as a file for programs that compare themselves with it.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::file::{FileError, TomlFile};
use crate::model::Scenario;
use crate::text;

/// Proven bounds of a scenario's callbacks and chains.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a file of bounds")]
#[non_exhaustive]
pub struct Bounds {
    /// The [fingerprint](Scenario::fingerprint) of the scenario that was analysed.
    pub system: String,
    /// Bounds of callbacks. Those without a proven bound are left out.
    #[serde(default, rename = "callback", skip_serializing_if = "Vec::is_empty")]
    pub callbacks: Vec<CallbackLimit>,
    /// Bounds of chains. Those without a proven bound are left out.
    #[serde(default, rename = "chain", skip_serializing_if = "Vec::is_empty")]
    pub chains: Vec<ChainLimit>,
}

/// Bounds of a callback.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "the bound of a callback")]
#[non_exhaustive]
pub struct CallbackLimit {
    /// Name of the callback.
    pub name: String,
    /// Longest time from release to end.
    #[serde(with = "text::duration")]
    pub bound: Duration,
    /// Largest number of messages that wait at once, including the next one to be taken; `None` for timers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlog: Option<u64>,
    /// True if a message may be displaced by a newer one in the described system.
    #[serde(default, skip_serializing_if = "text::is_default")]
    pub may_lose: bool,
}

/// Bound of a chain.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "the bound of a chain")]
#[non_exhaustive]
pub struct ChainLimit {
    /// Name of the chain.
    pub name: String,
    /// Longest time from the release of the first callback to the end of the last one.
    #[serde(with = "text::duration")]
    pub bound: Duration,
}

impl CallbackLimit {
    /// Returns the bounds of the callback of that name.
    #[must_use]
    pub fn new(name: impl Into<String>, bound: Duration, backlog: Option<u64>) -> Self {
        Self { name: name.into(), bound, backlog, may_lose: false }
    }

    /// Sets whether a message may be displaced by a newer one.
    #[must_use]
    pub const fn may_lose(mut self, yes: bool) -> Self {
        self.may_lose = yes;
        self
    }
}

impl ChainLimit {
    /// Returns the bound of the chain of that name.
    #[must_use]
    pub fn new(name: impl Into<String>, bound: Duration) -> Self {
        Self { name: name.into(), bound }
    }
}

impl Bounds {
    /// Returns a set of bounds for this scenario that has none yet.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        Self { system: scenario.fingerprint(), ..Self::default() }
    }

    /// Reads the file.
    ///
    /// # Errors
    /// If it cannot be read or is no file of bounds.
    pub fn load(path: &Path) -> Result<Self, FileError> {
        TomlFile::load("file of bounds", path)?.read()
    }

    /// Formats the bounds as a text that [`load`](Self::load) reads from a file.
    ///
    /// # Panics
    /// Never: names, numbers and durations can be written.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("names, numbers and durations can be written")
    }

    /// Returns true if the bounds were proven for this scenario.
    #[must_use]
    pub fn are_of(&self, scenario: &Scenario) -> bool {
        self.system == scenario.fingerprint()
    }
}

impl Scenario {
    /// Returns a short text that changes when the described system does. Its name, duration and seed, and comments and
    /// layout of its file, make no difference.
    ///
    /// # Panics
    /// As [`to_toml`](Self::to_toml).
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let system = Self { name: String::new(), duration: Duration::ZERO, seed: 0, ..self.clone() };
        // FNV-1a, a hash that is the same in every version of the compiler.
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        format!("{:016x}", system.to_toml().bytes().fold(0xcbf2_9ce4_8422_2325, step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROBOT: &str = "duration = \"1 s\"\n[[executor]]\nname = \"x\"\n[[group]]\nname = \"g\"\n[[callback]]\n\
                         name = \"a\"\n\
        kind = \"timer\"\nperiod = \"10 ms\"\nexecution = \"1 ms\"\n";

    #[test]
    fn bounds_survive_their_file_and_know_their_system() {
        let scenario = Scenario::parse(ROBOT).unwrap();
        let mut bounds = Bounds::new(&scenario);
        bounds
            .callbacks
            .push(CallbackLimit::new("a \"b\"\n", Duration::from_nanos(12_999_999), Some(3)).may_lose(true));
        bounds.chains.push(ChainLimit::new("see", Duration::from_millis(7)));
        assert_eq!(TomlFile::new("b.toml", bounds.to_toml()).read::<Bounds>().unwrap(), bounds);
        let same = Scenario::parse(&ROBOT.replace("\"1 s\"", "\"2 s\" # longer")).unwrap();
        let other = Scenario::parse(&ROBOT.replace("10 ms", "11 ms")).unwrap();
        assert!(bounds.are_of(&same) && !bounds.are_of(&other));
    }

    #[test]
    fn mistakes_have_a_place() {
        let error = TomlFile::new("b.toml", "system = \"x\"\n[[callback]]\nname = \"a\"\nbound = 5\n").read::<Bounds>();
        assert!(error.unwrap_err().to_string().starts_with("b.toml: line 4, column 9, `bound`: "));
    }
}
