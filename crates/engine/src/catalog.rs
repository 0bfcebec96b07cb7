//! The names of a program's executors, groups and callbacks. A deployment file is compared with them, and a template of
//! one is written from them.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};

use crate::sync::{Mutex, MutexGuard};

use rospin_scenario::Deployment;
use rospin_scenario::deployment::{CallbackPlan, ExecutorPlan, GroupPlan, NamedCallback, Names};

/// Catalog of the program's executors, groups and callbacks. It is closed before the first spin, so that it does not
/// grow with entities that come and go, unless the program loads parts later. Then it has each name once.
#[derive(Debug)]
pub(crate) struct Catalog(Mutex<Option<Program>>);

/// The names in a program, in the form of a deployment, with which its deployment file is compared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    /// Executors, groups and callbacks as a deployment file would name them.
    pub(crate) deployment: Deployment,
    /// The names of callbacks that are timers.
    pub(crate) timers: BTreeSet<String>,
    /// True once the program was compared with its deployment.
    pub(crate) is_checked: bool,
    /// The namespaces of callbacks' nodes, by the callbacks' names. Callbacks of the root namespace are left out.
    namespaces: BTreeMap<String, String>,
    /// Those that have the name of a callback. Mostly it is one.
    callbacks: BTreeMap<String, Holders>,
    /// Those that have the name of a node and a group.
    groups: BTreeMap<(String, String), Holders>,
}

/// Entities or groups that have one name, of which some may be gone.
#[derive(Clone, Debug, Default)]
struct Holders(Vec<Weak<dyn Any + Send + Sync>>);

impl Holders {
    fn add<T: Send + Sync + 'static>(&mut self, holder: &Arc<T>) {
        let holder: Weak<T> = Arc::downgrade(holder);
        self.0.retain(|other| other.strong_count() > 0);
        self.0.push(holder);
    }

    /// Returns the number of those that are still there.
    fn count(&self) -> usize {
        self.0.iter().filter(|holder| holder.strong_count() > 0).count()
    }
}

impl Program {
    /// Returns the namespace of the node of the callback called `name`.
    pub(crate) fn namespace_of(&self, name: &str) -> &str {
        self.namespaces.get(name).map_or("", String::as_str)
    }

    /// Returns the names that a deployment file is compared with.
    pub(crate) fn names(&self) -> Names {
        let mut names = Names::of_program();
        names.executors.extend(self.deployment.executors.iter().map(|executor| executor.name.clone()));
        names.groups.extend(self.deployment.groups.iter().map(|group| (group.node.clone(), group.name.clone())));
        for CallbackPlan { name, .. } in &self.deployment.callbacks {
            let namespace = self.namespace_of(name).to_owned();
            let is_timer = self.timers.contains(name);
            names.callbacks.push(NamedCallback { name: name.clone(), namespace, is_timer });
        }
        let counts = self.callbacks.iter().map(|(name, holders)| (name.clone(), holders.count()));
        names.shared_callbacks = counts.filter(|(_, count)| *count > 1).collect();
        let counts = self.groups.iter().map(|(group, holders)| (group.clone(), holders.count()));
        names.shared_groups = counts.filter(|(_, count)| *count > 1).collect();
        names
    }
}

impl Catalog {
    /// Creates a catalog. It is closed from the beginning unless it is wanted, that is, unless there is a deployment
    /// file or a template to write.
    pub(crate) fn new(is_wanted: bool) -> Self {
        Self(Mutex::new(is_wanted.then(Program::default)))
    }

    /// Adds an executor, unless the catalog is closed or has one of that name.
    pub(crate) fn executor(&self, plan: impl FnOnce() -> ExecutorPlan) {
        self.with(|all| {
            let plan = plan();
            if !all.executors.iter().any(|executor| executor.name == plan.name) {
                all.executors.push(plan);
            }
        });
    }

    /// Adds a group on the executor of that name, unless the catalog is closed. `node` is empty for a group of no node.
    /// `holder` lives as long as the group.
    pub(crate) fn group<T: Send + Sync + 'static>(&self, (node, name): (&str, &str), executor: &str, holder: &Arc<T>) {
        if let Some(Program { deployment: all, groups, .. }) = &mut *self.lock() {
            if !node.is_empty() {
                groups.entry((node.to_owned(), name.to_owned())).or_default().add(holder);
            }
            let mut plan = GroupPlan::new(name, executor);
            if !node.is_empty() {
                node.clone_into(&mut plan.node);
            }
            let is_new = !all.groups.iter().any(|group| (&group.node, &group.name) == (&plan.node, &plan.name));
            if is_new {
                all.groups.push(plan);
            }
        }
    }

    /// Adds a callback of a node in `namespace`, unless the catalog is closed. `holder` lives as long as the callback.
    pub(crate) fn callback<T: Send + Sync + 'static>(
        &self,
        namespace: &str,
        holder: &Arc<T>,
        plan: impl FnOnce() -> CallbackPlan,
    ) {
        if let Some(program) = &mut *self.lock() {
            let plan = plan();
            let is_known = program.callbacks.contains_key(&plan.name);
            program.callbacks.entry(plan.name.clone()).or_default().add(holder);
            if is_known {
                return;
            }
            if !namespace.is_empty() {
                program.namespaces.insert(plan.name.clone(), namespace.to_owned());
            }
            program.deployment.callbacks.push(plan);
        }
    }

    /// Notes that the callback of that name is a timer.
    pub(crate) fn timer(&self, name: &str) {
        if let Some(all) = &mut *self.lock() {
            all.timers.insert(name.to_owned());
        }
    }

    /// Returns the contents so far; `None` once the catalog is closed.
    pub(crate) fn contents(&self) -> Option<Program> {
        self.lock().clone()
    }

    /// Returns true once the program was compared with its deployment, or if it has no deployment.
    pub(crate) fn is_checked(&self) -> bool {
        self.lock().as_ref().is_none_or(|program| program.is_checked)
    }

    /// Notes that the program was compared with its deployment, and closes the catalog unless it `stays_open`.
    pub(crate) fn set_checked(&self, stays_open: bool) {
        let mut program = self.lock();
        if let Some(program) = &mut *program {
            program.is_checked = true;
        }
        if !stays_open {
            *program = None;
        }
    }

    fn with(&self, f: impl FnOnce(&mut Deployment)) {
        if let Some(all) = &mut *self.lock() {
            f(&mut all.deployment);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Program>> {
        self.0.lock()
    }
}
