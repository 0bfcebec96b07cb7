//! Model of a component file.

use std::collections::BTreeMap;

use rospin_node::ParameterValue;
use serde::{Deserialize, Deserializer};

use super::parameters;

/// The content of a component file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "components")]
pub(super) struct Plan {
    #[serde(default, rename = "component", deserialize_with = "components")]
    pub(super) components: Vec<ComponentPlan>,
}

fn components<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ComponentPlan>, D::Error> {
    rospin_scenario::list(deserializer, "`[[component]]` above each component")
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
    /// Namespace of the node, by default `/`.
    #[serde(default = "outermost")]
    pub namespace: String,
    /// The name of the executor of the component's callback groups, unless a deployment file moves them; `None` if the
    /// file names none.
    #[serde(default)]
    pub(super) executor: Option<String>,
    /// Remapping rules of topics and services. Each maps a name in the code to a name in the graph.
    #[serde(default)]
    pub remap: BTreeMap<String, String>,
    /// Initial values of the node's parameters. A table stands for parameters with dots in their names. An empty list,
    /// whose type is unknown, is [`ParameterValue::NotSet`].
    #[serde(default, deserialize_with = "parameters::flat")]
    pub parameters: BTreeMap<String, ParameterValue>,
}

fn outermost() -> String {
    "/".to_owned()
}

impl ComponentPlan {
    /// Returns the name of the executor of the component's callback groups. Unless the file names one, it is an
    /// executor for this component alone, with the component's name.
    #[must_use]
    pub fn executor(&self) -> &str {
        self.executor.as_deref().unwrap_or(&self.name)
    }
}
