//! The forms of values in TOML text: durations, kinds, releases.

use std::fmt;
use std::time::Duration;

use rospin_core::{ClockKind, EntityKind, GroupKind, Overrun};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::callback::{Bin, ExecutionTime};
use crate::duration as format;
use crate::traffic::{Burst, Jump, Limit, Pattern, Release};

/// Returns true if the value is the default of its key.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

// ---- durations ----

/// Duration that is a text in a file.
struct Text(Duration);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl Visitor<'_> for TextVisitor {
            type Value = Text;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Text, E> {
                format::parse(text).map(Text).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format::format(self.0))
    }
}

/// A duration as text, for `#[serde(with = ...)]`.
pub(crate) mod duration {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(value: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        Text(*value).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        Text::deserialize(deserializer).map(|text| text.0)
    }
}

/// A duration that may be missing, for `#[serde(with = ...)]`.
pub(crate) mod optional_duration {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(value: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
        value.map(Text).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
        Text::deserialize(deserializer).map(|text| Some(text.0))
    }
}

impl Serialize for Jump {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (sign, by) = match self {
            Self::Forward(by) => ('+', by),
            Self::Back(by) => ('-', by),
        };
        serializer.collect_str(&format_args!("{sign}{}", format::format(*by)))
    }
}

impl<'de> Deserialize<'de> for Jump {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let parse = |by: &str| format::parse(by).map_err(D::Error::custom);
        match (text.strip_prefix('+'), text.strip_prefix('-')) {
            (Some(by), _) => parse(by).map(Self::Forward),
            (_, Some(by)) => parse(by).map(Self::Back),
            _ => Err(D::Error::custom(format_args!("`{text}` has no sign; write \"+{text}\" or \"-{text}\""))),
        }
    }
}

// ---- names for values ----

/// Defines a module for `#[serde(with = ...)]` that gives each value of a type a name. The parameters are the module,
/// the type, the kind of thing for errors, and the names with their values.
macro_rules! named {
    ($module:ident, $type:ty, $what:literal, $($name:literal => $value:path),+ $(,)?) => {
        pub(crate) mod $module {
            use super::*;

            pub(crate) fn serialize<S: Serializer>(value: &$type, serializer: S) -> Result<S::Ok, S::Error> {
                match value {
                    $($value => serializer.serialize_str($name),)+
                    other => Err(serde::ser::Error::custom(format_args!("there is no text for {other:?}"))),
                }
            }

            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                let name = String::deserialize(deserializer)?;
                match name.as_str() {
                    $($name => Ok($value),)+
                    _ => Err(D::Error::custom(format_args!(
                        concat!("there is no ", $what, " `{}`; known are {}"),
                        name,
                        [$($name),+].join(", ")
                    ))),
                }
            }
        }
    };
}

named!(group_kind, GroupKind, "kind of group",
    "mutually-exclusive" => GroupKind::MutuallyExclusive,
    "reentrant" => GroupKind::Reentrant,
);
named!(clock_kind, ClockKind, "clock",
    "steady" => ClockKind::Steady,
    "system" => ClockKind::System,
    "ros" => ClockKind::Ros,
);
named!(entity_kind, EntityKind, "kind of callback",
    "timer" => EntityKind::Timer,
    "subscription" => EntityKind::Subscription,
    "service" => EntityKind::Service,
    "client" => EntityKind::Client,
    "waitable" => EntityKind::Waitable,
);

/// An overrun policy, for `#[serde(with = ...)]`.
pub(crate) mod overrun {
    use super::*;

    /// The text of an overrun policy: `"skip"`, `"shift-phase"` or `{ catch-up = 3 }`.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum OverrunText {
        Skip,
        ShiftPhase,
        CatchUp(u32),
    }

    pub(crate) fn serialize<S: Serializer>(value: &Overrun, serializer: S) -> Result<S::Ok, S::Error> {
        let text = match value {
            Overrun::Skip => OverrunText::Skip,
            Overrun::ShiftPhase => OverrunText::ShiftPhase,
            Overrun::CatchUp(limit) => OverrunText::CatchUp(*limit),
            other => return Err(serde::ser::Error::custom(format_args!("there is no text for {other:?}"))),
        };
        text.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Overrun, D::Error> {
        Ok(match OverrunText::deserialize(deserializer)? {
            OverrunText::Skip => Overrun::Skip,
            OverrunText::ShiftPhase => Overrun::ShiftPhase,
            OverrunText::CatchUp(limit) => Overrun::CatchUp(limit),
        })
    }
}

// ---- execution times ----

/// The text of an execution time that is not constant.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ExecutionText {
    Uniform(Text, Text),
    List(Vec<Text>),
    Recorded(Vec<(Text, u32)>),
}

impl Serialize for ExecutionTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Fixed(time) => return Text(*time).serialize(serializer),
            Self::Uniform(min, max) => ExecutionText::Uniform(Text(*min), Text(*max)),
            Self::List(times) => ExecutionText::List(times.iter().copied().map(Text).collect()),
            Self::Recorded(bins) => {
                ExecutionText::Recorded(bins.iter().map(|bin| (Text(bin.time), bin.count)).collect())
            }
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ExecutionTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ExecutionVisitor;
        impl<'de> Visitor<'de> for ExecutionVisitor {
            type Value = ExecutionTime;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration, or one of { uniform = [..] }, { list = [..] }, { recorded = [..] }")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
                format::parse(text).map(ExecutionTime::Fixed).map_err(E::custom)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                Ok(match ExecutionText::deserialize(MapAccessDeserializer::new(map))? {
                    ExecutionText::Uniform(min, max) => ExecutionTime::Uniform(min.0, max.0),
                    ExecutionText::List(times) => ExecutionTime::List(times.into_iter().map(|time| time.0).collect()),
                    ExecutionText::Recorded(bins) => {
                        let bin = |(time, count): (Text, u32)| Bin { time: time.0, count };
                        ExecutionTime::Recorded(bins.into_iter().map(bin).collect())
                    }
                })
            }
        }
        deserializer.deserialize_any(ExecutionVisitor)
    }
}

// ---- releases ----

/// The text of a release, with the keys of all patterns.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a release")]
pub(crate) struct ReleaseText {
    to: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<Vec<Text>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    period: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gap: Option<(Text, Text)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at_most: Option<Vec<(u32, Text)>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    measured: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    offset: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    jitter: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    burst: Option<Burst>,
}

/// Combinations of keys that do not form a release.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReleaseError {
    /// The key that says when messages arrive is missing, or there are several such keys.
    #[error("a release has exactly one of `at`, `period`, `gap`, `at_most` and `measured`: when its messages arrive")]
    OnePattern,
    /// The first key is given, which a release with the second one does not have.
    #[error("`{0}` does not go with `{1}`; leave it out")]
    Stray(&'static str, &'static str),
}

impl TryFrom<ReleaseText> for Release {
    type Error = ReleaseError;

    fn try_from(text: ReleaseText) -> Result<Self, ReleaseError> {
        let ReleaseText { to, at, period, gap, at_most, measured, offset, jitter, burst } = text;
        // For each pattern: true if it is given, its key, and which of `offset`, `jitter` and `burst` it does not have.
        let kinds = [
            (at.is_some(), "at", [true, true, false]),
            (period.is_some(), "period", [false; 3]),
            (gap.is_some(), "gap", [false, true, false]),
            (at_most.is_some(), "at_most", [false, true, true]),
            (measured.is_some(), "measured", [true, true, true]),
        ];
        let mut given = kinds.iter().filter(|(given, ..)| *given);
        let Some((_, kind, without)) = given.next() else { return Err(ReleaseError::OnePattern) };
        if given.next().is_some() {
            return Err(ReleaseError::OnePattern);
        }
        let settings = [("offset", offset.is_some()), ("jitter", jitter.is_some()), ("burst", burst.is_some())];
        for ((key, is_given), is_without) in settings.into_iter().zip(without) {
            if is_given && *is_without {
                return Err(ReleaseError::Stray(key, kind));
            }
        }
        let offset_or_zero = offset.map_or(Duration::ZERO, |text| text.0);
        let pattern = if let Some(at) = at {
            Pattern::List(at.into_iter().map(|text| text.0).collect())
        } else if let Some(period) = period {
            let jitter = jitter.map_or(Duration::ZERO, |text| text.0);
            Pattern::Periodic { period: period.0, offset: offset_or_zero, jitter }
        } else if let Some((min, max)) = gap {
            Pattern::Sporadic { offset: offset_or_zero, min: min.0, max: max.0 }
        } else if let Some(limits) = at_most {
            let limits = limits.into_iter().map(|(count, within)| Limit { count, within: within.0 });
            Pattern::Limited { offset: offset_or_zero, limits: limits.collect() }
        } else {
            Pattern::Measured { file: measured.unwrap_or_default(), times: Vec::new() }
        };
        Ok(Self { to, pattern, burst })
    }
}

impl From<Release> for ReleaseText {
    fn from(release: Release) -> Self {
        let Release { to, pattern, burst } = release;
        let unless_zero = |value: Duration| if value.is_zero() { None } else { Some(Text(value)) };
        let mut text = Self {
            to,
            at: None,
            period: None,
            gap: None,
            at_most: None,
            measured: None,
            offset: None,
            jitter: None,
            burst,
        };
        match pattern {
            Pattern::List(times) => text.at = Some(times.into_iter().map(Text).collect()),
            Pattern::Periodic { period, offset, jitter } => {
                text.period = Some(Text(period));
                text.offset = unless_zero(offset);
                text.jitter = unless_zero(jitter);
            }
            Pattern::Sporadic { offset, min, max } => {
                text.gap = Some((Text(min), Text(max)));
                text.offset = unless_zero(offset);
            }
            Pattern::Limited { offset, limits } => {
                text.at_most = Some(limits.into_iter().map(|limit| (limit.count, Text(limit.within))).collect());
                text.offset = unless_zero(offset);
            }
            // The times stay in the measured file.
            Pattern::Measured { file, .. } => text.measured = Some(file),
        }
        text
    }
}
