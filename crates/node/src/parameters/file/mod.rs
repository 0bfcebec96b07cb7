//! Parameter files, as `ros2 param dump` writes and `--params-file` reads them.

mod yaml;

use std::path::{Path, PathBuf};

use serde_saphyr::options::NonFiniteFloatPolicy;
use yaml::Yaml;

use super::value::ParameterValue;
use crate::names::NodeName;

/// Key between the name of a node and its parameters.
const PARAMETERS: &str = "ros__parameters";

/// Reasons for which a parameter file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParameterFileError {
    /// The file cannot be read.
    #[error("could not read parameter file `{}`: {reason}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// The error of the operating system.
        reason: std::io::Error,
    },
    /// The file is not valid YAML.
    #[error("parameter file `{file}` is not valid YAML: {reason}")]
    Syntax {
        /// Path of the file, or `(text)`.
        file: String,
        /// Problem and its place, as text.
        reason: String,
    },
    /// An entry of the file is not a valid parameter.
    #[error("parameter file `{file}`: `{place}` {reason}")]
    Meaning {
        /// Path of the file, or `(text)`.
        file: String,
        /// Node and parameter of the entry.
        place: String,
        /// Problem of the entry, as the end of a sentence about it.
        reason: String,
    },
}

/// Values for the parameters of nodes: a YAML file as `ros2 param dump` writes it.
///
/// Nodes are named by patterns: `*` stands for one part of a name, `**` for any number of them, including zero. If
/// several entries set a parameter of a node, the last one counts.
///
/// ```
/// use rospin::{Context, ContextOptions, Node, NodeOptions, ParameterFile, Ros};
///
/// let file = ParameterFile::parse("
///     /**:
///       ros__parameters:
///         use_sim_time: true
///     /robot/arm:
///       ros__parameters:
///         pid: {p: 2.0, i: 0.5}
/// ")?;
/// let options = NodeOptions::new("arm").namespace("/robot").parameter_file(&file);
/// let node = Ros::in_process(&Context::new(ContextOptions::new())).create_node(options)?;
/// assert_eq!(node.declare_parameter("pid.p", 1.0)?.get(), 2.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ParameterFile {
    /// Patterns of nodes with their parameters, in the order of the file.
    sections: Vec<(String, Vec<(String, ParameterValue)>)>,
}

impl ParameterFile {
    /// Reads a file.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a valid parameter file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ParameterFileError> {
        let path = path.as_ref();
        let failed = |reason| ParameterFileError::Read { path: path.to_owned(), reason };
        let text = std::fs::read_to_string(path).map_err(failed)?;
        Self::read(&path.display().to_string(), &text)
    }

    /// Returns the parameter that an argument such as `rate:=5` sets for all nodes, or `talker:rate:=5` for nodes of
    /// that name, or the problem. The value is YAML.
    pub(crate) fn of_argument(argument: &str) -> Result<Self, String> {
        let (name, value) = argument.split_once(":=").ok_or("there is no `:=` in it")?;
        let (node, name) = match name.split_once(':') {
            Some((node, name)) if !node.is_empty() => (format!("/**/{node}"), name),
            Some(_) => return Err("there is no node's name before the colon".to_owned()),
            None => ("/**".to_owned(), name),
        };
        if name.is_empty() {
            return Err("there is no parameter's name before `:=`".to_owned());
        }
        let value = parse(value).map_err(|error| format!("the value is not valid YAML: {error}"))?;
        let value = value_of(value).map_err(|reason| format!("the value {reason}"))?;
        Ok(Self { sections: vec![(node, vec![(name.to_owned(), value)])] })
    }

    /// Parses the text of a parameter file.
    ///
    /// # Errors
    /// If the text is not a valid parameter file.
    pub fn parse(text: &str) -> Result<Self, ParameterFileError> {
        Self::read("(text)", text)
    }

    fn read(file: &str, text: &str) -> Result<Self, ParameterFileError> {
        let yaml = parse(text)
            .map_err(|error| ParameterFileError::Syntax { file: file.to_owned(), reason: error.to_string() })?;
        let mut read = Self::default();
        let nodes = read.nodes("", yaml);
        nodes.map_err(|(place, reason)| ParameterFileError::Meaning { file: file.to_owned(), place, reason })?;
        Ok(read)
    }

    /// Reads the nodes below a namespace. The error is the place and the problem.
    fn nodes(&mut self, namespace: &str, yaml: Yaml) -> Result<(), (String, String)> {
        let entries = match yaml {
            Yaml::Mapping(entries) => entries,
            Yaml::Null if namespace.is_empty() => Vec::new(),
            other => {
                let reason = format!("is {}; there should be a node's name with `{PARAMETERS}` below it", other.kind());
                let place = if namespace.is_empty() { "/" } else { namespace };
                return Err((place.to_owned(), reason));
            }
        };
        for (key, below) in entries {
            if key == PARAMETERS {
                if parts(namespace).is_empty() {
                    let reason = "belongs to no node; put a node's name above it, or `/**` for all nodes".to_owned();
                    return Err((PARAMETERS.to_owned(), reason));
                }
                let mut parameters = Vec::new();
                collect("", below, &mut parameters).map_err(|(name, why)| (format!("{namespace} {name}"), why))?;
                self.sections.push((namespace.to_owned(), parameters));
            } else {
                self.nodes(&format!("{namespace}/{}", key.trim_matches('/')), below)?;
            }
        }
        Ok(())
    }

    /// Returns the parameters that the file has for a node.
    pub(crate) fn of_node(&self, node: &NodeName) -> impl Iterator<Item = (String, ParameterValue)> {
        let node = node.to_string();
        let sections = self.sections.iter().filter(move |(pattern, _)| matches(&parts(pattern), &parts(&node)));
        sections.flat_map(|(_, parameters)| parameters.iter().cloned())
    }
}

/// Parses YAML. Numbers with a leading zero are octal, as in rcl.
fn parse(text: &str) -> Result<Yaml, serde_saphyr::Error> {
    let options = serde_saphyr::options! {
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        legacy_octal_numbers: true,
    };
    serde_saphyr::from_str_with_options(text, options)
}

/// Returns the parts of a node's name or pattern, between its slashes.
fn parts(name: &str) -> Vec<&str> {
    name.split('/').filter(|part| !part.is_empty()).collect()
}

/// Returns true if the pattern matches the name.
fn matches(pattern: &[&str], name: &[&str]) -> bool {
    let (mut at, mut part) = (0, 0);
    // The position after the last `**`, and the first part of the name that is not yet assigned to it. On a mismatch
    // only the last `**` needs to take one part more: whatever an earlier one could gain, the last one can, too.
    let mut last: Option<(usize, usize)> = None;
    while part < name.len() {
        match (pattern.get(at), &mut last) {
            (Some(&"**"), _) => {
                at += 1;
                last = Some((at, part));
            }
            (Some(wanted), _) if *wanted == "*" || *wanted == name[part] => (at, part) = (at + 1, part + 1),
            (_, Some((after, taken))) => {
                *taken += 1;
                (at, part) = (*after, *taken);
            }
            (_, None) => return false,
        }
    }
    pattern[at..].iter().all(|rest| *rest == "**")
}

/// Reads the parameters whose names begin with `prefix`; all of them if it is empty. The error is the place and the problem.
fn collect(prefix: &str, yaml: Yaml, parameters: &mut Vec<(String, ParameterValue)>) -> Result<(), (String, String)> {
    if let Yaml::Mapping(entries) = yaml {
        for (key, below) in entries {
            let name = if prefix.is_empty() { key } else { format!("{prefix}.{key}") };
            collect(&name, below, parameters)?;
        }
        return Ok(());
    }
    if prefix.is_empty() {
        return Err((PARAMETERS.to_owned(), format!("is {}; there should be names and values below it", yaml.kind())));
    }
    let value = value_of(yaml).map_err(|reason| (prefix.to_owned(), reason))?;
    parameters.push((prefix.to_owned(), value));
    Ok(())
}

/// Returns a node of the tree as a value. The error is the end of a sentence about it.
fn value_of(yaml: Yaml) -> Result<ParameterValue, String> {
    Ok(match yaml {
        Yaml::Bool(value) => value.into(),
        Yaml::Integer(value) => value.into(),
        Yaml::Double(value) => value.into(),
        Yaml::Text(value) => value.into(),
        Yaml::List(list) => return list_of(&list),
        Yaml::Null | Yaml::Mapping(_) => return Err("has no value; give it one, or leave it out".to_owned()),
    })
}

/// Returns a list as a value. An empty list is an error, and so are elements of several types.
fn list_of(list: &[Yaml]) -> Result<ParameterValue, String> {
    let Some(first) = list.first() else {
        return Err("is an empty list, which has no type; leave it out".to_owned());
    };
    macro_rules! all {
        ($kind:ident) => {
            list.iter()
                .map(|yaml| if let Yaml::$kind(value) = yaml { Some(value.clone()) } else { None })
                .collect::<Option<Vec<_>>>()
        };
    }
    let value = match first {
        Yaml::Bool(_) => all!(Bool).map(ParameterValue::BoolArray),
        Yaml::Integer(_) => all!(Integer).map(ParameterValue::IntegerArray),
        Yaml::Double(_) => all!(Double).map(ParameterValue::DoubleArray),
        Yaml::Text(_) => all!(Text).map(ParameterValue::StringArray),
        other => return Err(format!("is a list of {}; lists have bools, numbers or strings", other.kind())),
    };
    value.ok_or_else(|| {
        let other = list.iter().find(|other| other.kind() != first.kind()).map_or("something else", Yaml::kind);
        format!("is a list with {} and {other}; make all of them the same type", first.kind())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str, namespace: &str, name: &str) -> Vec<(String, ParameterValue)> {
        let node = NodeName::new(namespace, name).unwrap();
        ParameterFile::parse(text).unwrap().of_node(&node).collect()
    }

    #[test]
    fn values_have_the_types_that_yaml_gives_them() {
        let text = "
            arm:
              ros__parameters:
                bool: true
                integer: -5
                hexadecimal: 0x1F
                octal: 010
                double: 1.0
                exponent: 1e3
                infinite: .inf
                text: map
                quoted: '1'
                bools: [true, false]
                integers: [1, 2]
                doubles: [1.0, 2.5]
                strings: ['1', x]
                below:
                  it: {deep: 7}
        ";
        let expected: [(&str, ParameterValue); 14] = [
            ("bool", true.into()),
            ("integer", (-5).into()),
            ("hexadecimal", 31.into()),
            ("octal", 8.into()),
            ("double", 1.0.into()),
            ("exponent", 1000.0.into()),
            ("infinite", f64::INFINITY.into()),
            ("text", "map".into()),
            ("quoted", "1".into()),
            ("bools", vec![true, false].into()),
            ("integers", vec![1_i64, 2].into()),
            ("doubles", vec![1.0, 2.5].into()),
            ("strings", vec!["1".to_owned(), "x".to_owned()].into()),
            ("below.it.deep", 7.into()),
        ];
        assert_eq!(values(text, "/", "arm"), expected.map(|(name, value)| (name.to_owned(), value)));
    }

    #[test]
    fn nodes_are_found_by_name_namespace_and_wildcards_in_order() {
        let text = "
            /**: {ros__parameters: {a: 1}}
            robot:
              arm: {ros__parameters: {b: 2}}
              '*': {ros__parameters: {c: 3}}
            /*/arm: {ros__parameters: {d: 4}}
            /robot/left/arm: {ros__parameters: {e: 5}}
            arm: {ros__parameters: {f: 6}}
            /**/arm: {ros__parameters: {g: 7}}
            /robot/**: {ros__parameters: {h: 8}}
            /robot/arm/**: {ros__parameters: {i: 9}}
        ";
        let names =
            |namespace, name| values(text, namespace, name).into_iter().map(|(name, _)| name).collect::<String>();
        assert_eq!(names("/robot", "arm"), "abcdghi");
        assert_eq!(names("/robot/left", "arm"), "aegh");
        assert_eq!(names("/", "arm"), "afg");
        assert_eq!(names("/robot", "leg"), "ach");
        assert_eq!(names("/", "robot"), "ah");
    }

    /// Trying every distribution of the parts over the wildcards would take exponential time.
    #[test]
    fn many_wildcards_take_no_time() {
        let text = format!("/{}none: {{ros__parameters: {{a: 1}}}}", "**/".repeat(40));
        assert_eq!(values(&text, &"/part".repeat(40), "arm"), []);
        let text = format!("/{}arm/**: {{ros__parameters: {{a: 1}}}}", "**/part/".repeat(20));
        assert_eq!(values(&text, &"/part".repeat(40), "arm").len(), 1);
    }

    #[test]
    fn what_is_no_parameter_file_is_refused_with_the_place() {
        let cases = [
            ("a: [1", "is not valid YAML"),
            ("a: {ros__parameters: {b: 1, b: 2}}", "duplicate"),
            ("ros__parameters: {b: 1}", "`ros__parameters` belongs to no node"),
            ("/: {ros__parameters: {b: 1}}", "`ros__parameters` belongs to no node"),
            ("[1]", "`/` is a list; there should be a node's name with `ros__parameters` below it"),
            ("a: 1", "`/a` is an integer; there should be a node's name with `ros__parameters` below it"),
            ("a: {ros__parameters: {b: }}", "`/a b` has no value"),
            ("a: {ros__parameters: {b: {c: []}}}", "`/a b.c` is an empty list"),
            ("a: {ros__parameters: {b: [1, 1.5]}}", "`/a b` is a list with an integer and a double"),
            ("a: {ros__parameters: {b: [[1]]}}", "`/a b` is a list of a list"),
            ("a: {ros__parameters: 5}", "`/a ros__parameters` is an integer"),
            ("a: {ros__parameters: {b: 9223372036854775808}}", "too large for an integer"),
        ];
        for (text, expected) in cases {
            let error = ParameterFile::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
        assert_eq!(ParameterFile::parse("").unwrap(), ParameterFile::default());
        let error = ParameterFile::load("/nowhere.yaml").unwrap_err();
        assert!(error.to_string().contains("/nowhere.yaml"), "{error}");
    }
}
