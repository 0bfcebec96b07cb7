//! A deployment file at work: where groups go, what executors, callbacks and threads have, and whether all of its names are
//! the program's.

use crate::sync::{Mutex, MutexGuard};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

use rospin_core::{Priority, PriorityMap};
use rospin_scenario::Deployment;
use rospin_scenario::deployment::{Ambiguous, CallbackPlan, ExecutorPlan, Reaction, ThreadPlan};

use crate::companions::Companions;
use crate::context::Context;
use crate::executor::{Executor, ExecutorHandle};
use crate::executor_options::ExecutorOptions;
use crate::foreign;
use crate::os::{CoreSet, OnShortfall, ThreadId, ThreadOptions, cut_off, lock_memory, threads_of_process};
use crate::shared::Shared;

/// Why a program does not go on with its deployment file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeployError {
    /// It names something that the program does not have.
    #[error(
        "the deployment names {what}, which the program does not have (it has {known}); correct it, or pass over such names \
         with on_unknown = \"warn\""
    )]
    Unknown {
        /// What is named.
        what: String,
        /// What there is instead.
        known: String,
    },
    /// Its patterns contradict each other.
    #[error("the deployment contradicts itself: {0}")]
    Ambiguous(#[from] Ambiguous),
    /// A core does not exist.
    #[error("the deployment puts {what} on core {missing}, which this machine does not have; choose from {online}")]
    Core {
        /// What is to run there.
        what: String,
        /// The cores that are missing.
        missing: CoreSet,
        /// Those that there are.
        online: CoreSet,
    },
    /// The operating system refuses something, and that is to be an error.
    #[error("the deployment cannot be had: {0}")]
    Refused(String),
    /// A template cannot be written.
    #[error("cannot write the deployment template {}: {source}", .path.display())]
    Template {
        /// Where to.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// Whether this machine has all cores that a deployment names. A program checks it by itself when it begins to spin; this is
/// for tools that look at deployment files without the program.
///
/// # Errors
/// [`DeployError::Core`] for the first executor or thread that is to run on a core which is not there.
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

/// A deployment that a context has.
pub(crate) struct Deployed {
    plan: Deployment,
    chains: PriorityMap,
    /// The program's executors.
    executors: Mutex<Vec<(Weak<Shared>, u16)>>,
    /// Owned by the program's executors.
    companions: Mutex<Weak<Companions>>,
}

impl Deployed {
    pub(crate) fn new(plan: Deployment) -> Self {
        // A plan that was not read may be nonsense; it has no chains' priorities then.
        let chains = plan.chain_priorities().unwrap_or_default();
        Self { plan, chains, executors: Mutex::default(), companions: Mutex::default() }
    }

    // ---- executors ----

    /// What the program's executor is to be like.
    pub(crate) fn adjust(&self, options: ExecutorOptions) -> ExecutorOptions {
        match self.plan.executor(options.name()) {
            Some(plan) => apply_plan(options, plan, self.on_shortfall()),
            None => options,
        }
    }

    /// The executors that only the deployment knows, for one of the program's to own.
    pub(crate) fn companions(&self) -> Arc<Companions> {
        let mut companions = lock(&self.companions);
        companions.upgrade().unwrap_or_else(|| {
            let new = Arc::default();
            *companions = Arc::downgrade(&new);
            new
        })
    }

    /// The program has this executor.
    pub(crate) fn enter(&self, executor: &ExecutorHandle) {
        let mut executors = lock(&self.executors);
        executors.retain(|(executor, _)| executor.strong_count() > 0);
        executors.push((Arc::downgrade(&executor.shared), executor.threads));
    }

    /// The executor that a group goes to, if the deployment says.
    pub(crate) fn executor_for(&self, context: &Context, node: &str, group: &str) -> Option<ExecutorHandle> {
        let name = self.plan.executor_of(node, group).unwrap_or_else(|contradiction| {
            // An error when the program begins to spin; later than that, nobody else would say so.
            log::warn!(target: "rospin", "{contradiction}; it stays where the program puts it");
            None
        })?;
        self.find(context, &name).or_else(|| {
            let companions = lock(&self.companions).upgrade()?;
            Some(companions.get(&name, || Executor::build(self.adjust(ExecutorOptions::new(&name)), context)))
        })
    }

    fn find(&self, context: &Context, name: &str) -> Option<ExecutorHandle> {
        lock(&self.executors).iter().find_map(|(executor, threads)| {
            let shared = executor.upgrade().filter(|shared| shared.name == name)?;
            Some(ExecutorHandle { shared, context: context.clone(), threads: *threads })
        })
    }

    // ---- callbacks ----

    /// What the entity of that name is to have: a priority of its own goes before one that follows from chains.
    pub(crate) fn callback(&self, name: &str) -> CallbackPlan {
        let mut plan = self.plan.callback(name).cloned().unwrap_or_else(|| CallbackPlan::new(name));
        let of_chains = || self.chains.get(name).map(|Priority(priority)| priority);
        plan.priority = plan.priority.or_else(of_chains);
        plan
    }

    // ---- the beginning ----

    /// Compares the deployment with what the program and the machine have, before anything runs.
    pub(crate) fn begin(&self, program: &Deployment) -> Result<(), DeployError> {
        self.check_names(program)?;
        check_cores(&self.plan)?;
        if self.plan.lock_memory
            && let Err(error) = lock_memory()
        {
            let mend = "run with CAP_IPC_LOCK, or raise `ulimit -l`";
            self.react(self.plan.on_shortfall, format!("memory is not locked: {error}; {mend}"))?;
        }
        Ok(())
    }

    fn check_names(&self, program: &Deployment) -> Result<(), DeployError> {
        for group in &program.groups {
            self.plan.executor_of(&group.node, &group.name)?;
        }
        for plan in &self.plan.groups {
            let has = program.groups.iter().any(|group| plan.is_for(&group.node, &group.name));
            let known = || program.groups.iter().map(|group| format!("{}/{}", group.node, group.name));
            self.known(has, || format!("group `{}/{}`", plan.node, plan.name), known)?;
        }
        for plan in &self.plan.executors {
            let used = self.plan.groups.iter().any(|group| group.executor == plan.name);
            let has = used || program.executors.iter().any(|executor| executor.name == plan.name);
            let known = || program.executors.iter().map(|executor| executor.name.clone());
            self.known(has, || format!("executor `{}`", plan.name), known)?;
        }
        let callbacks = || program.callbacks.iter().map(|callback| callback.name.clone());
        for plan in &self.plan.callbacks {
            let has = program.callbacks.iter().any(|callback| plan.is_for(&callback.name));
            self.known(has, || format!("callback `{}`", plan.name), callbacks)?;
        }
        for chain in &self.plan.chains {
            for name in &chain.callbacks {
                let has = program.callbacks.iter().any(|callback| callback.name == *name);
                self.known(has, || format!("callback `{name}` of chain `{}`", chain.name), callbacks)?;
            }
        }
        Ok(())
    }

    fn known<N: Iterator<Item = String>>(
        &self,
        has: bool,
        what: impl FnOnce() -> String,
        known: impl FnOnce() -> N,
    ) -> Result<(), DeployError> {
        if has {
            return Ok(());
        }
        let known: Vec<_> = known().collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let error = DeployError::Unknown { what: what(), known };
        if self.plan.on_unknown == Reaction::Fail {
            return Err(error);
        }
        log::warn!(target: "rospin", "{error}");
        Ok(())
    }

    // ---- other threads ----

    /// Gives the threads that are there what the deployment says, but no executor's.
    pub(crate) fn set_up_threads(&self) -> Result<(), DeployError> {
        if self.plan.threads.is_empty() {
            return Ok(());
        }
        let threads = threads_of_process().map_err(|error| DeployError::Refused(error.to_string()))?;
        let me = ThreadId::current();
        let is_other = |thread: ThreadId| !thread.is_main() && thread != me;
        let others = threads.into_iter().filter(|(thread, name)| is_other(*thread) && !self.is_executors(name));
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

    /// Whether a thread of that name is an executor's, of which the kernel has 15 bytes: `control`, `control-1`.
    fn is_executors(&self, name: &str) -> bool {
        let is_of = |executor: &str| {
            let rest = name.strip_prefix(&cut_off(executor));
            let number = rest.and_then(|rest| rest.strip_prefix('-'));
            rest == Some("") || number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let plans = self.plan.executors.iter().any(|plan| is_of(&plan.name));
        plans
            || lock(&self.executors).iter().filter_map(|(shared, _)| shared.upgrade()).any(|shared| is_of(&shared.name))
    }

    /// Returns the options of threads called `name`, for one that is about to create them: as the file says, or else above all
    /// executors of the file that are real-time.
    pub(crate) fn thread(&self, name: &str) -> ThreadOptions {
        let above =
            || self.highest_priority().map(foreign::above).unwrap_or_default().on_shortfall(self.on_shortfall());
        self.plan.thread(name).map_or_else(above, |plan| self.thread_options(plan))
    }

    /// True if the file has a line for threads of that name.
    pub(crate) fn names_thread(&self, name: &str) -> bool {
        self.plan.thread(name).is_some()
    }

    /// Returns the highest priority of the file's real-time executors.
    pub(crate) fn highest_priority(&self) -> Option<u8> {
        self.plan.executors.iter().filter_map(|plan| plan.scheduling.and_then(foreign::priority)).max()
    }

    /// Tells that something could not be had, or makes it an error, as the file says.
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

    fn react(&self, reaction: Reaction, message: String) -> Result<(), DeployError> {
        if reaction == Reaction::Fail {
            return Err(DeployError::Refused(message));
        }
        log::warn!(target: "rospin", "{message}");
        Ok(())
    }
}

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

/// What the plan says, and for the rest what the program says.
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

/// The program as a deployment file, with the threads that there are, for a user to edit.
pub(crate) fn template(program: &Deployment) -> String {
    let mut plan = program.clone();
    // What no file can name, or say.
    let can_be_named = |name: &str| !name.is_empty() && !name.contains(char::is_control);
    plan.executors.retain(|executor| can_be_named(&executor.name));
    plan.groups.retain(|group| can_be_named(&group.name) && can_be_named(&group.executor));
    plan.callbacks.retain(|callback| can_be_named(&callback.name));
    let can_be_said = |duration: &Duration| u64::try_from(duration.as_nanos()).is_ok();
    for executor in &mut plan.executors {
        executor.busy_poll = executor.busy_poll.filter(can_be_said);
    }
    for callback in &mut plan.callbacks {
        callback.deadline = callback.deadline.filter(can_be_said);
    }
    let executors: Vec<_> = plan.executors.iter().map(|executor| cut_off(&executor.name)).collect();
    // The main thread has the process's name, and an executor's threads have its own.
    let others = threads_of_process().unwrap_or_default().into_iter().filter(|(thread, _)| !thread.is_main());
    let mut names: Vec<_> =
        others.map(|(_, name)| name).filter(|name| can_be_named(name) && !executors.contains(name)).collect();
    names.sort_unstable();
    names.dedup();
    plan.threads = names.into_iter().map(ThreadPlan::new).collect();
    format!("# What the program has. Leave out what should stay as it is.\n\n{}", plan.to_toml())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing is left half done under these locks.
    mutex.lock()
}
