//! Values that a program's user gives to parameters that no node has.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, Weak};

use super::store::Store;
use crate::sync::Mutex;

/// The beginning of names of parameters that rclcpp's nodes declare for their quality of service.
const QOS_OVERRIDES: &str = "qos_overrides.";

/// The parameters of all nodes of a [`Ros`](crate::Ros).
#[derive(Default)]
pub(crate) struct Stores(Mutex<Vec<Weak<Store>>>);

impl Stores {
    /// Adds the parameters of a node.
    pub(crate) fn add(&self, store: &Arc<Store>) {
        let mut stores = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stores.retain(|store| store.strong_count() > 0);
        stores.push(Arc::downgrade(store));
    }

    /// Returns a sentence for each parameter that is set by options, arguments or files, though no node has declared
    /// it. Leaves out overrides of quality of service, which only nodes of rclcpp have.
    pub(crate) fn unused_overrides(&self) -> Vec<String> {
        let stores = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let stores: Vec<_> = stores.iter().filter_map(Weak::upgrade).collect();
        let mut unused: BTreeMap<String, Vec<&Store>> = BTreeMap::new();
        let mut used = BTreeSet::new();
        for store in &stores {
            for (name, is_declared) in store.overrides() {
                if is_declared {
                    used.insert(name);
                } else {
                    unused.entry(name).or_default().push(store);
                }
            }
        }
        unused.retain(|name, _| !used.contains(name) && !name.starts_with(QOS_OVERRIDES));
        unused.iter().map(|(name, stores)| sentence(name, stores)).collect()
    }
}

/// Returns the sentence on a parameter that none of these nodes has declared.
fn sentence(name: &str, stores: &[&Store]) -> String {
    let nodes: Vec<_> = stores.iter().map(|store| format!("`{}`", store.node)).collect();
    let declared: BTreeSet<_> = stores.iter().flat_map(|store| store.names()).collect();
    let declared: Vec<_> = declared.iter().map(|name| format!("`{name}`")).collect();
    format!(
        "parameter `{name}` is set from outside, but not declared by {}; declared are {}",
        nodes.join(", "),
        if declared.is_empty() { "none".to_owned() } else { declared.join(", ") }
    )
}
