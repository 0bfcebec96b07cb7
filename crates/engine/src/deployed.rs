//! The settings of a deployment file, applied to executors, callbacks and threads, and compared with the program.

use std::io;
use std::path::PathBuf;

use rospin_core::{Priority, PriorityMap};
use rospin_scenario::deployment::{Ambiguous, CallbackPlan, ExecutorPlan, GroupPlan, Reaction, ThreadPlan};
use rospin_scenario::{Deployment, nearest, nearest_of};

use crate::catalog::Program;
use crate::executor_options::ExecutorOptions;
use crate::foreign;
use crate::os::{CoreSet, OnShortfall, ThreadId, ThreadOptions, cut_off, lock_memory, threads_of_process};

/// The most names of a program that an error lists.
const KNOWN_MAX: usize = 5;

/// Reasons for which a program does not run with its deployment file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeployError {
    /// The file names an executor, a group or a callback that the program does not have.
    #[error(
        "the deployment names {what}, which the program does not have{}; it has {known}; correct the name, or pass over such \
         names with on_unknown = \"warn\"",
        near.as_ref().map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default()
    )]
    Unknown {
        /// The unknown executor, group or callback.
        what: String,
        /// The program's name that is most like it, if one is.
        near: Option<String>,
        /// The program's names of that kind, separated by commas. Of many, the ones that are most like it.
        known: String,
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
    Ambiguous(Ambiguous),
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

impl From<Ambiguous> for DeployError {
    fn from(error: Ambiguous) -> Self {
        Self::Ambiguous(error)
    }
}

/// Checks that this machine has all cores that a deployment names.
///
/// A program does that by itself when it begins to spin. This function is for tools that read deployment files without the
/// program.
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

/// A context's deployment plan (which callback belongs to which executor, with which settings) and the priorities that its chains
/// give.
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
            // At the beginning of the first spin, a contradiction is an error. For groups that are created later, it is only this
            // warning.
            log::warn!(target: "rospin", "{contradiction}; it stays where the program puts it");
            None
        })
    }

    // ---- callbacks ----

    /// Returns the file's settings for the entity of that name. A priority that the file gives to the entity itself takes
    /// precedence over one that follows from chains.
    pub(crate) fn callback(&self, name: &str) -> CallbackPlan {
        let mut plan = self.plan.callback(name).cloned().unwrap_or_else(|| CallbackPlan::new(name));
        let of_chains = || self.chains.get(name).map(|Priority(priority)| priority);
        plan.priority = plan.priority.or_else(of_chains);
        plan
    }

    // ---- the beginning ----

    /// Compares the deployment with the program and the machine, and locks memory if the file says so, before anything runs.
    pub(crate) fn begin(&self, program: &Program) -> Result<(), DeployError> {
        self.check_names(&program.deployment)?;
        self.check_chains(program)?;
        check_cores(&self.plan)?;
        if self.plan.lock_memory
            && let Err(error) = lock_memory()
        {
            let advice = "run with CAP_IPC_LOCK, or raise `ulimit -l`";
            self.react(self.plan.on_shortfall, format!("memory is not locked: {error}; {advice}"))?;
        }
        Ok(())
    }

    fn check_names(&self, program: &Deployment) -> Result<(), DeployError> {
        for group in &program.groups {
            self.plan.executor_of(&group.node, &group.name)?;
        }
        let nodes: Vec<_> = program.groups.iter().map(node).collect();
        for plan in &self.plan.groups {
            let has = program.groups.iter().any(|group| plan.is_for(&group.node, &group.name));
            let known = || program.groups.iter().map(|group| format!("{}/{}", group.node, group.name));
            self.known(&nodes, has, "group", &format!("{}/{}", plan.node, plan.name), "", known)?;
        }
        for plan in &self.plan.executors {
            let used = self.plan.groups.iter().any(|group| group.executor == plan.name);
            let has = used || program.executors.iter().any(|executor| executor.name == plan.name);
            let known = || program.executors.iter().map(|executor| executor.name.clone());
            self.known(&nodes, has, "executor", &plan.name, "", known)?;
        }
        let callbacks = || program.callbacks.iter().map(|callback| callback.name.clone());
        for plan in &self.plan.callbacks {
            let has = program.callbacks.iter().any(|callback| plan.is_for(&callback.name));
            self.known(&nodes, has, "callback", &plan.name, "", callbacks)?;
        }
        for chain in &self.plan.chains {
            for name in &chain.callbacks {
                let has = program.callbacks.iter().any(|callback| callback.name == *name);
                self.known(&nodes, has, "callback", name, &format!(" of chain `{}`", chain.name), callbacks)?;
            }
        }
        Ok(())
    }

    /// Refuses chains that go on through a timer. If the file has chains, warns of callbacks with a deadline that neither a chain
    /// nor a setting gives a priority.
    fn check_chains(&self, program: &Program) -> Result<(), DeployError> {
        for chain in &self.plan.chains {
            let mut links = chain.callbacks.windows(2);
            if let Some([from, timer]) = links.find(|link| program.timers.contains(&link[1])) {
                let (chain, from, timer) = (chain.name.clone(), from.clone(), timer.clone());
                return Err(DeployError::Timer { chain, from, timer });
            }
        }
        if self.plan.chains.is_empty() {
            return Ok(());
        }
        for of_program in &program.deployment.callbacks {
            let plan = self.callback(&of_program.name);
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
        Ok(())
    }

    /// Refuses or warns of a name in the file that the program does not have (`has` is false), unless the file says that it is of
    /// another program (`elsewhere`). `nodes` has the names of this program's nodes. `what` is the kind of thing and `of` what
    /// follows its name in the message. `known` returns the program's names of that kind.
    fn known<N: Iterator<Item = String>>(
        &self,
        nodes: &[String],
        has: bool,
        what: &str,
        name: &str,
        of: &str,
        known: impl FnOnce() -> N,
    ) -> Result<(), DeployError> {
        if has || self.plan.is_elsewhere(name, nodes) {
            return Ok(());
        }
        let known: Vec<_> = known().collect();
        let all: Vec<&str> = known.iter().map(String::as_str).collect();
        let near = nearest(name, &all).map(str::to_owned);
        let known = match all.len().saturating_sub(KNOWN_MAX) {
            0 if all.is_empty() => "none".to_owned(),
            0 => all.join(", "),
            more => format!("{}, and {more} more", nearest_of(name, &all, KNOWN_MAX).join(", ")),
        };
        let error = DeployError::Unknown { what: format!("{what} `{name}`{of}"), near, known };
        if self.plan.on_unknown == Reaction::Fail {
            return Err(error);
        }
        log::warn!(target: "rospin", "{error}");
        Ok(())
    }

    // ---- other threads ----

    /// Gives the process's threads the settings that the file has for their names, except the main thread, the calling thread and
    /// threads of executors. `executors` has the names of the program's executors.
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

    /// Returns true if a thread of that name belongs to an executor: for the executor `control`, `control` or `control-1`. The
    /// kernel cuts off long names of threads.
    fn is_executors(&self, executors: &[String], thread: &str) -> bool {
        let is_of = |executor: &str| {
            let rest = thread.strip_prefix(&cut_off(executor));
            let number = rest.and_then(|rest| rest.strip_prefix('-'));
            rest == Some("") || number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
        };
        self.plan.executors.iter().any(|plan| is_of(&plan.name)) || executors.iter().any(|executor| is_of(executor))
    }

    /// Returns the options for threads called `name`, for a caller that is about to start them. They are those of the file's line
    /// for that name, or else a priority above the file's real-time executors.
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

    /// Logs the message about a setting that could not be had, or returns it as an error, as the file's `on_shortfall` says.
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

/// Returns the name of the group's node. A group without a node counts as one.
fn node(group: &GroupPlan) -> String {
    if group.node.is_empty() { group.name.clone() } else { group.node.clone() }
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

/// Applies a deployment file's plan of an executor to the executor's options. Settings that the plan does not name stay as the
/// program has them, except for the reaction to a shortfall, which is `on_shortfall`.
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
