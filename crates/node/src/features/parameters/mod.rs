//! Parameters: named values of a node that others can read and set.
//!
//! From the bottom up: values and their types (`value`, `variant`, `options`), what sets them from outside (`file`), a
//! node's parameters with their checks and changes (`store`, `handle`, `structs`, `node`), and the services through
//! which others reach them (`server`, `client`). Of other features it imports only [`clock`](super::clock), for the
//! parameter `use_sim_time`.

mod callbacks;
mod client;
mod error;
mod events;
mod file;
mod handle;
mod list;
mod node;
mod options;
mod server;
mod sim_time;
mod slot;
mod store;
mod structs;
mod unused;
mod value;
mod variant;
mod watch;

pub use client::{ParameterClient, ParameterClientError};
pub use error::{DeclareError, ServeParametersError, SetParameterError, UndeclareError, WrongParameterType};
pub(crate) use file::Given;
pub use file::{ParameterFile, ParameterFileError};
pub use handle::{Parameter, ParametersCallback};
pub use list::DEPTH_RECURSIVE;
pub use options::{ParameterOptions, ParameterRange};
pub use server::ParameterServer;
pub(crate) use store::Store;
pub use structs::{Declarer, ParameterChanges, ParameterSet, Parameters};
pub(crate) use unused::Stores;
pub use value::{ParameterKind, ParameterSetting, ParameterValue, UnknownType};
pub use variant::{ParameterVariant, Ranged};
