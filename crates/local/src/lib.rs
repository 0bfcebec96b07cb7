//! Large ROS 2 messages between rospin processes of one machine, without a copy: a path in shared memory around any
//! [middleware](rospin_node::Middleware), by iceoryx2.
//!
//! ```no_run
//! # use rospin_dds::{Domain, DomainOptions};
//! # use rospin_engine::{Context, ContextOptions};
//! # use rospin_local::{Local, LocalOptions};
//! # use rospin_msgs::sensor_msgs::msg::Image;
//! let context = Context::new(ContextOptions::new());
//! let domain = Domain::join(DomainOptions::from_env()?)?;
//! let ros = Local::over(domain, LocalOptions::new())?.ros(&context);
//! let node = ros.create_node("camera")?;
//! let publisher = node.create_publisher::<Image>("image")?;
//! let mut pixels = publisher.borrow_loaned_bytes(1920 * 1080 * 3);
//! pixels.fill(7);
//! publisher.publish(Image { height: 1080, width: 1920, data: pixels.into(), ..Image::default() })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Discovery, services, and messages to everybody else are the middleware's. A publisher of both ways sends
//! a message in shared memory first, and then through the middleware if one of its subscriptions is not on the local
//! path: see [`PublisherEnd::is_heard_besides`](rospin_node::PublisherEnd::is_heard_besides). A subscription ignores
//! what the middleware brings from a publisher that is on the local path.
//!
//! # A message in shared memory
//!
//! It is the payload that the middleware would send. The bytes of a loan have room around them: when the message is
//! published, what is encoded before and after the bytes is written next to them, and the payload is complete. So a
//! subscription decodes it as any other, and its blobs share the memory.
//!
//! # Memory
//!
//! [`LocalOptions::slots`] says how many messages a publisher's memory holds. It grows to the longest message. Before
//! each message, the publisher looks if the machine has memory for it. Without it, publishing fails, and loans are
//! memory of the process; ends that are created then use the middleware alone. What processes leave that die is removed by the others, once a second, and by
//! the next one that starts.
//!
//! # Threads
//!
//! Each subscription on the local path has a thread, `rospin-local`, which moves messages into its queue. So has each
//! [`Local`], to look for processes that died. They have the scheduling of the thread that creates them. The thread of
//! a subscription that was dropped, while somebody keeps bytes of its messages in shared memory, ends within a second
//! after them.

mod error;
mod header;
mod loan;
mod middleware;
mod options;
mod publisher;
mod reader;
mod shared;
mod wake;

pub use error::LocalError;
pub use middleware::Local;
pub use options::LocalOptions;
