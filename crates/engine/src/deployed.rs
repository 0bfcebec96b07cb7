//! The settings of a deployment file, applied to executors, callbacks and threads, and compared with the program.

use std::io;
use std::path::PathBuf;

use rospin_core::{Priority, PriorityMap};
use rospin_scenario::Deployment;
use rospin_scenario::deployment::names::forms;
use rospin_scenario::deployment::{CallbackPlan, ExecutorPlan, Mismatch, Reaction, ThreadPlan};

use crate::catalog::Program;
use crate::executor_options::ExecutorOptions;
use crate::foreign;
use crate::os::{CoreSet, OnShortfall, ThreadId, ThreadOptions, cut_off, lock_memory, threads_of_process};

/// Reasons for which a program does not run with its deployment file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeployError {
    /// The file does not fit the program.
    #[error("{0}")]
    Mismatch(Mismatch),
    /// The file names a core that the machine does not have.
    #[error("the deployment puts {what} on core {missing}, which this machine does not have; choose from {online}")]
    Core {
        /// Executor or thread that the file puts on these cores.
        what: String,
        /// Cores that the file names for it and that the machine does not have.
        missing: CoreSet,
        /// The cores that the machine has.
        online: CoreSet,
    },
    /// The operating system refuses a setting, and the file's `on_shortfall` is `fail`.
    #[error("the deployment cannot be had: {0}")]
    Refused(String),
    /// The template cannot be written.
    #[error("cannot write the deployment template {}: {reason}", .path.display())]
    Template {
        /// The path of the template.
        path: PathBuf,
        /// The error of writing the template.
        reason: io::Error,
    },
}

/// Checks that this machine has all cores that a deployment names.
///
/// A program does that by itself when it begins to spin. This function is for tools that read deployment files without
/// the program.
///
/// # Errors
/// [`DeployError::Core`] for the first executor or thread with a core that the machine does not have.
pub fn check_cores(plan: &Deployment) -> Result<(), DeployError> {
    let executors = plan.executors.iter().map(|plan| (format!("executor `{}`", plan.name), &plan.cores));
    let threads = plan.threads.iter().map(|plan| (format!("thread `{}`", plan.name), &plan.cores));
    for (what, cores) in executors.chain(threads) {
        let missing = CoreSet::new(cores.iter().copied()).missing();
        if !missing.is_empty() {
            return Err(DeployError::Core { what, missing, online: CoreSet::online().unwrap_or_default() });
        }
    }
    Ok(())
}

/// A context's deployment plan (which callback belongs to which executor, with which settings) and the priorities that
/// its chains give.
pub(crate) struct Deployed {
    plan: Deployment,
    chains: PriorityMap,
}

impl Deployed {
    pub(crate) fn new(plan: Deployment) -> Self {
        // A plan that was not read from a file may have invalid chains. It has no priorities by chain then.
        let chains = plan.chain_priorities().unwrap_or_default();
        Self { plan, chains }
    }

    // ---- executors ----

    /// Applies the file's settings to the options of an executor.
    pub(crate) fn adjust(&self, options: ExecutorOptions) -> ExecutorOptions {
        match self.plan.executor(options.name()) {
            Some(plan) => apply_plan(options, plan, self.on_shortfall()),
            None => options,
        }
    }

    /// Returns the name of the executor that the file puts the group on, if it names one.
    pub(crate) fn executor_of(&self, node: &str, group: &str) -> Option<String> {
        self.plan.executor_of(node, group).unwrap_or_else(|contradiction| {
            // At the beginning of the first spin, a contradiction is an error. For groups that are created later, it is
            // only this warning.
            log::warn!(target: "rospin", "{contradiction}; it stays where the program puts it");
            None
        })
    }

    // ---- callbacks ----

    /// Returns the file's settings for the entity of that name, whose node is in `namespace`. A priority that the file
    /// gives to the entity itself takes precedence over one that follows from chains.
    pub(crate) fn callback(&self, name: &str, namespace: &str) -> CallbackPlan {
        let mut plan = self.plan.callback(name, namespace).cloned().unwrap_or_else(|| CallbackPlan::new(name));
        let of_chains = || priority_in(&self.chains, name, namespace).map(|Priority(priority)| priority);
        plan.priority = plan.priority.or_else(of_chains);
        plan
    }

    // ---- the beginning ----

    /// Compares the deployment with the program and the machine, and locks memory if the file says so, before anything
    /// runs. If the program `loads_later`, names that it does not have are passed over.
    pub(crate) fn begin(&self, program: &Program, loads_later: bool) -> Result<(), DeployError> {
        self.check_names(program, loads_later)?;
        self.warn_of_deadlines(program);
        check_cores(&self.plan)?;
        if self.plan.lock_memory
            && let Err(error) = lock_memory()
        {
            let advice = "run with CAP_IPC_LOCK, or raise `ulimit -l`";
            self.react(self.plan.on_shortfall, format!("memory is not locked: {error}; {advice}"))?;
        }
        Ok(())
    }

    /// Compares the file's names with the program's.
    fn check_names(&self, program: &Program, loads_later: bool) -> Result<(), DeployError> {
        for mismatch in self.plan.compare(&program.names()) {
            if loads_later && mismatch.is_of_unknown_names() {
                continue;
            }
            if self.plan.refuses(&mismatch) {
                return Err(DeployError::Mismatch(mismatch));
            }
            log::warn!(target: "rospin", "{mismatch}");
        }
        Ok(())
    }

    /// Warns of the file's names that the program does not have.
    pub(crate) fn warn_of_unknown_names(&self, program: &Program) {
        for mismatch in self.plan.compare(&program.names()) {
            if mismatch.is_of_unknown_names() {
                log::warn!(target: "rospin", "{mismatch}");
            }
        }
    }

    /// If the file has chains, warns of callbacks with a deadline that neither a chain nor a setting gives a priority.
    fn warn_of_deadlines(&self, program: &Program) {
        if self.plan.chains.is_empty() {
            return;
        }
        for of_program in &program.deployment.callbacks {
            let plan = self.callback(&of_program.name, program.namespace_of(&of_program.name));
            let deadline = plan.deadline.or(of_program.deadline);
            if let (Some(deadline), None, None) = (deadline, plan.priority, of_program.priority) {
                log::warn!(
                    target: "rospin",
                    "callback `{}` has a deadline of {deadline:?}, but is in no chain and has no priority: under \
                     fixed-priority it runs after all chains; give it a priority, or put it into a chain",
                    of_program.name
                );
            }
        }
    }

    // ---- other threads ----

    /// Gives the process's threads the settings that the file has for their names, except the main thread, the calling
    /// thread and threads of executors. `executors` has the names of the program's executors.
    pub(crate) fn set_up_threads(&self, executors: &[String]) -> Result<(), DeployError> {
        if self.plan.threads.is_empty() {
            return Ok(());
        }
        let threads = threads_of_process().map_err(|error| DeployError::Refused(error.to_string()))?;
        let me = ThreadId::current();
        let is_other = |thread: ThreadId| !thread.is_main() && thread != me;
        let others =
            threads.into_iter().filter(|(thread, name)| is_other(*thread) && !self.is_executors(executors, name));
        for (thread, name) in others {
            if let Some(plan) = self.plan.thread(&name) {
                let report = self.thread_options(plan).apply_to(thread);
                if !report.shortfalls.is_empty() {
                    self.react(self.plan.on_shortfall, report.to_string())?;
                }
            }
        }
        Ok(())
    }

    /// Returns true if a thread of that name belongs to an executor: for the executor `control`, `control` or
    /// `control-1`. The kernel cuts off long names of threads.
    fn is_executors(&self, executors: &[String], thread: &str) -> bool {
        let is_of = |executor: &str| {
            let rest = thread.strip_prefix(&cut_off(executor));
            let number = rest.and_then(|rest| rest.strip_prefix('-'));
            rest == Some("") || number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
        };
        self.plan.executors.iter().any(|plan| is_of(&plan.name)) || executors.iter().any(|executor| is_of(executor))
    }

    /// Returns the options for threads called `name`, for a caller that is about to start them. They are those of the
    /// file's line for that name, or else a priority above the file's real-time executors.
    pub(crate) fn thread(&self, name: &str) -> ThreadOptions {
        let above =
            || self.highest_priority().map(foreign::above).unwrap_or_default().on_shortfall(self.on_shortfall());
        self.plan.thread(name).map_or_else(above, |plan| self.thread_options(plan))
    }

    /// Returns true if the file has a line for threads of that name.
    pub(crate) fn names_thread(&self, name: &str) -> bool {
        self.plan.thread(name).is_some()
    }

    /// Returns the highest priority of the file's real-time executors; `None` if it has none.
    pub(crate) fn highest_priority(&self) -> Option<u8> {
        self.plan.executors.iter().filter_map(|plan| plan.scheduling.and_then(foreign::priority)).max()
    }

    /// Logs the message about a setting that could not be had, or returns it as an error, as the file's `on_shortfall`
    /// says.
    pub(crate) fn shortfall(&self, message: String) -> Result<(), DeployError> {
        self.react(self.plan.on_shortfall, message)
    }

    fn thread_options(&self, plan: &ThreadPlan) -> ThreadOptions {
        let options = ThreadOptions::new().inherited().on_shortfall(self.on_shortfall());
        with_placement(options, plan.scheduling, &plan.cores)
    }

    fn on_shortfall(&self) -> OnShortfall {
        if self.plan.on_shortfall == Reaction::Fail { OnShortfall::Fail } else { OnShortfall::Warn }
    }

    /// Returns the message as an error, or logs it, as `reaction` says.
    fn react(&self, reaction: Reaction, message: String) -> Result<(), DeployError> {
        if reaction == Reaction::Fail {
            return Err(DeployError::Refused(message));
        }
        log::warn!(target: "rospin", "{message}");
        Ok(())
    }
}

/// Returns the priority of the entity called `name`, whose node is in `namespace`, from priorities by absolute and
/// relative names. Of several that name it, the highest one counts, which is that of its most critical chain.
pub(crate) fn priority_in(priorities: &PriorityMap, name: &str, namespace: &str) -> Option<Priority> {
    let forms = forms(name, namespace);
    let absolute = forms.first().and_then(|full| priorities.get(&format!("/{full}")));
    let relative = forms.iter().filter_map(|form| priorities.get(form));
    absolute.into_iter().chain(relative).max()
}

/// Sets scheduling and cores. `None` and no cores leave them as they are.
fn with_placement(
    options: ThreadOptions,
    scheduling: Option<rospin_core::OsScheduling>,
    cores: &[u16],
) -> ThreadOptions {
    let options = match scheduling {
        Some(scheduling) => options.scheduling(scheduling),
        None => options,
    };
    if cores.is_empty() { options } else { options.cores(CoreSet::new(cores.iter().copied())) }
}

/// Applies a deployment file's plan of an executor to the executor's options. Settings that the plan does not name stay
/// as the program has them, except for the reaction to a shortfall, which is `on_shortfall`.
fn apply_plan(mut options: ExecutorOptions, plan: &ExecutorPlan, on_shortfall: OnShortfall) -> ExecutorOptions {
    if let Some(Ok(policy)) = plan.policy.as_deref().map(rospin_core::policy::by_name) {
        options = options.boxed_policy(policy);
    }
    if let Some(threads) = plan.threads {
        options = options.threads(threads);
    }
    if let Some(busy_poll) = plan.busy_poll {
        options = options.busy_poll(busy_poll);
    }
    options.change_thread(|mut thread| {
        thread = with_placement(thread, plan.scheduling, &plan.cores).on_shortfall(on_shortfall);
        if let Some(slack) = plan.timer_slack {
            thread = thread.timer_slack(slack);
        }
        if plan.stack_prefault_kib > 0 {
            thread = thread.stack_prefault(plan.stack_prefault_kib as usize * 1024);
        }
        thread
    })
}
