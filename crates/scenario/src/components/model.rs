//! Model of a component file.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::parameters::{self, ParameterValue};
use crate::check::{Check, Table};
use crate::lists;

/// The content of a component file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "components")]
pub(super) struct Plan {
    #[serde(default, rename = "component", deserialize_with = "lists::components")]
    pub(super) components: Vec<ComponentPlan>,
}

/// Node that a container starts.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a component")]
#[non_exhaustive]
pub struct ComponentPlan {
    /// Type of the component, under which the program registered it, such as `demo::Talker`.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Name of the node.
    pub name: String,
    /// Namespace of the node.
    #[serde(default = "outermost")]
    pub namespace: String,
    /// The executor of its callback groups, unless a deployment file moves them.
    #[serde(default)]
    executor: Option<String>,
    /// Remapping rules of topics and services. Each maps a name in the code to a name in the graph.
    #[serde(default)]
    pub remap: BTreeMap<String, String>,
    /// Initial values of the node's parameters. A table stands for parameters with dots in their names.
    #[serde(default, deserialize_with = "parameters::flat")]
    pub parameters: BTreeMap<String, ParameterValue>,
}

fn outermost() -> String {
    "/".to_owned()
}

impl ComponentPlan {
    /// Returns the name of the executor of the component's callback groups. Unless the file names one, it is an executor for
    /// this component alone, with the component's name.
    #[must_use]
    pub fn executor(&self) -> &str {
        self.executor.as_deref().unwrap_or(&self.name)
    }
}

impl Plan {
    /// Checks the entry by itself. Names of nodes and types of components are checked elsewhere.
    pub(super) fn check(&self) -> Check {
        let mut seen = BTreeSet::new();
        for (number, component) in self.components.iter().enumerate() {
            let table = Table("component", number);
            let ComponentPlan { type_name, name, namespace, executor, .. } = component;
            table.require("type", !type_name.is_empty(), || {
                "a component has no type; write one, as in \"demo::Talker\"".into()
            })?;
            table.require("name", !name.is_empty(), || "a component has no name; give it one".into())?;
            let executor = executor.as_ref().is_none_or(|executor| !executor.is_empty());
            table.require("executor", executor, || "an executor has a name; leave it out for one of its own".into())?;
            table.require("name", seen.insert((namespace.trim_end_matches('/'), name)), || {
                format!(
                    "there is a component `{name}` in `{namespace}` already; give one of them another name or namespace"
                )
            })?;
        }
        Ok(())
    }
}
