//! Comparison of a deployment with the program that it is for, or with a described system.

use std::collections::BTreeSet;

use rospin_core::EntityKind;

use super::lookup::Ambiguous;
use super::model::{Deployment, GroupPlan, Reaction};
use super::names::{forms, is_name, is_pattern, namespace_of};
use crate::model::{Chain, Scenario};
use crate::nearest::{nearest, nearest_of};

/// The most names of a program that an error lists.
const KNOWN_MAX: usize = 5;

/// Names of a program's, or of a described system's, executors, groups and callbacks.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Names {
    /// The word for the whole in messages: `program` or `system`.
    pub whole: &'static str,
    /// Names of the executors.
    pub executors: Vec<String>,
    /// Fully qualified names of nodes, and names of their groups. A group without a node has `*` in its place.
    pub groups: Vec<(String, String)>,
    /// Callbacks.
    pub callbacks: Vec<NamedCallback>,
    /// Full names that several callbacks have, with their number.
    pub shared_callbacks: Vec<(String, usize)>,
    /// Nodes and names that several groups have, with their number.
    pub shared_groups: Vec<((String, String), usize)>,
}

/// Callback of a program, as a deployment file may name it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedCallback {
    /// Full name of the entity, with its node's namespace.
    pub name: String,
    /// Namespace of the entity's node, such as `/robot1`.
    pub namespace: String,
    /// True if the callback is a timer's, which receives no data.
    pub is_timer: bool,
}

/// Reasons for which a deployment does not fit a program or system.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// The file names an executor, a group or a callback that the program does not have.
    #[error(
        "the deployment names {what}, which the {whole} does not have{}; it has {known}; correct the name, or pass \
         over such names with on_unknown = \"warn\"",
        near.as_ref().map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default()
    )]
    Unknown {
        /// The unknown executor, group or callback.
        what: String,
        /// The word for the whole: `program` or `system`.
        whole: &'static str,
        /// The program's name that is most like it, if one is.
        near: Option<String>,
        /// The program's names of that kind, separated by commas. Of many, the ones that are most like it.
        known: String,
    },
    /// The callbacks of a chain exist, but no namespace has all of them.
    #[error(
        "chain `{chain}`: no namespace has all of its callbacks; {namespace} lacks `{callback}`; if it is elsewhere, \
         write its full name, beginning with `/`"
    )]
    Torn {
        /// The name of the chain.
        chain: String,
        /// The namespace that has most of the chain.
        namespace: String,
        /// The first callback that is missing there.
        callback: String,
    },
    /// One namespace has the whole chain, another one only a part of it.
    #[error(
        "chain `{chain}`: {namespace} has a part of it, and lacks `{callback}`; callbacks there have its priorities \
         all the same"
    )]
    Partial {
        /// The name of the chain.
        chain: String,
        /// The namespace.
        namespace: String,
        /// The first callback that is missing there.
        callback: String,
    },
    /// The file names a callback or a group, and the program has several of that very name.
    #[error(
        "the deployment names {what}, and {count} have the name `{name}`: {effect}; give them names of their own \
         (`name` in their options; a node's own group has the name of the node)"
    )]
    Shared {
        /// The callback or group, as the file names it.
        what: String,
        /// The full name.
        name: String,
        /// The number of callbacks or groups that have it.
        count: usize,
        /// Effect of the file on them.
        effect: &'static str,
    },
    /// A chain of the file leads through a timer, which receives no data.
    #[error(
        "chain `{chain}`: `{timer}` is a timer and takes nothing from `{from}`; let a chain of its own start there"
    )]
    Timer {
        /// The name of the chain.
        chain: String,
        /// The callback that precedes the timer in the chain.
        from: String,
        /// The name of the timer.
        timer: String,
    },
    /// Patterns of the file put one group on two executors.
    #[error("the deployment contradicts itself: {0}")]
    Ambiguous(#[from] Ambiguous),
}

impl Mismatch {
    /// Returns true if it is about a name that the program does not have, so that the file's `on_unknown` decides.
    #[must_use]
    pub const fn is_of_unknown_names(&self) -> bool {
        matches!(self, Self::Unknown { .. } | Self::Torn { .. })
    }

    /// Returns true if it is only worth a warning.
    const fn is_warning(&self) -> bool {
        matches!(self, Self::Partial { .. } | Self::Shared { .. })
    }
}

impl Names {
    /// Returns empty names of a program.
    #[must_use]
    pub const fn of_program() -> Self {
        Self {
            whole: "program",
            executors: Vec::new(),
            groups: Vec::new(),
            callbacks: Vec::new(),
            shared_callbacks: Vec::new(),
            shared_groups: Vec::new(),
        }
    }

    /// Returns the names of a described system.
    ///
    /// A system file says what its callbacks are called, but not what their nodes are: the last two parts of a name
    /// count as the node's own, `planner/scan` of `robot1/planner/scan`, and what stands before them as its namespace.
    #[must_use]
    pub fn of_system(system: &Scenario) -> Self {
        let mut names = Self { whole: "system", ..Self::of_program() };
        names.executors.extend(system.executors.iter().map(|executor| executor.name.clone()));
        let mut groups = BTreeSet::new();
        for callback in &system.callbacks {
            let name = callback.name.trim_start_matches('/');
            let node = format!("/{}", namespace_of(name));
            let namespace = namespace_of(&node).to_owned();
            names.callbacks.push(NamedCallback {
                name: name.to_owned(),
                namespace,
                is_timer: callback.kind == EntityKind::Timer,
            });
            // The group's name may be a part of the callback's, so the node's may be shorter: `planner` in
            // `planner/control/scan`.
            let mut beginning = node.as_str();
            while !beginning.trim_start_matches('/').is_empty() {
                groups.insert((beginning.to_owned(), callback.group.clone()));
                beginning = namespace_of(beginning);
            }
        }
        names.groups.extend(groups);
        for group in &system.groups {
            if !names.groups.iter().any(|(_, name)| *name == group.name) {
                names.groups.push(("*".to_owned(), group.name.clone()));
            }
        }
        names
    }

    /// Returns the names of the nodes. A group without a node counts as one.
    fn nodes(&self) -> Vec<String> {
        let name = |(node, group): &(String, String)| if node.is_empty() { group.clone() } else { node.clone() };
        self.groups.iter().map(name).collect()
    }
}

impl Deployment {
    /// Returns true if a program does not run with that mismatch, and false if it only warns.
    #[must_use]
    pub fn refuses(&self, mismatch: &Mismatch) -> bool {
        let passes = mismatch.is_of_unknown_names() && self.on_unknown == Reaction::Warn;
        !passes && !mismatch.is_warning()
    }

    /// Returns everything in which the deployment does not fit the program or system of these names, in the order of
    /// the file.
    #[must_use]
    pub fn compare(&self, names: &Names) -> Vec<Mismatch> {
        let mut found = Vec::new();
        for (node, group) in &names.groups {
            found.extend(self.executor_of(node, group).err().map(Mismatch::from));
        }
        let search = Search { deployment: self, names, nodes: names.nodes() };
        found.extend(search.groups());
        found.extend(search.executors());
        found.extend(search.callbacks());
        for chain in &self.chains {
            let unknown = search.names_of(chain);
            let is_known = unknown.is_empty();
            found.extend(unknown);
            if is_known {
                found.extend(search.instances(chain));
            }
            found.extend(search.timers(chain));
        }
        found.extend(search.shared_groups());
        found.extend(search.shared_callbacks());
        found
    }
}

/// Search for the names of a deployment.
struct Search<'a> {
    deployment: &'a Deployment,
    names: &'a Names,
    nodes: Vec<String>,
}

impl Search<'_> {
    fn groups(&self) -> Vec<Mismatch> {
        let mut found = Vec::new();
        for plan in &self.deployment.groups {
            if self.names.groups.iter().any(|(node, group)| plan.is_for(node, group)) {
                continue;
            }
            found.extend(self.unknown_group(plan));
        }
        found
    }

    /// Returns the mismatch of a group that is not there, unless another program has it. The hint has both keys of the
    /// group that was meant, since they are easily taken for one.
    fn unknown_group(&self, plan: &GroupPlan) -> Option<Mismatch> {
        let is_of_any_node = plan.node == "*";
        let written = if is_of_any_node { plan.name.clone() } else { plan.pattern() };
        let mut keys = Vec::new();
        for (node, group) in &self.names.groups {
            let node = form_like(&written, node, namespace_of(node));
            keys.push((format!("{node}/{group}"), format!("node = \"{node}\", name = \"{group}\"")));
        }
        let known = keys.iter().map(|(name, _)| name.clone()).collect();
        let of = if is_of_any_node { " of any node" } else { "" };
        let is_elsewhere = self.deployment.is_elsewhere(&plan.pattern(), &self.nodes);
        let mut mismatch = self.unknown("group", &written, of, known).filter(|_| !is_elsewhere)?;
        if let Mismatch::Unknown { near: Some(near), .. } = &mut mismatch
            && let Some((_, keys)) = keys.iter().find(|(name, _)| name == near)
        {
            near.clone_from(keys);
        }
        Some(mismatch)
    }

    fn executors(&self) -> Vec<Mismatch> {
        let mut found = Vec::new();
        for plan in &self.deployment.executors {
            let is_used = self.deployment.groups.iter().any(|group| group.executor == plan.name);
            if !is_used && !self.names.executors.contains(&plan.name) {
                found.extend(self.unknown("executor", &plan.name, "", self.names.executors.clone()));
            }
        }
        found
    }

    fn callbacks(&self) -> Vec<Mismatch> {
        let mut found = Vec::new();
        for plan in &self.deployment.callbacks {
            let mut all = self.names.callbacks.iter();
            if !all.any(|callback| plan.is_for(&callback.name, &callback.namespace)) {
                found.extend(self.unknown("callback", &plan.name, "", self.known_callbacks(&plan.name)));
            }
        }
        found
    }

    /// Finds groups that the file names one by one, although several have the name.
    fn shared_groups(&self) -> Vec<Mismatch> {
        let mut found = Vec::new();
        for plan in self.deployment.groups.iter().filter(|plan| !is_pattern(&plan.node) && !is_pattern(&plan.name)) {
            for ((node, group), count) in &self.names.shared_groups {
                if plan.is_for(node, group) {
                    let what = format!("group `{}`", plan.pattern());
                    let name = format!("{node}/{group}");
                    found.push(Mismatch::Shared { what, name, count: *count, effect: "all go to its executor" });
                }
            }
        }
        found
    }

    /// Finds callbacks that the file names one by one, although several have the name.
    fn shared_callbacks(&self) -> Vec<Mismatch> {
        let in_chains = self.deployment.chains.iter().flat_map(|chain| &chain.callbacks);
        let written: BTreeSet<&String> =
            self.deployment.callbacks.iter().map(|plan| &plan.name).chain(in_chains).collect();
        let mut found = Vec::new();
        for written in written {
            let shared = |callback: &NamedCallback| {
                let mut all = self.names.shared_callbacks.iter();
                all.find(|(name, _)| *name == callback.name).map(|(_, count)| *count)
            };
            for callback in self.find(written) {
                if let Some(count) = shared(callback) {
                    let what = format!("callback `{written}`");
                    let name = callback.name.clone();
                    found.push(Mismatch::Shared { what, name, count, effect: "all have its settings" });
                }
            }
        }
        found
    }

    /// Returns the callbacks of the chain that exist nowhere.
    fn names_of(&self, chain: &Chain) -> Vec<Mismatch> {
        let mut found = Vec::new();
        for name in &chain.callbacks {
            if self.find(name).next().is_none() {
                let of = format!(" of chain `{}`", chain.name);
                found.extend(self.unknown("callback", name, &of, self.known_callbacks(name)));
            }
        }
        found
    }

    /// Looks for a namespace that has all of the chain's relative names. Names that are elsewhere count as being there.
    fn instances(&self, chain: &Chain) -> Vec<Mismatch> {
        let names: Vec<&String> = chain.callbacks.iter().filter(|name| !name.starts_with('/')).collect();
        let spaces_of = |name: &String| -> BTreeSet<String> {
            self.find(name).map(|callback| space_of(name, &callback.name)).collect()
        };
        // The namespaces that have each name, of those that have it somewhere.
        let places: Vec<(&String, BTreeSet<String>)> =
            names.into_iter().map(|name| (name, spaces_of(name))).filter(|(_, spaces)| !spaces.is_empty()).collect();
        let spaces: BTreeSet<&String> = places.iter().flat_map(|(_, spaces)| spaces).collect();
        let missing = |space: &String| -> Vec<&String> {
            places.iter().filter(|(_, spaces)| !spaces.contains(space)).map(|(name, _)| *name).collect()
        };
        let Some(best) = spaces.iter().copied().min_by_key(|space| missing(space).len()) else {
            return Vec::new();
        };
        let said = |space: &String| (chain.name.clone(), format!("`/{space}`"));
        if let Some(callback) = missing(best).first() {
            let (chain, namespace) = said(best);
            return vec![Mismatch::Torn { chain, namespace, callback: (*callback).clone() }];
        }
        let mut found = Vec::new();
        for space in spaces {
            if let Some(callback) = missing(space).first() {
                let (chain, namespace) = said(space);
                found.push(Mismatch::Partial { chain, namespace, callback: (*callback).clone() });
            }
        }
        found
    }

    /// Finds a timer that the chain goes on through.
    fn timers(&self, chain: &Chain) -> Option<Mismatch> {
        let is_timer = |name: &str| self.find(name).any(|callback| callback.is_timer);
        let link = chain.callbacks.windows(2).find(|link| is_timer(&link[1]))?;
        let from = link[0].clone();
        let timer = link[1].clone();
        Some(Mismatch::Timer { chain: chain.name.clone(), from, timer })
    }

    fn find(&self, written: &str) -> impl Iterator<Item = &NamedCallback> {
        self.names.callbacks.iter().filter(move |callback| is_name(written, &callback.name, &callback.namespace))
    }

    fn known_callbacks(&self, written: &str) -> Vec<String> {
        let form = |callback: &NamedCallback| form_like(written, &callback.name, &callback.namespace);
        self.names.callbacks.iter().map(form).collect()
    }

    /// Returns the mismatch of a name that is not there, unless the file says that another program has it. `what` is
    /// the kind of thing, and `of` what follows its name in the message. `known` has the program's names of that kind.
    fn unknown(&self, what: &str, name: &str, of: &str, mut known: Vec<String>) -> Option<Mismatch> {
        if self.deployment.is_elsewhere(name, &self.nodes) {
            return None;
        }
        // Robots of the same kind have the same relative names.
        let mut seen = BTreeSet::new();
        known.retain(|name| seen.insert(name.clone()));
        let all: Vec<&str> = known.iter().map(String::as_str).collect();
        let near = nearest(name, &all).map(str::to_owned);
        let known = match all.len().saturating_sub(KNOWN_MAX) {
            0 if all.is_empty() => "none".to_owned(),
            0 => all.join(", "),
            more => format!("{}, and {more} more", nearest_of(name, &all, KNOWN_MAX).join(", ")),
        };
        Some(Mismatch::Unknown { what: format!("{what} `{name}`{of}"), whole: self.names.whole, near, known })
    }
}

/// Returns the form of a name that a user who wrote `written` may have meant: the absolute one, or the shortest
/// relative one.
fn form_like(written: &str, name: &str, namespace: &str) -> String {
    let forms = forms(name, namespace);
    let shortest = forms.last().copied().unwrap_or(name);
    if written.starts_with('/') { format!("/{}", forms.first().copied().unwrap_or(name)) } else { shortest.to_owned() }
}

/// Returns the namespace, without a slash before it, in which the relative name `written` names the callback called
/// `name`.
fn space_of(written: &str, name: &str) -> String {
    name.strip_suffix(written).unwrap_or("").trim_end_matches('/').to_owned()
}
