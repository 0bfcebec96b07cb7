//! Shared libraries of components, which a container loads while it runs.
//!
//! A library has a copy of rospin of its own: its own context, executors, threads and connection to the middleware.
//! Only the types of C cross its border, and requests and responses as ROS 2 encodes them. So a library may be of
//! another compiler and of another version of rospin than the program that loads it. Rust has no stable binary
//! interface: with Rust's own types on the border, a library of another compiler, or with other features of any crate,
//! would be undefined behaviour that nobody could check for; and each side would have its own copy of every `static`,
//! such as the logger and the executor that a thread belongs to.
//!
//! The price: messages between a library and the rest of the process go through the middleware, as between processes.
//! Within a library they are shared. A library stays in the process until it ends, since its threads run code of it.

mod exports;
mod library_file;
mod opened;

pub use exports::{Exports, Library};
pub(crate) use library_file::find;
pub(crate) use opened::Opened;

/// Version of the interface between programs and libraries. A change of [`Exports`] is a new version.
const VERSION: u32 = 1;

/// Name of the function by which a library gives its [`Exports`].
const SYMBOL: &str = "rospin_component_library";

/// The version of rospin that this copy is of.
const BUILT_WITH: &str = concat!("rospin ", env!("CARGO_PKG_VERSION"));

/// Makes a shared library of components of the crate, for
/// [`Components::libraries_from_env`](crate::Components::libraries_from_env). The first argument is a function that
/// returns the [`Components`](crate::Components), the second one a function that returns the
/// [`Ros`](rospin_node::Ros) of the library, such as `rospin::init`. Both are called when the first component of the
/// library is loaded.
///
/// The crate is a `cdylib` (`crate-type = ["cdylib"]` in the section `lib` of its `Cargo.toml`), and invokes the macro
/// once:
///
/// ```
/// use rospin::container::{Components, Setup};
/// use rospin::msgs::std_msgs::msg::String as Text;
///
/// type Error = Box<dyn std::error::Error + Send + Sync>;
///
/// fn components() -> Components {
///     Components::new().register("demo::Listener", |setup: Setup| {
///         let node = setup.create_node()?;
///         let heard = node.create_subscription("chatter", |text: Text| println!("{}", text.data))?;
///         Ok::<_, Error>((node, heard))
///     })
/// }
///
/// rospin::container::component_library!(components, rospin::init);
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! component_library {
    ($components:expr, $ros:expr $(,)?) => {
        /// Returns what programs call to load components of this library.
        #[doc(hidden)]
        #[unsafe(no_mangle)]
        pub extern "C" fn rospin_component_library() -> &'static $crate::library::Exports {
            static LIBRARY: $crate::library::Library = $crate::library::Library::new($components, || Ok(($ros)()?));
            static EXPORTS: $crate::library::Exports = $crate::library::Exports::of(&LIBRARY);
            &EXPORTS
        }
    };
}
