//! Addresses of ends on the topics of this process, and the forms of their messages.

use std::any::TypeId;
use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::names::{FullName, TypeName};
use crate::qos::Qos;

/// The form of an end's messages. Ends of one form share messages in memory, ends of different forms exchange them
/// encoded. All dynamic messages have one Rust type, so the hash of their definition is part of the form, also where it
/// is not announced.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Form {
    rust_type: TypeId,
    definition: Option<Cow<'static, str>>,
    /// Number that no other end has, if the quality of service has to do with time: such an end shares messages with
    /// nobody.
    timed: Option<u64>,
}

/// Address of an end: its topic's name, the part of the type by which ends are matched, and the form of the end's
/// messages.
pub(crate) struct Address {
    pub(crate) name: String,
    pub(crate) type_key: String,
    pub(crate) form: Form,
}

impl Address {
    /// Returns the address of an end of Rust type `M`.
    pub(crate) fn of<M: 'static>(topic: &FullName, type_key: String, message_type: &TypeName, qos: &Qos) -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let timed = if qos.is_timed() { Some(LAST.fetch_add(1, Ordering::Relaxed)) } else { None };
        let form = Form { rust_type: TypeId::of::<M>(), definition: message_type.definition.clone(), timed };
        Self { name: topic.to_string(), type_key, form }
    }

    /// Returns the topic's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the engine's name of the topic that the ends of this address share.
    pub(crate) fn engine_name(&self) -> String {
        let Self { name, type_key, form: Form { rust_type, definition, timed } } = self;
        let timed = timed.map_or_else(String::new, |number| format!("timed {number} "));
        format!("{timed}{name} {type_key} {rust_type:?} {}", definition.as_deref().unwrap_or_default())
    }
}
