//! Several nodes in one process, chosen by a file: what ROS 2 calls composable nodes, on rospin's executors.
//!
//! A program registers what it could start as [`Components`]. A [component file](ComponentFile) says what it does start, under
//! which names, with which topics and parameters, on which executors; the deployment file of the [`Context`](rospin_engine::Context)
//! has the last word on those, their cores and their priorities. A [`Container`] runs every executor on a thread of its own,
//! until a component ends, or somebody presses Ctrl-C.
//!
//! ```
//! use std::time::Duration;
//! use rospin_engine::{Context, ContextOptions, GroupOptions};
//! use rospin_container::{ComponentFile, Components, Container, Setup};
//! use rospin_msgs::std_msgs::msg::String as Text;
//! use rospin_node::Ros;
//!
//! type Error = Box<dyn std::error::Error + Send + Sync>;
//!
//! let components = Components::new()
//!     .register("demo::Talker", |setup: Setup| {
//!         let node = setup.create_node()?;
//!         let publisher = node.create_publisher::<Text>("chatter")?;
//!         let group = setup.executor().create_group(GroupOptions::new("talker").node(node.fully_qualified_name()), ());
//!         let timer = group.create_timer(Duration::from_millis(1), move |(), _| {
//!             // There is nobody to tell if nobody can be told.
//!             let _ = publisher.publish(Text { data: "hello".to_owned() });
//!         })?;
//!         Ok::<_, Error>(timer)
//!     })
//!     .register("demo::Listener", |setup: Setup| {
//!         let node = setup.create_node()?;
//!         let group = setup.executor().create_group(GroupOptions::new("listener").node(node.fully_qualified_name()), ());
//!         let container = setup.container();
//!         let heard = node.on(&group).create_subscription("news", move |text: Text| container.end(text.data))?;
//!         Ok::<_, Error>(heard)
//!     });
//! let file = ComponentFile::parse("demo.toml", r#"
//!     [[component]]
//!     type = "demo::Talker"
//!     name = "talker"
//!     remap = { "chatter" = "news" }
//!
//!     [[component]]
//!     type = "demo::Listener"
//!     name = "listener"
//! "#)?;
//!
//! let context = Context::new(ContextOptions::from_env()?);
//! let mut container = Container::new(&context);
//! container.start(&components, &Ros::in_process(&context), &file)?;
//! assert_eq!(container.run()?.to_string(), "component `/listener` ended: hello");
//! # Ok::<(), Error>(())
//! ```

#![forbid(unsafe_code)]

mod components;
mod container;
mod ending;
mod error;
mod signals;

pub use components::{Components, Setup};
pub use container::Container;
pub use ending::{ContainerHandle, Ended};
pub use error::{RunError, StartError};
pub use rospin_scenario::FileError;
pub use rospin_scenario::components::{ComponentFile, ComponentPlan};
