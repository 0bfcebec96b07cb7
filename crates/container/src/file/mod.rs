//! Component files: the nodes that a container starts, with their names and executors.
//! `crates/rospin/examples/container.toml` explains every key.
//!
//! ```
//! use rospin_container::ComponentFile;
//! use rospin_node::ParameterValue;
//!
//! let file = ComponentFile::parse("robot.toml", r#"
//!     [[component]]
//!     type = "demo::Talker"
//!     name = "talker"
//!     namespace = "/robot"
//!     executor = "control"
//!     remap = { "chatter" = "/news" }
//!     parameters = { rate = 10.0, limits = { speed = 2 } }
//! "#)?;
//! let talker = &file.components()[0];
//! assert_eq!(talker.executor(), "control");
//! assert_eq!(talker.parameters["limits.speed"], ParameterValue::Integer(2));
//!
//! let error = ComponentFile::parse("robot.toml", "[[component]]\nname = 7").unwrap_err();
//! assert!(error.to_string().starts_with("robot.toml: line 2, column 8, `name`: "), "{error}");
//! # Ok::<(), rospin_container::FileError>(())
//! ```

mod model;
mod parameters;
mod read;

pub use model::ComponentPlan;
pub use read::ComponentFile;
