//! Parameter files, as `ros2 param dump` writes and `--params-file` reads them.

#[cfg(test)]
mod beside_rcl;
mod given;
mod scalar;

use std::path::{Path, PathBuf};

use rospin_dynamic::tree::{self, Content, Entry, Node, Problem};

pub(crate) use given::Given;

use super::value::{ParameterKind, ParameterValue};
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
/// several entries set a parameter of a node, the last one counts. A section that comes again adds to the first one of
/// its name.
///
/// Values have the types that rcl gives them: `yes` is a bool, `inf`, `.5` and `08` are floating-point numbers, `010`
/// and `0x1F` integers, `1_000` and `0b11` strings. A value is judged when a node declares its parameter. What no
/// parameter can have, such as a list of mappings, is an error of that declaration, and leaves other nodes and
/// parameters alone. An empty list gets its type from the declaration. `null`, which `ros2 param dump` writes for a
/// parameter without a value, is no value for an [`Option`] or a [`ParameterValue`](crate::ParameterValue), and the
/// text `null` for a string, as in rcl.
///
/// ```
/// use rospin::parameters::ParameterFile;
/// use rospin::{Context, ContextOptions, Node, NodeOptions, Ros};
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
    sections: Vec<(String, Vec<(String, Given)>)>,
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
        let problem = |Problem { reason, .. }: Problem| format!("the value is not valid YAML: {reason}");
        let documents = tree::read(value).map_err(problem)?;
        let Some(value) = documents.last() else {
            return Err("there is no value behind `:=`".to_owned());
        };
        let value = match Given::of(value) {
            Given::Invalid(reason) => return Err(format!("the value {reason}")),
            value => value,
        };
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
        let documents = tree::read(text).map_err(|Problem { line, reason }| ParameterFileError::Syntax {
            file: file.to_owned(),
            reason: format!("line {line}: {reason}"),
        })?;
        let mut read = Self::default();
        for document in documents {
            let nodes = read.nodes(file, "", document.line, document);
            nodes.map_err(|(place, line, reason)| ParameterFileError::Meaning {
                file: file.to_owned(),
                place,
                reason: format!("{reason} (line {line})"),
            })?;
        }
        Ok(read)
    }

    /// Reads the nodes below a namespace, which is in the line `line`. The error is the place, its line and the
    /// problem.
    fn nodes(&mut self, file: &str, namespace: &str, line: usize, node: Node) -> Result<(), (String, usize, String)> {
        if node.is_nothing() && namespace.is_empty() {
            return Ok(());
        }
        let Content::Mapping(entries) = node.content else {
            let kind = kind_of(&node);
            let reason = format!("is {kind}; there should be a node's name with `{PARAMETERS}` below it");
            let place = if namespace.is_empty() { "/" } else { namespace };
            return Err((place.to_owned(), line, reason));
        };
        for Entry { key, line: own, value: below } in entries {
            // rcl takes every key that begins so.
            if !key.starts_with(PARAMETERS) {
                self.nodes(file, &format!("{namespace}/{}", key.trim_matches('/')), own, below)?;
                continue;
            }
            check_pattern(namespace).map_err(|(place, reason)| (place, line, reason))?;
            let mut parameters = Vec::new();
            collect(file, "", below, &mut parameters)
                .map_err(|(line, reason)| (format!("{namespace} {PARAMETERS}"), line, reason))?;
            match self.sections.iter_mut().find(|(known, _)| known == namespace) {
                Some((_, known)) => known.extend(parameters),
                None => self.sections.push((namespace.to_owned(), parameters)),
            }
        }
        Ok(())
    }

    /// Returns the names and values that the file has for a node: those of patterns such as `/**` first, then its own,
    /// each in the order of the file. The last value of a name counts, so as for `ros2 param load` its own do, wherever
    /// they are in the file. `kind` returns the type of a parameter, if it is known, which an empty list gets.
    ///
    /// ```
    /// use rospin::graph::NodeName;
    /// use rospin::parameters::{ParameterFile, ParameterValue};
    ///
    /// let file = ParameterFile::parse("/**: {ros__parameters: {pid: {p: 2.0}, frame: base}}")?;
    /// let settings = file.settings(&NodeName::new("/robot", "arm")?, |_| None)?;
    /// assert_eq!(settings[0], ("pid.p".to_owned(), ParameterValue::Double(2.0)));
    /// assert_eq!(settings[1], ("frame".to_owned(), ParameterValue::from("base")));
    /// let others = file.without_wildcards();
    /// assert!(others.settings(&NodeName::new("/robot", "arm")?, |_| None)?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a value is one that no parameter can have.
    pub fn settings(
        &self,
        node: &NodeName,
        kind: impl Fn(&str) -> Option<ParameterKind>,
    ) -> Result<Vec<(String, ParameterValue)>, ParameterFileError> {
        let mut settings = Vec::new();
        let of_patterns = self.of_sections(node, |pattern| pattern.contains('*'));
        let own = self.of_sections(node, |pattern| !pattern.contains('*'));
        for (name, given) in of_patterns.chain(own) {
            let value = given.value(kind(&name), true, None).map_err(|reason| ParameterFileError::Meaning {
                file: "(file)".to_owned(),
                place: name.clone(),
                reason,
            })?;
            settings.retain(|(known, _)| *known != name);
            let value = value.for_kind(kind(&name));
            settings.push((name, value));
        }
        Ok(settings)
    }

    /// Returns the file without what it has for all nodes that a pattern such as `/**` matches.
    #[must_use]
    pub fn without_wildcards(mut self) -> Self {
        self.sections.retain(|(pattern, _)| !pattern.contains('*'));
        self
    }

    /// Returns the parameters that the file has for a node.
    pub(crate) fn of_node(&self, node: &NodeName) -> impl Iterator<Item = (String, Given)> {
        self.of_sections(node, |_| true)
    }

    /// Returns the parameters that the file has for a node in sections whose patterns are wanted.
    fn of_sections(&self, node: &NodeName, is_wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = (String, Given)> {
        let node = node.to_string();
        let sections = self.sections.iter();
        let sections =
            sections.filter(move |(pattern, _)| is_wanted(pattern) && matches(&parts(pattern), &parts(&node)));
        sections.flat_map(|(_, parameters)| parameters.iter().cloned())
    }
}

impl ParameterValue {
    /// Returns the value that a text means on a command line, by the rules of parameter files: `true`, `2`, `2.5`,
    /// `[1, 2]`. Any other text is a string, also `null`, as for `ros2 param set`. `kind` is the type of the parameter,
    /// if it is known: for a floating-point parameter, `2` is 2.0, and for a string parameter, every text is a string.
    ///
    /// ```
    /// use rospin::parameters::{ParameterKind, ParameterValue};
    ///
    /// assert_eq!(ParameterValue::from_yaml("2", None), ParameterValue::Integer(2));
    /// assert_eq!(ParameterValue::from_yaml("2", Some(ParameterKind::Double)), ParameterValue::Double(2.0));
    /// assert_eq!(ParameterValue::from_yaml("2", Some(ParameterKind::String)), ParameterValue::from("2"));
    /// assert_eq!(ParameterValue::from_yaml("a: b", None), ParameterValue::from("a: b"));
    /// let texts = ParameterValue::from_yaml("[x, y, 1]", Some(ParameterKind::StringArray));
    /// assert_eq!(texts, ParameterValue::from(vec!["x".to_owned(), "y".to_owned(), "1".to_owned()]));
    /// ```
    #[must_use]
    pub fn from_yaml(text: &str, kind: Option<ParameterKind>) -> Self {
        let is_text = kind == Some(ParameterKind::String) && !text.starts_with(['\'', '"']);
        let documents = tree::read(text).unwrap_or_default();
        let [document] = &documents[..] else { return text.into() };
        if is_text {
            return text.into();
        }
        if kind == Some(ParameterKind::StringArray)
            && let Some(texts) = texts_of(document)
        {
            return Self::StringArray(texts);
        }
        let value = match Given::of(document) {
            // On a command line, null is a text like others, and nothing else tells the type of an empty list.
            Given::Invalid(_) | Given::Null(_) => return text.into(),
            Given::EmptyList if kind.is_none() => return Self::BoolArray(Vec::new()),
            given => given.value(kind, true, None).unwrap_or_else(|_| text.into()),
        };
        value.for_kind(kind)
    }

    /// Returns the value as one of that type, if integers may stand for it.
    fn for_kind(self, kind: Option<ParameterKind>) -> Self {
        match (self, kind) {
            (Self::Integer(value), Some(ParameterKind::Double)) => Self::Double(value as f64),
            (Self::IntegerArray(values), Some(ParameterKind::DoubleArray)) => {
                Self::DoubleArray(values.into_iter().map(|value| value as f64).collect())
            }
            (Self::IntegerArray(values), Some(ParameterKind::ByteArray)) => {
                let bytes: Result<Vec<u8>, _> = values.iter().map(|value| u8::try_from(*value)).collect();
                bytes.map_or(Self::IntegerArray(values), Self::ByteArray)
            }
            (value, _) => value,
        }
    }
}

/// Returns the texts of a list of scalars; `None` for other nodes.
fn texts_of(node: &Node) -> Option<Vec<String>> {
    let Content::List(list) = &node.content else { return None };
    let mut texts = Vec::with_capacity(list.len());
    for element in list {
        let Content::Scalar(scalar) = &element.content else { return None };
        texts.push(scalar.text.clone());
    }
    Some(texts)
}

/// Returns the kind of node, for error messages.
fn kind_of(node: &Node) -> &'static str {
    match &node.content {
        Content::Scalar(_) if node.is_nothing() => "nothing",
        Content::Scalar(scalar) => given::kind_of(&scalar::value_of(scalar)),
        Content::List(_) => "a list",
        Content::Mapping(_) => "a mapping",
    }
}

/// Refuses a pattern that can match no node. The error is the place and the problem.
fn check_pattern(pattern: &str) -> Result<(), (String, String)> {
    if parts(pattern).is_empty() {
        let reason = "belongs to no node; put a node's name above it, or `/**` for all nodes".to_owned();
        return Err((PARAMETERS.to_owned(), reason));
    }
    for part in parts(pattern) {
        let is_word = part.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
            && !part.starts_with(|first: char| first.is_ascii_digit());
        if is_word || part == "*" || part == "**" {
            continue;
        }
        let reason = match part.contains('*') {
            true => "matches no node: `*` and `**` stand for whole parts of a name, between slashes".to_owned(),
            false => format!(
                "matches no node: `{part}` is no part of a name, which has letters, digits and underscores, and does not begin with a digit"
            ),
        };
        return Err((pattern.to_owned(), reason));
    }
    Ok(())
}

/// Returns the parts of a node's name or pattern, between its slashes.
fn parts(name: &str) -> Vec<&str> {
    name.split('/').filter(|part| !part.is_empty()).collect()
}

/// Returns true if the pattern matches the name.
fn matches(pattern: &[&str], name: &[&str]) -> bool {
    let mut at = 0;
    let mut part = 0;
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

/// Reads the parameters whose names begin with `prefix`; all of them if it is empty. The error is the line and the
/// problem.
fn collect(file: &str, prefix: &str, node: Node, parameters: &mut Vec<(String, Given)>) -> Result<(), (usize, String)> {
    if prefix.is_empty() && node.is_nothing() {
        return Ok(());
    }
    if let Content::Mapping(entries) = node.content {
        for Entry { key, value: below, .. } in entries {
            let name = if prefix.is_empty() { key } else { format!("{prefix}.{key}") };
            collect(file, &name, below, parameters)?;
        }
        return Ok(());
    }
    if prefix.is_empty() {
        return Err((node.line, format!("is {}; there should be names and values below it", kind_of(&node))));
    }
    let given = match Given::of(&node) {
        Given::Invalid(reason) => Given::Invalid(format!("{reason} (`{file}`, line {})", node.line)),
        given => given,
    };
    parameters.push((prefix.to_owned(), given));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::parameters::value::ParameterValue;

    fn values(text: &str, namespace: &str, name: &str) -> Vec<(String, ParameterValue)> {
        let node = NodeName::new(namespace, name).unwrap();
        let file = ParameterFile::parse(text).unwrap();
        file.of_node(&node).map(|(name, given)| (name, given.value(None, true, None).unwrap())).collect()
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

    #[test]
    fn a_nodes_own_settings_count_more_than_those_of_wildcards() {
        let text = "
            /robot/arm: {ros__parameters: {a: 1, b: 1}}
            /**: {ros__parameters: {a: 2, c: 2}}
        ";
        let node = NodeName::new("/robot", "arm").unwrap();
        let settings = ParameterFile::parse(text).unwrap().settings(&node, |_| None).unwrap();
        let expected: [(&str, ParameterValue); 3] = [("c", 2.into()), ("a", 1.into()), ("b", 1.into())];
        assert_eq!(settings, expected.map(|(name, value)| (name.to_owned(), value)));
    }

    #[test]
    fn no_text_of_a_command_line_means_that_there_is_no_value() {
        for text in ["null", "~", "Null", "NULL", ""] {
            for kind in [None, Some(ParameterKind::String), Some(ParameterKind::Bool)] {
                assert_eq!(ParameterValue::from_yaml(text, kind), ParameterValue::from(text), "{kind:?}");
            }
        }
        assert_eq!(ParameterValue::from_yaml("[]", None), ParameterValue::BoolArray(Vec::new()));
        let doubles = ParameterValue::from_yaml("[]", Some(ParameterKind::DoubleArray));
        assert_eq!(doubles, ParameterValue::DoubleArray(Vec::new()));
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
    fn an_invalid_parameter_file_is_refused_with_the_place() {
        let cases = [
            ("a: [1", "is not valid YAML"),
            ("ros__parameters: {b: 1}", "`ros__parameters` belongs to no node"),
            ("/: {ros__parameters: {b: 1}}", "`ros__parameters` belongs to no node"),
            ("[1]", "`/` is a list; there should be a node's name with `ros__parameters` below it"),
            ("a: 1", "`/a` is an integer; there should be a node's name with `ros__parameters` below it"),
            ("a: {ros__parameters: 5}", "`/a ros__parameters` is an integer"),
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
