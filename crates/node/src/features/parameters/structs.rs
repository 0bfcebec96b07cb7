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
/// The field's name is the parameter's name, and its documentation the description. `#[parameter(...)]` sets the rest:
///
/// - `default = value`: the default; without a value, that of [`Default`]. A parameter without a default must be
///   overridden, unless it is an [`Option`].
/// - `range = 0.0..=1.0`, `step = 0.1`: the allowed values.
/// - `read_only`: the parameter keeps its initial value.
/// - `description = "..."`, `additional_constraints = "..."`, `ignore_override`: see [`ParameterOptions`].
/// - `name = "..."`: the parameter's name, if it differs from the field's.
/// - `nested`: the field is a struct of parameters itself. Their names begin with the field's name and a dot.
///
/// A crate that does not depend on `rospin` names the path of the trait's crate on the struct: `#[parameters(crate =
/// path::to::it)]`.
///
/// ```
/// use rospin::{Context, ContextOptions, Node, Parameters, Ros};
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
/// Unsupported attributes are compile errors:
///
/// ```compile_fail
/// #[derive(rospin::Parameters)]
/// struct Controller {
///     #[parameter(maximum = 3.0)] // error: there is no attribute `maximum` of a parameter
///     max_speed: f64,
/// }
/// ```
///
/// ```compile_fail
/// #[derive(rospin::Parameters)]
/// struct Controller {
///     max_speed: f32, // error: a parameter cannot be a `f32`
/// }
/// ```
///
/// ```compile_fail
/// #[derive(rospin::Parameters)]
/// struct Controller {
///     #[parameter(range = 0.0..3.0)] // error: the range of a parameter includes its end; write it with `..=`
///     max_speed: f64,
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a struct of parameters",
    label = "it needs `#[derive(Parameters)]`"
)]
pub trait Parameters: Sized + Send + 'static {
    /// Type of the handles of the fields' parameters.
    #[doc(hidden)]
    type Handles: Send + Sync + 'static;

    /// Declares the fields' parameters, whose names begin with `prefix`.
    #[doc(hidden)]
    fn declare(declarer: &mut Declarer<'_>, prefix: &str) -> Result<Self::Handles, DeclareError>;

    /// Returns a struct of the parameters' current values.
    #[doc(hidden)]
    fn read(handles: &Self::Handles) -> Self;

    /// Adds the changes that give the parameters the values of this struct.
    #[doc(hidden)]
    fn write(self, handles: &Self::Handles, changes: &mut ParameterChanges);
}

/// Helper of the derive macro that declares the fields of a struct.
#[doc(hidden)]
pub struct Declarer<'a> {
    store: &'a Arc<Store>,
    declared: Vec<String>,
}

impl Declarer<'_> {
    /// Returns `name` behind `prefix` and a dot, or `name` alone if the prefix is empty.
    #[must_use]
    pub fn join(prefix: &str, name: &str) -> String {
        if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") }
    }

    /// Declares one field's parameter.
    ///
    /// # Errors
    /// Those of [`Node::declare_parameter`].
    pub fn declare<T: ParameterVariant>(
        &mut self,
        name: &str,
        options: ParameterOptions<T>,
    ) -> Result<Parameter<T>, DeclareError> {
        let parameter = Parameter::declare(self.store, name, options)?;
        self.declared.push(name.to_owned());
        Ok(parameter)
    }
}

/// Helper of the derive macro: the changes that make parameters equal to a struct's fields.
#[doc(hidden)]
#[derive(Default)]
pub struct ParameterChanges(Vec<(ParameterSetting, Arc<Slot>)>);

impl ParameterChanges {
    /// Adds the change of one parameter to `value`, unless it has that value.
    pub fn set<T: ParameterVariant>(&mut self, parameter: &Parameter<T>, value: T) {
        let value = value.into_value();
        if parameter.get().into_value() != value {
            self.0.push(parameter.setting(value));
        }
    }
}

/// Handle of declared parameters that are a struct in Rust, see [`Parameters`]. Cheap to clone; clones are the same
/// parameters.
///
/// For a real-time callback that must not lock, use a [`Parameter`] for each value that it reads.
pub struct ParameterSet<S: Parameters> {
    store: Arc<Store>,
    handles: Arc<S::Handles>,
    structure: PhantomData<fn() -> S>,
}

impl<S: Parameters> ParameterSet<S> {
    /// Returns the values of all fields at one moment. Locks for a moment, and allocates unless all values are plain
    /// numbers.
    #[must_use]
    pub fn get(&self) -> S {
        self.store.at_once(|| S::read(&self.handles))
    }

    /// Sets the parameters that differ from `values`: all of them, or none. See [`Parameter::set`].
    ///
    /// # Errors
    /// If one of them cannot be set.
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
    /// Declares a struct of [parameters](Parameters): all of its fields, or none. Unless `prefix` is empty, the names
    /// begin with it and a dot.
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
                // Read-only parameters are removed as well.
                for name in &declarer.declared {
                    store.forget(name);
                }
                Err(error)
            }
        }
    }
}
