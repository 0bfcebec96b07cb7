//! Several nodes in one process, listed in a file, on rospin's executors. ROS 2 calls them composable nodes.
//!
//! A program registers the [`Components`] that it can start. A [component file](ComponentFile) lists those that it
//! starts: names, topics, parameters and executors. The deployment file of the [`Context`](rospin_engine::Context)
//! takes precedence over it for executors, cores and priorities. A [`Container`] runs every executor on a thread of
//! its own, until a component ends it, or somebody presses Ctrl-C. Other programs, such as `ros2 component load`, can
//! load components, too, if it [serves](Container::serve) them: those of the program, and those of [shared
//! libraries](Components::libraries_from_env).
//!
//! ```
//! use std::time::Duration;
//! use rospin::{Context, ContextOptions, Ros};
//! use rospin::container::{ComponentFile, Components, Container, Setup};
//! use rospin::msgs::std_msgs::msg::String as Text;
//!
//! type Error = Box<dyn std::error::Error + Send + Sync>;
//!
//! let components = Components::new()
//!     .register("demo::Talker", |setup: Setup| {
//!         let node = setup.create_node()?;
//!         let publisher = node.create_publisher::<Text>("chatter")?;
//!         let say = move || publisher.publish(Text { data: "hello".to_owned() });
//!         let timer = node.create_timer(Duration::from_millis(1), say)?;
//!         Ok::<_, Error>(timer)
//!     })
//!     .register("demo::Listener", |setup: Setup| {
//!         let node = setup.create_node()?;
//!         let container = setup.container();
//!         let heard = node.create_subscription("news", move |text: Text| container.end(text.data))?;
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

#![deny(unsafe_code)]

mod components;
mod composition;
mod container;
mod ending;
mod error;
mod executors;
mod file;
// Shared libraries are opened and called as those of C are.
#[allow(unsafe_code)]
#[doc(hidden)]
pub mod library;
mod loaded;
mod signals;

pub use components::{Components, Setup};
pub use container::Container;
pub use ending::{ContainerHandle, Ended};
pub use error::{RunError, ServeError, StartError};
pub use file::{ComponentFile, ComponentPlan};
pub use rospin_scenario::FileError;
