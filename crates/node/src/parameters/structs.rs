//! Structs whose fields are parameters.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::error::{DeclareError, SetParameterError};
use super::handle::Parameter;
use super::options::ParameterOptions;
use super::slot::Slot;
use super::store::Store;
use super::value::ParameterSetting;
use super::variant::ParameterVariant;
use crate::node::Node;

/// A struct whose fields are parameters; derive it with `#[derive(Parameters)]`.
///
/// A field's name is the parameter's, and its documentation the description. `#[parameter(...)]` says more of it:
///
/// - `default = value`: what it begins with; without a value, what [`Default`] says. A parameter without a default has to be
///   overridden, unless it is an [`Option`].
/// - `range = 0.0..=1.0`, `step = 0.1`: which values are allowed.
/// - `read_only`: it keeps the value that it begins with.
/// - `description = "..."`, `additional_constraints = "..."`, `ignore_override`: see [`ParameterOptions`].
/// - `name = "..."`: the parameter has another name than the field.
/// - `nested`: the field is itself a struct of parameters, whose names follow the field's and a dot.
///
/// Crates that have it from elsewhere than `rospin` say so on the struct: `#[parameters(crate = path::to::it)]`.
///
/// ```
/// # extern crate rospin_node as rospin;
/// use rospin_engine::{Context, ContextOptions};
/// use rospin_node::{Ros, Node, Parameters};
///
/// #[derive(Parameters)]
/// struct Controller {
///     /// Meters per second.
///     #[parameter(default = 1.5, range = 0.0..=3.0)]
///     max_speed: f64,
///     #[parameter(default = "base_link", read_only)]
///     frame_id: String,
///     serial: Option<i64>,
///     #[parameter(nested)]
///     pid: Pid,
/// }
///
/// #[derive(Parameters)]
/// struct Pid {
///     #[parameter(default = 1.0)]
///     p: f64,
///     #[parameter(default = 0.1)]
///     i: f64,
/// }
///
/// let node = Ros::in_process(&Context::new(ContextOptions::new())).create_node("controller")?;
/// let parameters = node.declare_parameters::<Controller>("")?;
/// node.set_parameter("pid.p", 2.0)?;
/// let now = parameters.get();
/// assert_eq!((now.max_speed, now.pid.p, now.frame_id.as_str()), (1.5, 2.0, "base_link"));
///
/// parameters.set(Controller { max_speed: 0.5, ..now })?;
/// assert_eq!(node.parameter("max_speed"), Some(0.5.into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// What it cannot do is a compile error:
///
/// ```compile_fail
/// # extern crate rospin_node as rospin;
/// #[derive(rospin_node::Parameters)]
/// struct Controller {
///     #[parameter(maximum = 3.0)] // error: there is no attribute `maximum` of a parameter
///     max_speed: f64,
/// }
/// ```
///
/// ```compile_fail
/// # extern crate rospin_node as rospin;
/// #[derive(rospin_node::Parameters)]
/// struct Controller {
///     max_speed: f32, // error: a parameter cannot be a `f32`
/// }
/// ```
///
/// ```compile_fail
/// # extern crate rospin_node as rospin;
/// #[derive(rospin_node::Parameters)]
/// struct Controller {
///     #[parameter(range = 0.0..3.0)] // error: the range of a parameter includes its end; write it with `..=`
///     max_speed: f64,
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no struct of parameters",
    label = "it needs `#[derive(Parameters)]`"
)]
pub trait Parameters: Sized + Send + 'static {
    /// What the fields are read through.
    #[doc(hidden)]
    type Handles: Send + Sync + 'static;

    #[doc(hidden)]
    fn declare(declarer: &mut Declarer<'_>, prefix: &str) -> Result<Self::Handles, DeclareError>;

    #[doc(hidden)]
    fn read(handles: &Self::Handles) -> Self;

    #[doc(hidden)]
    fn write(self, handles: &Self::Handles, changes: &mut ParameterChanges);
}

/// Declares the fields of a struct. For the derive macro.
#[doc(hidden)]
pub struct Declarer<'a> {
    store: &'a Arc<Store>,
    declared: Vec<String>,
}

impl Declarer<'_> {
    /// The name of `name` below `prefix`.
    #[must_use]
    pub fn join(prefix: &str, name: &str) -> String {
        if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") }
    }

    /// Declares one of them.
    ///
    /// # Errors
    /// As [`Node::declare_parameter`].
    pub fn declare<T: ParameterVariant>(
        &mut self,
        name: &str,
        options: ParameterOptions<T>,
    ) -> Result<Parameter<T>, DeclareError> {
        let parameter = self.store.declare(name, options)?;
        self.declared.push(name.to_owned());
        Ok(parameter)
    }
}

/// What has to be set so that parameters are as a struct says. For the derive macro.
#[doc(hidden)]
#[derive(Default)]
pub struct ParameterChanges(Vec<(ParameterSetting, Arc<Slot>)>);

impl ParameterChanges {
    /// That parameter has to have that value.
    pub fn set<T: ParameterVariant>(&mut self, parameter: &Parameter<T>, value: T) {
        let value = value.into_value();
        if parameter.get().into_value() != value {
            self.0.push(parameter.setting(value));
        }
    }
}

/// Declared parameters that are a struct in Rust: see [`Parameters`]. Cheap to clone; clones are the same parameters.
///
/// A real-time callback that must not lock has a [`Parameter`] for what it reads.
pub struct ParameterSet<S: Parameters> {
    store: Arc<Store>,
    handles: Arc<S::Handles>,
    structure: PhantomData<fn() -> S>,
}

impl<S: Parameters> ParameterSet<S> {
    /// All values as they are now, with no change in between. Locks for a moment; allocates for what is not plain numbers.
    #[must_use]
    pub fn get(&self) -> S {
        self.store.at_once(|| S::read(&self.handles))
    }

    /// Sets those that differ from what they are, all or none. See [`Parameter::set`].
    ///
    /// # Errors
    /// If one of them cannot be set to that.
    pub fn set(&self, values: S) -> Result<(), SetParameterError> {
        let mut changes = ParameterChanges::default();
        self.store.at_once(|| values.write(&self.handles, &mut changes));
        self.store.set_own(changes.0)
    }
}

impl<S: Parameters> Clone for ParameterSet<S> {
    fn clone(&self) -> Self {
        Self { store: Arc::clone(&self.store), handles: Arc::clone(&self.handles), structure: PhantomData }
    }
}

impl<S: Parameters> fmt::Debug for ParameterSet<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParameterSet").field("node", &self.store.node).finish_non_exhaustive()
    }
}

impl Node {
    /// Declares a struct of [parameters](Parameters), all or none; their names begin with `prefix` and a dot, unless it is
    /// empty.
    ///
    /// # Errors
    /// If one of them cannot be declared, see [`declare_parameter`](Self::declare_parameter).
    pub fn declare_parameters<S: Parameters>(&self, prefix: &str) -> Result<ParameterSet<S>, DeclareError> {
        let store = self.store();
        let mut declarer = Declarer { store, declared: Vec::new() };
        match S::declare(&mut declarer, prefix) {
            Ok(handles) => {
                Ok(ParameterSet { store: Arc::clone(store), handles: Arc::new(handles), structure: PhantomData })
            }
            Err(error) => {
                // Read-only ones, too.
                declarer.declared.iter().for_each(|name| store.forget(name));
                Err(error)
            }
        }
    }
}
