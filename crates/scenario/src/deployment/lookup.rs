//! What a deployment says about a name.

use rospin_core::{ChainError, PriorityMap};
use wildmatch::WildMatch;

use super::model::{CallbackPlan, Deployment, ExecutorPlan, GroupPlan, ThreadPlan};

/// Several patterns match a group, and they put it on different executors.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "group `{group}` of node `{node}` matches `{first}` and `{second}`, which put it on different executors; name it itself"
)]
#[non_exhaustive]
pub struct Ambiguous {
    /// The group.
    pub group: String,
    /// Its node.
    pub node: String,
    /// One of the patterns, as `node/name`.
    pub first: String,
    /// Another one.
    pub second: String,
}

impl Deployment {
    /// The plan of the executor called `name`.
    #[must_use]
    pub fn executor(&self, name: &str) -> Option<&ExecutorPlan> {
        self.executors.iter().find(|plan| plan.name == name)
    }

    /// The executor that the group called `group` of `node` goes to; `None` for where the program puts it.
    ///
    /// What names it goes before a pattern.
    ///
    /// # Errors
    /// If patterns contradict each other.
    pub fn executor_of(&self, node: &str, group: &str) -> Result<Option<String>, Ambiguous> {
        let exactness = |plan: &GroupPlan| (plan.name == group, plan.node == node);
        let matching: Vec<_> = self.groups.iter().filter(|plan| plan.is_for(node, group)).collect();
        let Some(best) = matching.iter().max_by_key(|plan| exactness(plan)) else {
            return Ok(None);
        };
        let other = |plan: &&&GroupPlan| exactness(plan) == exactness(best) && plan.executor != best.executor;
        if let Some(other) = matching.iter().find(other) {
            let (group, node) = (group.to_owned(), node.to_owned());
            return Err(Ambiguous { group, node, first: other.pattern(), second: best.pattern() });
        }
        Ok(Some(best.executor.clone()))
    }

    /// What is said about the entity called `name`.
    #[must_use]
    pub fn callback(&self, name: &str) -> Option<&CallbackPlan> {
        let exact = self.callbacks.iter().find(|plan| plan.name == name);
        exact.or_else(|| self.callbacks.iter().find(|plan| matches(&plan.name, name)))
    }

    /// What is said about the thread called `name`; an earlier entry goes before a later one.
    #[must_use]
    pub fn thread(&self, name: &str) -> Option<&ThreadPlan> {
        self.threads.iter().find(|plan| matches(&plan.name, name))
    }

    /// The priorities that follow from the chains.
    ///
    /// # Errors
    /// If the chains make no sense.
    pub fn chain_priorities(&self) -> Result<PriorityMap, ChainError> {
        PriorityMap::picas(&self.chains.iter().map(crate::model::Chain::to_core).collect::<Vec<_>>())
    }
}

impl GroupPlan {
    /// Whether it is about the group called `group` of `node`.
    #[must_use]
    pub fn is_for(&self, node: &str, group: &str) -> bool {
        matches(&self.node, node) && matches(&self.name, group)
    }

    pub(super) fn pattern(&self) -> String {
        format!("{}/{}", self.node, self.name)
    }
}

impl CallbackPlan {
    /// Whether it is about the entity called `name`.
    #[must_use]
    pub fn is_for(&self, name: &str) -> bool {
        matches(&self.name, name)
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    WildMatch::new(pattern).matches(name)
}
