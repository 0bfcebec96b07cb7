//! Interfaces that ROS 2 itself uses, a module per package. The types are those of `rospin-msgs`.

#[doc(inline)]
pub use rospin_dynamic::field_type;

/// Exports the messages, services and actions of each `$package` from a module of that name, without the modules
/// `$kind`.
macro_rules! packages {
    ($($package:ident { $($kind:ident),+ })*) => {
        $(
            #[doc = concat!("The package `", stringify!($package), "`.")]
            pub mod $package {
                $(pub use rospin_msgs::$package::$kind::*;)+
            }
        )*
    };
}

packages! {
    action_msgs { msg, srv }
    builtin_interfaces { msg }
    lifecycle_msgs { msg, srv }
    rcl_interfaces { msg, srv }
    rosgraph_msgs { msg }
    service_msgs { msg }
    type_description_interfaces { msg, srv }
    unique_identifier_msgs { msg }
}
