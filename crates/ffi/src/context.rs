//! Contexts.

use std::ffi::c_char;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rospin_engine::{Chain, Context, ContextOptions, Deployment, PriorityMap};

use crate::arguments::{Options, array, destroy, give, given, needed_text, options, place, text};
use crate::clock::rospin_clock;
use crate::control::Control;
use crate::status::{Failure, ROSPIN_OK, rospin_status, status_of, value_of};

/// Chain of entities, by their names, from the source to the actuator.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct rospin_chain {
    /// The name of the chain.
    pub name: *const c_char,
    /// Callbacks of a chain with a larger number are more urgent.
    pub criticality: u32,
    /// The names of the entities, in order.
    pub entities: *const *const c_char,
    /// The number of the entities.
    pub entities_count: usize,
}

/// Options of a context.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct rospin_context_options {
    /// sizeof(rospin_context_options).
    pub struct_size: usize,
    /// Deployment files: which groups are on which executors, priorities, cores and OS scheduling, by names.
    pub deployment_files: *const *const c_char,
    /// The number of deployment files.
    pub deployment_files_count: usize,
    /// A file that a template of a deployment file is written to when an executor begins to spin for the first time.
    pub template_file: *const c_char,
    /// True: files that are not given here are those of the environment. ROSPIN_DEPLOYMENT names deployment files,
    /// separated by colons, and ROSPIN_DEPLOYMENT_TEMPLATE the file for a template.
    pub from_env: bool,
    /// Chains give priorities to entities that have none of their own: the later callbacks of a chain are more urgent.
    pub chains: *const rospin_chain,
    /// The number of chains.
    pub chains_count: usize,
    /// A clock for tests. NULL: the kernel's clocks.
    pub manual_clock: *const rospin_clock,
    /// True: the program loads parts of itself while it runs. Then a deployment file may name what is not there yet.
    pub loads_later: bool,
}

// SAFETY: it begins with its size, and zeros are null pointers, false and zero.
unsafe impl Options for rospin_context_options {
    const NAME: &'static str = "rospin_context_options";
}

/// Context: clocks, deployment and priorities that executors have in common.
pub struct rospin_context(pub(crate) Arc<Home>);

/// A context with its executors.
pub(crate) struct Home {
    pub(crate) context: Context,
    executors: Mutex<Vec<Weak<Control>>>,
}

impl Home {
    /// Adds an executor.
    pub(crate) fn enter(&self, executor: &Arc<Control>) {
        let mut executors = self.executors.lock().unwrap_or_else(PoisonError::into_inner);
        executors.retain(|executor| executor.strong_count() > 0);
        executors.push(Arc::downgrade(executor));
    }

    /// Returns the executor that the C program has created under that name; `None` for one that only a deployment file
    /// names.
    pub(crate) fn executor(&self, name: &str) -> Option<Arc<Control>> {
        let executors = self.executors.lock().unwrap_or_else(PoisonError::into_inner);
        executors.iter().filter_map(Weak::upgrade).find(|executor| executor.name() == name)
    }
}

/// Creates a context. `options` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rospin_context_create(
    options: *const rospin_context_options,
    context: *mut *mut rospin_context,
) -> rospin_status {
    status_of(|| {
        // SAFETY: as the header demands.
        let place = unsafe { place(context, "context") }?;
        // SAFETY: as the header demands.
        let options = unsafe { context_options(options) }?;
        let context = Context::new(options);
        give(place, rospin_context(Arc::new(Home { context, executors: Mutex::default() })));
        Ok(ROSPIN_OK)
    })
}

/// # Safety
/// As the header demands.
unsafe fn context_options(from: *const rospin_context_options) -> Result<ContextOptions, Failure> {
    // SAFETY: the caller promises it.
    let from = unsafe { options(from) }?;
    let mut options = ContextOptions::new();
    if from.from_env {
        options = ContextOptions::from_env().map_err(|error| Failure::deployment(&error))?;
    }
    // SAFETY: the caller promises it.
    let files = unsafe { array(from.deployment_files, from.deployment_files_count, "deployment_files") }?;
    let mut names = Vec::new();
    for file in files {
        // SAFETY: the caller promises it.
        names.push(unsafe { needed_text(*file, "deployment_files") }?);
    }
    if !names.is_empty() {
        let deployment = Deployment::load_all(&names).map_err(|error| Failure::deployment(&error))?;
        options = options.deployment(deployment);
    }
    // SAFETY: the caller promises it.
    if let Some(template) = unsafe { text(from.template_file, "template_file") }? {
        options = options.deployment_template(template);
    }
    // SAFETY: the caller promises it.
    let chains = unsafe { array(from.chains, from.chains_count, "chains") }?;
    if !chains.is_empty() {
        // SAFETY: the caller promises it.
        let chains = unsafe { chains_of(chains) }?;
        let priorities = PriorityMap::picas(&chains).map_err(|error| Failure::invalid(error.to_string()))?;
        options = options.priorities(priorities);
    }
    // SAFETY: the caller promises it.
    if let Some(clock) = unsafe { from.manual_clock.as_ref() } {
        options = options.manual_clock(clock.0.clone());
    }
    Ok(options.loads_later(from.loads_later))
}

/// # Safety
/// As the header demands.
unsafe fn chains_of(chains: &[rospin_chain]) -> Result<Vec<Chain>, Failure> {
    let mut all = Vec::new();
    for chain in chains {
        // SAFETY: the caller promises it.
        let name = unsafe { needed_text(chain.name, "name") }?;
        // SAFETY: the caller promises it.
        let names = unsafe { array(chain.entities, chain.entities_count, "entities") }?;
        let mut entities = Vec::new();
        for entity in names {
            // SAFETY: the caller promises it.
            entities.push(unsafe { needed_text(*entity, "entities") }?);
        }
        all.push(Chain::new(name, chain.criticality, entities));
    }
    Ok(all)
}

/// Gives up the handle. Executors keep the context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rospin_context_destroy(context: *mut rospin_context) {
    // SAFETY: as the header demands.
    unsafe { destroy(context) };
}

/// Writes the template of a deployment file once more, with everything that the program has had so far. Does nothing
/// without a template, or after the first spin of a context without rospin_context_options.loads_later.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rospin_context_write_template(context: *const rospin_context) -> rospin_status {
    status_of(|| {
        // SAFETY: as the header demands.
        let context = unsafe { given(context, "context") }?;
        context.0.context.write_template().map_err(|error| Failure::deployment(&error))?;
        Ok(ROSPIN_OK)
    })
}

/// Logs a warning about each name in the deployment file that the program has not had so far: at the end of a program
/// with rospin_context_options.loads_later. Does nothing for others, whose first spin finds such names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rospin_context_warn_of_unknown_names(context: *const rospin_context) {
    // SAFETY: as the header demands.
    let context = unsafe { context.as_ref() };
    value_of((), || context.iter().for_each(|context| context.0.context.warn_of_unknown_names()));
}

/// Returns the time on the context's steady clock (CLOCK_MONOTONIC), on which all time points are. Zero if `context` is
/// NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rospin_context_now(context: *const rospin_context) -> i64 {
    // SAFETY: as the header demands.
    let context = unsafe { given(context, "context") };
    value_of(0, || {
        let now = context.map_or(0, |context| context.0.context.clock().now().as_nanos());
        i64::try_from(now).unwrap_or(i64::MAX)
    })
}
