//! Launch files: the processes that a launch starts. `examples/robot/robot.toml` is one, and the page
//! `book/src/guide/launch.md` has every key.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use rospin_scenario::{FileError, TomlFile, duration};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A launch file that was read, with the places of its entries.
#[derive(Debug)]
pub(super) struct LaunchFile {
    pub(super) file: TomlFile,
    pub(super) content: Content,
}

/// The content of a launch file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "processes")]
pub(super) struct Content {
    /// Values that the command line may replace, by their names.
    #[serde(default, deserialize_with = "texts")]
    pub(super) arguments: BTreeMap<String, String>,
    /// Environment of all processes.
    #[serde(default, deserialize_with = "texts")]
    pub(super) environment: BTreeMap<String, String>,
    #[serde(default, rename = "process", deserialize_with = "processes")]
    pub(super) processes: Vec<Process>,
}

/// Reads texts by names. A number, `true` and `false` are texts, too.
fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    let texts: BTreeMap<String, Text> = BTreeMap::deserialize(deserializer)?;
    Ok(texts.into_iter().map(|(name, Text(text))| (name, text)).collect())
}

struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl Visitor<'_> for TextVisitor {
            type Value = Text;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text in quotation marks")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Text, E> {
                Ok(Text(text.to_owned()))
            }
            fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Text, E> {
                Ok(Text(value.to_string()))
            }
            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Text, E> {
                Ok(Text(number.to_string()))
            }
            fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Text, E> {
                Ok(Text(format!("{number:?}")))
            }
        }
        deserializer.deserialize_any(TextVisitor)
    }
}

fn processes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Process>, D::Error> {
    rospin_scenario::list(deserializer, "`[[process]]` above each process")
}

/// A process that a launch starts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a process")]
pub(super) struct Process {
    /// Name in the log and in `after` of other processes; by default `node`, or the program's.
    pub(super) name: Option<String>,
    /// Path from the folder of the launch file, or the name of a program of `package` or on `PATH`.
    pub(super) program: String,
    /// Package of ROS 2 that has the program.
    pub(super) package: Option<String>,
    #[serde(default)]
    pub(super) arguments: Vec<String>,
    /// Namespace of the program's nodes.
    pub(super) namespace: Option<String>,
    /// New name of the program's node.
    pub(super) node: Option<String>,
    /// Remapping rules. Each maps a name in the code to a name in the graph.
    #[serde(default)]
    pub(super) remap: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) parameters: toml::Table,
    /// Files of parameters, as `ros2 param dump` writes them.
    #[serde(default)]
    pub(super) parameter_files: Vec<String>,
    /// Deployment file of rospin.
    pub(super) deployment: Option<String>,
    #[serde(default, deserialize_with = "texts")]
    pub(super) environment: BTreeMap<String, String>,
    /// True if the process is started anew when it has ended.
    #[serde(default)]
    pub(super) respawn: bool,
    /// Pause before it is.
    pub(super) respawn_delay: Option<Span>,
    /// How often it is at most.
    pub(super) respawn_max_retries: Option<u32>,
    #[serde(default)]
    pub(super) on_exit: OnExit,
    /// States to which the program's managed nodes are led.
    pub(super) lifecycle: Option<Lifecycle>,
    /// Names of processes whose managed nodes reach their states first.
    #[serde(default)]
    pub(super) after: Vec<String>,
    /// Time from SIGINT to SIGTERM.
    pub(super) sigterm_timeout: Option<Span>,
    /// Time from SIGTERM to SIGKILL.
    pub(super) sigkill_timeout: Option<Span>,
}

/// A duration, as in `"500 ms"`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span(pub(super) Duration);

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SpanVisitor;
        impl Visitor<'_> for SpanVisitor {
            type Value = Span;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Span, E> {
                duration::parse(text).map(Span).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(SpanVisitor)
    }
}

/// Consequence of a process's end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OnExit {
    /// The other processes go on.
    #[default]
    Nothing,
    /// The whole launch ends.
    Shutdown,
}

/// State to which a managed node is led.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Goal {
    /// Configured.
    Inactive,
    /// Configured and activated.
    Active,
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Inactive => "inactive",
            Self::Active => "active",
        })
    }
}

/// The managed nodes of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Lifecycle {
    /// The only node, which `node` names.
    Only(Goal),
    /// Several, by their names in the namespace of the process, or by their full names.
    Each(BTreeMap<String, Goal>),
}

impl<'de> Deserialize<'de> for Lifecycle {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LifecycleVisitor;
        impl<'de> Visitor<'de> for LifecycleVisitor {
            type Value = Lifecycle;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"active\", \"inactive\", or a table as in { camera = \"active\" }")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Lifecycle, E> {
                match text {
                    "active" => Ok(Lifecycle::Only(Goal::Active)),
                    "inactive" => Ok(Lifecycle::Only(Goal::Inactive)),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
                }
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Lifecycle, A::Error> {
                BTreeMap::deserialize(MapAccessDeserializer::new(map)).map(Lifecycle::Each)
            }
        }
        deserializer.deserialize_any(LifecycleVisitor)
    }
}

impl LaunchFile {
    /// Reads the launch file at that path.
    pub(super) fn load(path: &Path) -> Result<Self, FileError> {
        Self::read(TomlFile::load("launch file", path)?)
    }

    pub(super) fn read(file: TomlFile) -> Result<Self, FileError> {
        let content: Content = file.read()?;
        let read = Self { file, content };
        if read.content.processes.is_empty() {
            return Err(read.file.error(
                "process",
                0,
                "program",
                "there is no process; add one: `[[process]]`, and below it `program = \"...\"`",
            ));
        }
        Ok(read)
    }

    /// Returns an error about a key of the process with that number, from 0, with its place.
    pub(super) fn error(&self, process: usize, key: &'static str, message: impl Into<String>) -> FileError {
        self.file.error("process", process, key, message)
    }
}
