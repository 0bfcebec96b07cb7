//! The observer that calls the library.

use std::ffi::OsStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rospin_engine::recording::{Definition, Event};
use rospin_engine::trace::TraceEvent;
use rospin_engine::{Activation, ClockPoint, Declaration, EntityKind, Observer};

use crate::address::{Address, EntityKey};
use crate::current::{set_reader, set_sent, take_reader, take_sent};
use crate::declared::{DeclaredEntities, text};
use crate::library::{Library, LoadError};

/// Observer that emits the tracepoints of ros2_tracing.
///
/// It locks for a moment: where an entity comes, and where the callback of a subscription is dispatched.
#[derive(Debug)]
pub struct Tracer {
    library: Library,
    declared: Mutex<DeclaredEntities>,
    clients: AtomicU64,
}

impl Tracer {
    /// Loads the library of that name or path, and tells it that the program has begun. Reads files, and runs what the
    /// library does when it is loaded: LTTng starts two threads.
    ///
    /// # Errors
    /// If the dynamic loader cannot load it, it is another library, or it was built without tracepoints.
    pub fn load(library: impl AsRef<OsStr>) -> Result<Self, LoadError> {
        let library = Library::load(library.as_ref())?;
        library.rcl_init(Address::context());
        Ok(Self { library, declared: Mutex::default(), clients: AtomicU64::new(1) })
    }

    fn declared(&self) -> MutexGuard<'_, DeclaredEntities> {
        self.declared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a callback starts, or will as soon as its message was taken.
    fn dispatched(&self, executor: u16, activation: &Activation) {
        let key = EntityKey { executor, bits: activation.entity.to_bits() };
        // The message that the thread published before is in all its queues.
        take_sent();
        // A resumed callback has its message.
        if activation.segment > 0 {
            set_reader(None);
            self.library.callback_start(Address::callback(key), false);
            return;
        }
        self.library.rclcpp_executor_execute(Address::entity(key));
        let reads = activation.kind == EntityKind::Subscription && self.declared().reads(key);
        set_reader(if reads { Some(key) } else { None });
        if !reads {
            self.library.callback_start(Address::callback(key), false);
        }
    }

    /// Notes that a callback has ended, or waits. Does nothing if it did not start, because there was no message.
    fn ended(&self, executor: u16, activation: &Activation) {
        if take_reader().is_none() {
            let key = EntityKey { executor, bits: activation.entity.to_bits() };
            self.library.callback_end(Address::callback(key));
        }
    }
}

impl Observer for Tracer {
    fn define(&self, definition: &Definition) {
        let library = &self.library;
        match definition {
            Definition::Entity { executor, entity, account, name, kind, period, .. } => {
                let key = EntityKey { executor: *executor, bits: *entity };
                let entity = Address::entity(key);
                let callback = Address::callback(key);
                let is_new = self.declared().define(library, key, *account, || {
                    if *kind == EntityKind::Timer {
                        let period = period.map_or(0, |period| period.as_nanos());
                        library.rcl_timer_init(entity, i64::try_from(period).unwrap_or(i64::MAX));
                        library.rclcpp_timer_callback_added(entity, callback);
                    }
                });
                if is_new {
                    library.rclcpp_callback_register(callback, &text(name));
                }
            }
            Definition::Queue { queue, account, depth, .. } => {
                self.declared().add_queue(library, *queue, *account, *depth);
            }
            _ => {}
        }
    }

    fn declare(&self, declaration: &Declaration) {
        let library = &self.library;
        match declaration {
            Declaration::Node { node, name, namespace } => {
                let handle = Address::node(node);
                let rmw = Address::rmw_node(node);
                library.rcl_node_init(handle, rmw, &text(name), &text(namespace));
            }
            Declaration::Publisher { node, publisher, topic, depth } => {
                let handle = Address::publisher(*publisher);
                let rmw = Address::rmw_publisher(*publisher);
                let mut id = [0; 24];
                id[..16].copy_from_slice(publisher);
                library.rmw_publisher_init(rmw, &id);
                library.rcl_publisher_init(handle, Address::node(node), rmw, &text(topic), *depth);
            }
            Declaration::Client { node, service } => {
                let number = self.clients.fetch_add(1, Ordering::Relaxed);
                let handle = Address::client(number);
                let rmw = Address::rmw_client(number);
                library.rcl_client_init(handle, Address::node(node), rmw, &text(service));
            }
            Declaration::Subscription { account, .. }
            | Declaration::Service { account, .. }
            | Declaration::Timer { account, .. } => self.declared().declare(library, *account, declaration),
            _ => {}
        }
    }

    fn forget_queue(&self, queue: u64) {
        self.declared().forget_queue(queue);
    }

    fn scheduled(&self, executor: u16, event: &TraceEvent) {
        match event {
            TraceEvent::Dispatched(_, activation) => self.dispatched(executor, activation),
            TraceEvent::Suspended(activation) | TraceEvent::Completed(activation) => self.ended(executor, activation),
            _ => {}
        }
    }

    fn happened(&self, event: &Event) {
        let library = &self.library;
        match event {
            Event::Sent { publisher, number } => {
                let handle = Address::publisher(*publisher);
                let message = Address::sent(*publisher, *number);
                library.rclcpp_publish(handle, message);
                library.rcl_publish(handle, message);
                set_sent(handle, message);
            }
            Event::Queued { queue, ticket, displaced } => {
                if let Some((publisher, message)) = take_sent() {
                    library.rclcpp_intra_publish(publisher, message);
                }
                library.rclcpp_ring_buffer_enqueue(Address::queue(*queue), *ticket, 0, *displaced);
            }
            Event::Taken { queue, ticket } => {
                library.rclcpp_ring_buffer_dequeue(Address::queue(*queue), *ticket, 0);
                if let Some(key) = take_reader() {
                    library.callback_start(Address::callback(key), true);
                }
            }
            _ => {}
        }
    }

    fn took_encoded(&self, published: Option<std::time::SystemTime>) {
        let Some(key) = take_reader() else { return };
        let library = &self.library;
        let published_ns = published.map_or(0, |time| time.to_reading().as_nanos());
        let message = Address::taken(key, published_ns);
        library.rmw_take(Address::rmw_entity(key), message, i64::try_from(published_ns).unwrap_or(0), true);
        library.rcl_take(message);
        library.rclcpp_take(message);
        library.callback_start(Address::callback(key), false);
    }
}
