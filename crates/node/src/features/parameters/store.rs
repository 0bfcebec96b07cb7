//! The parameters of a node, and their changes.
//!
//! A change is checked, then the user's callbacks check it, then it is applied: all of it, or nothing. No lock is held
//! while the callbacks run. If other threads changed parameters meanwhile, the checks are repeated, because their
//! results may be out of date.
//!
//! So these callbacks may read parameters and may be slow, and nobody waits for them. They must not change parameters,
//! or the checks would never end.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use rospin_engine::Notifier;

use super::callbacks::{Callbacks, InsideCallback, OnSet, PreSet};
use super::error::{DeclareError, SetParameterError, UndeclareError};
use super::events::{self, Outbox, Publish, Watchers};
use super::file::Given;
use super::options::{ParameterOptions, Spec};
use super::sim_time::{self, OneTime};
use super::slot::Slot;
use super::value::{Change, ParameterKind, ParameterSetting, ParameterValue};
use super::variant::ParameterVariant;
use crate::interfaces::rcl_interfaces::ParameterDescriptor;
use crate::node::Node;
use crate::sync::{Mutex, MutexGuard};

/// Number of times that a change is checked at most, when other threads change parameters meanwhile.
const ATTEMPTS_MAX: u32 = 100;

/// The parameters of a node.
pub(crate) struct Store {
    pub(crate) node: String,
    /// The other nodes of the context, with whose `use_sim_time` this node's agrees.
    one_time: Arc<OneTime>,
    state: Mutex<State>,
}

pub(super) struct State {
    overrides: BTreeMap<String, Given>,
    parameters: BTreeMap<String, Entry>,
    /// Number of changes so far.
    version: u64,
    pub(super) pre_set: Callbacks<PreSet>,
    pub(super) on_set: Callbacks<OnSet>,
    pub(super) watchers: Watchers,
    pub(super) outbox: Outbox,
}

/// Declared parameter: its options, its type and the place of its value.
struct Entry {
    spec: Spec,
    /// Type of the parameter, or `None` if it is dynamic.
    kind: Option<ParameterKind>,
    /// True if the parameter may have no value.
    is_optional: bool,
    slot: Arc<Slot>,
}

impl Entry {
    /// Returns true if the slot belongs to this parameter.
    fn is_at(&self, slot: &Arc<Slot>) -> bool {
        Arc::ptr_eq(&self.slot, slot)
    }

    /// Checks that the value is of the parameter's type and in its range.
    fn check(&self, name: &str, value: &ParameterValue) -> Result<(), SetParameterError> {
        check_value(name, self.kind, self.is_optional, &self.spec, value)
    }
}

/// Checks that a value is of the type `kind`, of any if that is `None`, and in the range. No value at all is allowed
/// with `is_optional`.
fn check_value(
    name: &str,
    kind: Option<ParameterKind>,
    is_optional: bool,
    spec: &Spec,
    value: &ParameterValue,
) -> Result<(), SetParameterError> {
    let has_type = value.kind() == kind || (is_optional && value.kind().is_none());
    if let (Some(expected), false) = (kind, has_type) {
        return Err(SetParameterError::WrongType { name: name.to_owned(), expected, found: value.kind_name() });
    }
    match &spec.range {
        Some(range) if !range.contains(value) => Err(SetParameterError::OutOfRange {
            name: name.to_owned(),
            value: value.to_string(),
            range: range.to_string(),
        }),
        _ => Ok(()),
    }
}

impl Node {
    /// Returns the node's parameters.
    pub(super) fn store(&self) -> &Arc<Store> {
        self.part()
    }
}

impl Store {
    pub(crate) fn new(node: String, overrides: BTreeMap<String, Given>, one_time: Arc<OneTime>) -> Arc<Self> {
        let state = State {
            overrides,
            parameters: BTreeMap::new(),
            version: 0,
            pre_set: Callbacks::default(),
            on_set: Callbacks::default(),
            watchers: Watchers::default(),
            outbox: Outbox::default(),
        };
        Arc::new(Self { node, one_time, state: Mutex::new(state) })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // No user code runs under the lock, so a panic leaves nothing half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Declares a parameter, and returns the slot of its value.
    pub(super) fn declare<T: ParameterVariant>(
        &self,
        name: &str,
        options: ParameterOptions<T>,
    ) -> Result<Arc<Slot>, DeclareError> {
        let ParameterOptions { default, spec } = options;
        self.declare_as(name.to_owned(), T::KIND, T::OPTIONAL, default.map(T::into_value), spec)
    }

    /// Declares a parameter of the type `kind`, or of any type if it is `None`.
    fn declare_as(
        &self,
        name: String,
        kind: Option<ParameterKind>,
        is_optional: bool,
        default: Option<ParameterValue>,
        spec: Spec,
    ) -> Result<Arc<Slot>, DeclareError> {
        if InsideCallback::is_here() {
            return Err(DeclareError::InsideCallback { name });
        }
        if name.is_empty() {
            return Err(DeclareError::EmptyName);
        }
        if let Some(Err(reason)) = spec.range.map(|range| range.check()) {
            return Err(DeclareError::Range { name, reason });
        }
        let overridden = self.lock().overrides.get(&name).filter(|_| !spec.ignore_override).cloned();
        let origin = if overridden.is_some() { "override" } else { "default" };
        let value = match overridden {
            None => default.unwrap_or_default(),
            Some(given) => match given.value(kind, is_optional, default.as_ref()) {
                Ok(value) => value,
                Err(reason) => return Err(DeclareError::Override { node: self.node.clone(), name, reason }),
            },
        };
        if value == ParameterValue::NotSet && !is_optional {
            return Err(DeclareError::NoValue { node: self.node.clone(), name });
        }
        let initial = |reason| {
            let reason = Box::new(reason);
            DeclareError::Initial { node: self.node.clone(), name: name.clone(), origin, reason }
        };
        check_value(&name, kind, is_optional, &spec, &value).map_err(initial)?;

        let slot = Arc::new(Slot::new(value.clone()));
        let setting = ParameterSetting { name: name.clone(), value };
        // As in rclcpp, a declaration without a value is neither checked by callbacks nor reported.
        let settings = if setting.value == ParameterValue::NotSet { Vec::new() } else { vec![setting] };
        let entry = Entry { spec, kind, is_optional, slot: Arc::clone(&slot) };
        let check = |state: &State| match state.parameters.contains_key(&name) {
            true => Err(DeclareError::AlreadyDeclared { name: name.clone() }),
            false => Ok(()),
        };
        self.change(&settings, initial, check, |state| {
            state.parameters.insert(name.clone(), entry);
            Change { new: settings.clone(), ..Change::default() }
        })?;
        Ok(slot)
    }

    /// Undeclares a parameter. With a `slot`, only if the slot belongs to the parameter that has the name now.
    pub(super) fn undeclare(&self, name: &str, slot: Option<&Arc<Slot>>) -> Result<(), UndeclareError> {
        let name = name.to_owned();
        if InsideCallback::is_here() {
            return Err(UndeclareError::InsideCallback { name });
        }
        let mut state = self.lock();
        match state.parameters.get(&name) {
            None => return Err(UndeclareError::NotDeclared { name }),
            Some(entry) if slot.is_some_and(|slot| !entry.is_at(slot)) => {
                return Err(UndeclareError::NotDeclared { name });
            }
            Some(entry) if entry.spec.read_only => return Err(UndeclareError::ReadOnly { name }),
            Some(_) => {}
        }
        let notifiers = state.remove(name);
        drop(state);
        self.after(notifiers);
        Ok(())
    }

    /// Removes a parameter, even if it is read-only.
    pub(super) fn forget(&self, name: &str) {
        let notifiers = self.lock().remove(name.to_owned());
        self.after(notifiers);
    }

    /// Sets all of the parameters, or none. Refuses if a slot does not belong to the parameter that has its name now.
    pub(super) fn set_own(&self, own: Vec<(ParameterSetting, Arc<Slot>)>) -> Result<(), SetParameterError> {
        let state = self.lock();
        let is_there = |name: &String, slot| state.parameters.get(name).is_some_and(|entry| entry.is_at(slot));
        if let Some((gone, _)) = own.iter().find(|(setting, slot)| !is_there(&setting.name, slot)) {
            return Err(SetParameterError::NotDeclared { name: gone.name.clone() });
        }
        drop(state);
        self.set(own.into_iter().map(|(setting, _)| setting).collect())
    }

    /// Runs the pre-set callbacks, and sets all of the parameters that they leave, or none. Other nodes of the context
    /// get the value of `use_sim_time`.
    pub(super) fn set(&self, settings: Vec<ParameterSetting>) -> Result<(), SetParameterError> {
        let before = self.value(sim_time::NAME);
        self.set_here(settings)?;
        if self.value(sim_time::NAME) != before {
            self.one_time.spread(self);
        }
        Ok(())
    }

    /// Returns the book of the nodes whose `use_sim_time` agrees.
    pub(super) fn one_time(&self) -> &OneTime {
        &self.one_time
    }

    /// Sets parameters as [`set`](Self::set) does, of this node only.
    pub(super) fn set_here(&self, mut settings: Vec<ParameterSetting>) -> Result<(), SetParameterError> {
        if InsideCallback::is_here() {
            return Err(SetParameterError::InsideCallback);
        }
        if settings.is_empty() {
            return Ok(());
        }
        let pre_set = self.lock().pre_set.all();
        for callback in pre_set {
            InsideCallback::run(|| callback(&mut settings))?;
        }
        if settings.is_empty() {
            return Err(SetParameterError::NothingLeft);
        }
        let check = |state: &State| settings.iter().try_for_each(|setting| state.check(setting));
        self.change(&settings, |reason| reason, check, |state| state.set(&settings))
    }

    /// Checks a change, runs the on-set callbacks with `settings`, and applies it. `check` and `make` check and apply
    /// it under the lock; `refused` converts the error of a callback.
    fn change<E>(
        &self,
        settings: &[ParameterSetting],
        refused: impl Fn(SetParameterError) -> E,
        check: impl Fn(&State) -> Result<(), E>,
        make: impl FnOnce(&mut State) -> Change,
    ) -> Result<(), E> {
        let mut approved = None;
        for _ in 0..ATTEMPTS_MAX {
            let mut state = self.lock();
            check(&state)?;
            if settings.is_empty() || state.on_set.is_empty() || approved == Some(state.version) {
                let change = make(&mut state);
                let notifiers = state.tell(change);
                drop(state);
                self.after(notifiers);
                return Ok(());
            }
            let version = state.version;
            let on_set = state.on_set.all();
            drop(state);
            for callback in on_set {
                let verdict = InsideCallback::run(|| callback(settings))
                    .and_then(|verdict| verdict.map_err(|reason| SetParameterError::Rejected { reason }));
                verdict.map_err(&refused)?;
            }
            approved = Some(version);
        }
        Err(refused(SetParameterError::Contended))
    }

    /// Notifies watchers and publishes the event. The caller has released the lock.
    pub(super) fn after(&self, notifiers: Vec<Notifier>) {
        for notifier in notifiers {
            notifier.notify();
        }
        self.publish_events();
    }

    /// Ends the publication of events.
    pub(super) fn close_outbox(&self) {
        let closed = self.lock().outbox.close();
        drop(closed);
    }

    /// Publishes the queued events, unless a thread, perhaps this one, does so already.
    pub(super) fn publish_events(&self) {
        loop {
            let Some((publish, change)) = self.lock().outbox.begin() else { return };
            let _until_its_end = Publishing(self);
            publish(change.into_event(self.node.clone()));
        }
    }

    /// Returns the value of a parameter, or `None` if it is not declared.
    pub(super) fn value(&self, name: &str) -> Option<ParameterValue> {
        self.lock().parameters.get(name).map(|entry| entry.slot.value())
    }

    /// Returns the values of several parameters at one moment. A parameter that is not declared has the value
    /// `NotSet`.
    pub(super) fn values(&self, names: &[String]) -> Vec<ParameterValue> {
        let state = self.lock();
        let value = |name| state.parameters.get(name).map(|entry: &Entry| entry.slot.value()).unwrap_or_default();
        names.iter().map(value).collect()
    }

    /// Returns the description of a parameter, or `None` if it is not declared.
    pub(super) fn descriptor(&self, name: &str) -> Option<ParameterDescriptor> {
        self.lock().parameters.get(name).map(|entry| entry.spec.descriptor(name, entry.kind, entry.slot.code()))
    }

    /// Returns the names of all overrides, each with true if the node has declared that parameter.
    pub(crate) fn overrides(&self) -> Vec<(String, bool)> {
        let state = self.lock();
        state.overrides.keys().map(|name| (name.clone(), state.parameters.contains_key(name))).collect()
    }

    /// Returns true if options, arguments or files give the parameter a value.
    pub(super) fn is_given(&self, name: &str) -> bool {
        self.lock().overrides.contains_key(name)
    }

    /// Returns all names, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        self.lock().parameters.keys().cloned().collect()
    }

    /// Runs `read` while no parameter can change.
    pub(super) fn at_once<R>(&self, read: impl FnOnce() -> R) -> R {
        let _unchanged = self.lock();
        read()
    }
}

impl State {
    /// Checks that the parameter exists, is not read-only, and may have the value.
    fn check(&self, setting: &ParameterSetting) -> Result<(), SetParameterError> {
        let ParameterSetting { name, value } = setting;
        let Some(entry) = self.parameters.get(name) else {
            return Err(SetParameterError::NotDeclared { name: name.clone() });
        };
        if entry.spec.read_only {
            return Err(SetParameterError::ReadOnly { name: name.clone() });
        }
        entry.check(name, value)
    }

    /// Applies settings that were checked, and returns the change that must be reported.
    fn set(&mut self, settings: &[ParameterSetting]) -> Change {
        let mut change = Change::default();
        for ParameterSetting { name, value } in settings {
            // The list may contain a parameter twice, and its first occurrence may have removed it.
            let Some(entry) = self.parameters.get(name) else {
                continue;
            };
            let old = entry.slot.replace(value.clone());
            let is_gone = entry.kind.is_none() && value.kind().is_none() && old.kind().is_some();
            if is_gone {
                // An unset value removes a dynamic parameter: `ros2 param delete` sends it.
                self.parameters.remove(name);
                change.deleted.push(ParameterSetting { name: name.clone(), value: old });
            } else {
                change.changed.push(ParameterSetting { name: name.clone(), value: value.clone() });
            }
        }
        change
    }

    /// Removes a parameter, and returns the notifiers to call.
    fn remove(&mut self, name: String) -> Vec<Notifier> {
        let entry = self.parameters.remove(&name);
        let last = entry.map(|entry| ParameterSetting { name, value: entry.slot.value() });
        self.tell(Change { deleted: last.into_iter().collect(), ..Change::default() })
    }

    /// Queues the change for watchers and the topic, and returns the notifiers to call.
    fn tell(&mut self, change: Change) -> Vec<Notifier> {
        self.version += 1;
        let notifiers = events::tell(&mut self.watchers, &change);
        self.outbox.push(change);
        notifiers
    }

    /// Returns all parameters that have a value.
    fn all(&self) -> Vec<ParameterSetting> {
        let all = self.parameters.iter().map(|(name, entry)| (name, entry.slot.value()));
        let set = all.filter(|(_, value)| value.kind().is_some());
        set.map(|(name, value)| ParameterSetting { name: name.clone(), value }).collect()
    }
    /// Starts the publication of events. The first event has all parameters that have a value already.
    pub(super) fn open_outbox(&mut self, publish: Arc<Publish>) {
        let new = self.all();
        self.outbox.open(publish, new);
    }
}

/// Mark that a thread publishes events, until this is dropped, also by a panic.
struct Publishing<'a>(&'a Store);

impl Drop for Publishing<'_> {
    fn drop(&mut self) {
        self.0.lock().outbox.end();
    }
}
