//! Lookup of names in a deployment.

use rospin_core::{ChainError, PriorityMap};
use wildmatch::WildMatch;

use super::model::{CallbackPlan, Deployment, ExecutorPlan, GroupPlan, ThreadPlan};
use super::names::{exactness, forms, is_name, matches, namespace_of};

/// Several patterns match a group and move it to different executors.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "group `{group}` of node `{node}` matches `{first}` and `{second}`, which put it on different executors; name it \
     itself"
)]
#[non_exhaustive]
pub struct Ambiguous {
    /// Name of the group.
    pub group: String,
    /// Name of the group's node.
    pub node: String,
    /// The first of the contradicting patterns, as `node/name`.
    pub first: String,
    /// The second of the contradicting patterns, as `node/name`.
    pub second: String,
}

impl Deployment {
    /// Returns the settings of the executor called `name`; `None` if the file has none.
    #[must_use]
    pub fn executor(&self, name: &str) -> Option<&ExecutorPlan> {
        self.executors.iter().find(|plan| plan.name == name)
    }

    /// Returns the executor of the group called `group` of `node`, or `None` if the program decides. `node` is a fully
    /// qualified name: entries may name the node relative to its namespace.
    ///
    /// An entry with the exact name of the group takes precedence over one with a pattern. Among those, an entry with
    /// the exact name of the node does, and the more of the namespace that has the more.
    ///
    /// # Errors
    /// If the best entry is not the only one of its precedence, and another one names another executor.
    pub fn executor_of(&self, node: &str, group: &str) -> Result<Option<String>, Ambiguous> {
        let precedence = |plan: &GroupPlan| {
            let names_node = is_name(&plan.node, node, namespace_of(node));
            (plan.name == group, if names_node { exactness(&plan.node) } else { 0 })
        };
        let matching: Vec<_> = self.groups.iter().filter(|plan| plan.is_for(node, group)).collect();
        let Some(best) = matching.iter().max_by_key(|plan| precedence(plan)) else {
            return Ok(None);
        };
        let other = |plan: &&&GroupPlan| precedence(plan) == precedence(best) && plan.executor != best.executor;
        if let Some(other) = matching.iter().find(other) {
            let group = group.to_owned();
            let node = node.to_owned();
            return Err(Ambiguous { group, node, first: other.pattern(), second: best.pattern() });
        }
        Ok(Some(best.executor.clone()))
    }

    /// Returns the settings of the entity called `name`, whose node is in `namespace`; `None` if the file has none. An
    /// exact name takes precedence over a pattern, and among exact names the one that has more of the namespace.
    #[must_use]
    pub fn callback(&self, name: &str, namespace: &str) -> Option<&CallbackPlan> {
        let named = self.callbacks.iter().filter(|plan| is_name(&plan.name, name, namespace));
        let exact = named.max_by_key(|plan| exactness(&plan.name));
        exact.or_else(|| self.callbacks.iter().find(|plan| plan.is_for(name, namespace)))
    }

    /// Returns the settings of the thread called `name`; `None` if the file has none. An earlier entry takes
    /// precedence.
    #[must_use]
    pub fn thread(&self, name: &str) -> Option<&ThreadPlan> {
        self.threads.iter().find(|plan| WildMatch::new(&plan.name).matches(name))
    }

    /// Returns true if the file says that another program has the executor, group or callback of that name. A group is
    /// named by its node, a slash and its name.
    ///
    /// A pattern does not stand for names that begin with one of `nodes`, the nodes that this program has: a name that
    /// this program's node does not have is misspelt. An entry without `*` and `?` stands for its name in any case.
    #[must_use]
    pub fn is_elsewhere(&self, name: &str, nodes: &[String]) -> bool {
        let plain = name.trim_start_matches('/');
        // Of a node that an absolute name names, only the full name can be its beginning.
        let begins = |node: &str| match name.starts_with('/') {
            true => vec![node.trim_start_matches('/').to_owned()],
            false => forms(node, namespace_of(node)).into_iter().map(str::to_owned).collect(),
        };
        let is_of = |node: &String| {
            let mut begins = begins(node).into_iter();
            begins.any(|begin| plain.strip_prefix(&begin).is_some_and(|rest| rest.starts_with('/')))
        };
        let is_here = || nodes.iter().any(is_of);
        let covers = |pattern: &String| WildMatch::new(pattern).matches(name) || WildMatch::new(pattern).matches(plain);
        self.elsewhere.iter().any(|pattern| pattern == name || covers(pattern) && !is_here())
    }

    /// Returns the priorities that PiCAS derives from the file's chains.
    ///
    /// # Errors
    /// If the chains are invalid.
    pub fn chain_priorities(&self) -> Result<PriorityMap, ChainError> {
        PriorityMap::picas(&self.chains.iter().map(crate::model::Chain::to_core).collect::<Vec<_>>())
    }
}

impl GroupPlan {
    /// Returns true if this entry applies to the group called `group` of `node`, which is a fully qualified name. An
    /// entry for `planner` applies to `/planner` and to `/robot1/planner`, one for `/planner` only to the former.
    #[must_use]
    pub fn is_for(&self, node: &str, group: &str) -> bool {
        matches(&self.node, node, namespace_of(node)) && WildMatch::new(&self.name).matches(group)
    }

    pub(super) fn pattern(&self) -> String {
        format!("{}/{}", self.node, self.name)
    }
}

impl CallbackPlan {
    /// Returns true if this entry applies to the entity called `name`, whose node is in `namespace`.
    #[must_use]
    pub fn is_for(&self, name: &str, namespace: &str) -> bool {
        matches(&self.name, name, namespace)
    }
}
