//! Containers: components, and the executors and threads that run them.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread;

use rospin_engine::{Context, Executor, ExecutorHandle, ExecutorOptions, SpinOptions};
use rospin_node::{NameError, NodeName, NodeOptions, ParameterValue, Ros};

use crate::components::{Components, Setup};
use crate::ending::{ContainerHandle, Ended, Ending};
use crate::error::{RunError, StartError};
use crate::file::{ComponentFile, ComponentPlan};
use crate::signals::Listening;

/// Name of the executor that every container has.
const OWN_EXECUTOR: &str = "container";

/// Container of components, which it runs until one of them or the program ends the container. Every executor has a thread of its
/// own.
///
/// The [crate](crate) has an example.
#[must_use = "nothing runs before `run` is called"]
pub struct Container {
    context: Context,
    /// The executors. The first one is the container's own.
    executors: Vec<Executor>,
    components: Vec<Box<dyn Any + Send>>,
    ending: Arc<Ending>,
}

impl Container {
    /// Returns a container without components. It has one executor, called `container`.
    pub fn new(context: &Context) -> Self {
        let executors = vec![context.create_executor(ExecutorOptions::new(OWN_EXECUTOR))];
        Self { context: context.clone(), executors, components: Vec::new(), ending: Arc::default() }
    }

    /// Returns the executor called `container`. It suits work that a process has only once, such as a middleware's
    /// discovery.
    #[must_use]
    pub fn executor(&self) -> ExecutorHandle {
        self.executors[0].handle()
    }

    /// Returns a handle that can end the container.
    #[must_use]
    pub fn handle(&self) -> ContainerHandle {
        ContainerHandle { ending: Arc::clone(&self.ending), component: None }
    }

    /// Creates the components of the file, in its order. Their executors have one thread each, unless a deployment
    /// file says otherwise. No callback runs before [`run`](Self::run).
    ///
    /// May be called several times, also with different middlewares.
    ///
    /// # Errors
    /// If the file names a component that is not registered, a name is invalid, a parameter is an empty list, or a component does
    /// not start. The error has the place in the file. Components before it exist then, and are dropped with the container.
    pub fn start(&mut self, components: &Components, ros: &Ros, file: &ComponentFile) -> Result<(), StartError> {
        for (number, plan) in file.components().iter().enumerate() {
            let make = components.maker(&plan.type_name).ok_or_else(|| {
                let known: Vec<_> = components.type_names().map(|name| format!("`{name}`")).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                let message = format!("the program has no component `{}`; known are: {known}", plan.type_name);
                StartError::from(file.error(number, "type", message))
            })?;
            let (name, options) = node_of(number, plan, file)?;
            let component = name.to_string();
            let executor = self.executor_called(plan.executor());
            let setup = Setup {
                name,
                options: options.executor(&executor),
                ros: ros.clone(),
                executor,
                container: ContainerHandle { component: Some(component.clone()), ..self.handle() },
            };
            let started = catch_unwind(AssertUnwindSafe(|| make(setup)));
            let started = started.unwrap_or_else(|panic| Err(format!("it panicked: {}", message(&*panic)).into()));
            self.components.push(started.map_err(|reason| {
                let what = format!("component `{component}` ({}) did not start: {reason}", plan.type_name);
                StartError::Failed { place: Box::new(file.error(number, "type", what)), component, reason }
            })?);
        }
        Ok(())
    }

    /// Runs all executors until a component or a handle [ends](ContainerHandle::end) the container, or an executor is
    /// halted. Callbacks that are running are waited for. Then the components are dropped, the last one first.
    ///
    /// # Errors
    /// If an executor cannot spin: its thread cannot be started, a callback panicked in a group that halts on panics,
    /// or the program does not match its deployment file.
    pub fn run(self) -> Result<Ended, RunError> {
        thread::scope(|scope| {
            for executor in &self.executors {
                let name = executor.handle().name().to_owned();
                let (ending, executor_name) = (&self.ending, name.clone());
                let spin = move || {
                    let spun = catch_unwind(AssertUnwindSafe(|| executor.spin(SpinOptions::new())));
                    let executor = executor_name;
                    ending.set(match spun {
                        Ok(Ok(_)) => Ok(Ended::Halted { executor }),
                        Ok(Err(reason)) => Err(RunError::Spin { executor, reason: Box::new(reason) }),
                        // A panic outside of callbacks is a bug of the engine. End the container, so that no thread
                        // waits for this one, and pass the panic on.
                        Err(panic) => {
                            ending.set(Ok(Ended::Halted { executor }));
                            resume_unwind(panic)
                        }
                    });
                };
                let thread = thread::Builder::new().name(name.replace('\0', ""));
                if let Err(reason) = thread.spawn_scoped(scope, spin) {
                    self.ending.set(Err(RunError::Thread { executor: name, reason }));
                    break;
                }
            }
            let ended = self.ending.wait();
            self.executors.iter().for_each(Executor::halt);
            ended
        })
    }

    /// Runs as [`run`](Self::run) does, and also ends on SIGINT (Ctrl-C) or SIGTERM. One more signal, more than a second after
    /// the first one, ends the process at once, without waiting for callbacks.
    ///
    /// # Errors
    /// Those of [`run`](Self::run), and if signal handlers cannot be installed.
    pub fn run_until_signal(self) -> Result<Ended, RunError> {
        let _listening = Listening::start(&self.ending).map_err(RunError::Signals)?;
        self.run()
    }

    /// Returns the executor of that name, and creates it on first use.
    fn executor_called(&mut self, name: &str) -> ExecutorHandle {
        if let Some(executor) = self.executors.iter().find(|executor| executor.handle().name() == name) {
            return executor.handle();
        }
        let executor = self.context.create_executor(ExecutorOptions::new(name));
        let handle = executor.handle();
        self.executors.push(executor);
        handle
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        // In reverse order, because a component may depend on earlier ones. The executors come last.
        while let Some(component) = self.components.pop() {
            drop(component);
        }
    }
}

impl fmt::Debug for Container {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let executors: Vec<_> = self.executors.iter().map(|executor| executor.handle().name().to_owned()).collect();
        let mut f = f.debug_struct("Container");
        f.field("executors", &executors).field("components", &self.components.len()).finish_non_exhaustive()
    }
}

/// Returns the name and the options of a component's node, or the error of an invalid name.
fn node_of(number: usize, plan: &ComponentPlan, file: &ComponentFile) -> Result<(NodeName, NodeOptions), StartError> {
    let wrong = |key, error: NameError| StartError::from(file.error(number, key, error.to_string()));
    NodeName::new("/", &plan.name).map_err(|error| wrong("name", error))?;
    let name = NodeName::new(&plan.namespace, &plan.name).map_err(|error| wrong("namespace", error))?;
    let mut options = NodeOptions::new(&plan.name).namespace(&plan.namespace);
    for (from, to) in &plan.remap {
        for side in [from, to] {
            name.resolve(side).map_err(|error| wrong("remap", error))?;
        }
        options = options.remap(from, to);
    }
    for (parameter, value) in &plan.parameters {
        if *value == ParameterValue::NotSet {
            let message = format!("`{parameter}` is an empty list, of nothing in particular; leave it to its default");
            return Err(file.error(number, "parameters", message).into());
        }
        options = options.parameter_override(parameter, value.clone());
    }
    Ok((name, options))
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("(a value that is not text)")
}
