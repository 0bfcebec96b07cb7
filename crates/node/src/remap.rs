//! Remapping rules, such as `talker:chatter:=/news` and `__ns:=/robot`.

use crate::names::{FullName, NameError, NodeName};

/// A kind of name that a rule replaces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NameKind {
    Topic,
    Service,
}

/// The names that a rule replaces.
#[derive(Clone, PartialEq, Debug)]
enum Scope {
    /// A topic or a service of this name; only one of them if the kind is given.
    Name { from: String, kind: Option<NameKind> },
    /// The node's name without its namespace.
    NodeName,
    /// The node's namespace.
    Namespace,
}

/// A remapping rule.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct RemapRule {
    /// The name, without its namespace, of the only node that the rule is for; `None` stands for all nodes.
    node: Option<String>,
    scope: Scope,
    to: String,
}

impl RemapRule {
    /// Returns the rule that replaces the topic or service `from` by `to`, for every node.
    pub(crate) const fn of_name(from: String, to: String) -> Self {
        Self { node: None, scope: Scope::Name { from, kind: None }, to }
    }

    /// Reads a rule as rcl does. The error is the problem, as text.
    pub(crate) fn parse(rule: &str) -> Result<Self, String> {
        let Some((left, to)) = rule.split_once(":=") else {
            return Err("there is no `:=` in it".to_owned());
        };
        let (kind, rest) = kind_of(left);
        // A node's name before a colon, unless the rule begins with a kind, such as `rostopic://`.
        let (node, left) = match rest.split_once(':') {
            Some((node, left)) if kind.is_none() => (Some(checked_node(node)?.to_owned()), left),
            _ => (None, left),
        };
        let (kind, from) = kind_of(left);
        let scope = match from {
            "__node" | "__name" if kind.is_none() => {
                checked_node(to)?;
                Scope::NodeName
            }
            "__ns" if kind.is_none() => {
                NodeName::new(to, "node").map_err(|_| format!("`{to}` is not a namespace such as `/robot`"))?;
                Scope::Namespace
            }
            _ => {
                checked_name(from)?;
                checked_name(to)?;
                Scope::Name { from: from.to_owned(), kind }
            }
        };
        Ok(Self { node, scope, to: to.to_owned() })
    }

    fn is_for(&self, node: &str) -> bool {
        self.node.as_deref().is_none_or(|only| only == node)
    }
}

/// Splits `rostopic://` or `rosservice://` off. Returns the kind, if there is one, and the rest.
fn kind_of(text: &str) -> (Option<NameKind>, &str) {
    if let Some(rest) = text.strip_prefix("rostopic://") {
        (Some(NameKind::Topic), rest)
    } else if let Some(rest) = text.strip_prefix("rosservice://") {
        (Some(NameKind::Service), rest)
    } else {
        (None, text)
    }
}

/// Returns the name of a node if it is valid, otherwise the problem.
fn checked_node(name: &str) -> Result<&str, String> {
    NodeName::new("/", name).map_err(|_| format!("`{name}` is not a name of a node"))?;
    Ok(name)
}

/// Checks a topic's or a service's name for any node, because the rule's node is not known yet. The error is the
/// problem, as text.
fn checked_name(name: &str) -> Result<(), String> {
    let any = NodeName::new("/", "node").map_err(|error| error.to_string())?;
    match any.resolve(name) {
        Ok(_) => Ok(()),
        Err(_) if name.contains(['*', '\\']) => {
            Err(format!("`{name}` has a wildcard or a back reference; write one rule per name instead"))
        }
        Err(_) => Err(format!("`{name}` is not a name of a topic or service")),
    }
}

/// Returns the name that a node gets by the rules: first the first rule for its name counts, and then the first one for
/// its namespace. As in rcl, a rule for one node names it by its original name in the first step, and by the name after
/// this step in the second one.
pub(crate) fn node_name(rules: &[RemapRule], namespace: &str, name: &str) -> Result<NodeName, NameError> {
    let first = |scope: &Scope, name: &str| {
        let rule = rules.iter().find(|rule| rule.scope == *scope && rule.is_for(name));
        rule.map(|rule| rule.to.as_str())
    };
    let name = first(&Scope::NodeName, name).unwrap_or(name);
    match first(&Scope::Namespace, name) {
        Some(namespace) => NodeName::new(namespace, name),
        // As in rcl, only a program may leave out the slash; a rule without one is an error.
        None if namespace.starts_with('/') => NodeName::new(namespace, name),
        None => NodeName::new(&format!("/{namespace}"), name),
    }
}

/// Names of topics and services that a node replaces, each with its kind, if only that is meant, and the name that
/// takes its place.
#[derive(Debug)]
pub(crate) struct Remaps(Vec<(FullName, Option<NameKind>, FullName)>);

impl Remaps {
    /// Returns the rules for a node, with absolute names.
    pub(crate) fn new(rules: &[RemapRule], node: &NodeName) -> Result<Self, NameError> {
        let mut remaps = Vec::new();
        for rule in rules.iter().filter(|rule| rule.is_for(node.base_name())) {
            if let Scope::Name { from, kind } = &rule.scope {
                remaps.push((node.resolve(from)?, *kind, node.resolve(&rule.to)?));
            }
        }
        Ok(Self(remaps))
    }

    /// Returns the name that replaces this one, or the name itself. The first rule that matches counts.
    pub(crate) fn apply(&self, name: FullName, kind: NameKind) -> FullName {
        let is_for = |only: &Option<NameKind>| only.is_none_or(|only| only == kind);
        let rule = self.0.iter().find(|(from, only, _)| *from == name && is_for(only));
        rule.map_or(name, |(_, _, to)| to.clone())
    }
}
