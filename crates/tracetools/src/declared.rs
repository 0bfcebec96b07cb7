//! Declarations of nodes and definitions of executors, put together for each entity. Either may come first.

use std::collections::HashMap;
use std::ffi::CString;

use rospin_engine::Declaration;

use crate::address::{Address, EntityKey};
use crate::library::Library;

/// Declarations and definitions of a program's entities. It needs memory for those that there are at the same time, and
/// for their queues.
#[derive(Default, Debug)]
pub(crate) struct DeclaredEntities {
    /// By the entity's account.
    parts: HashMap<u64, Part>,
    /// The accounts of entities, by their places in the tables of executors.
    entities: HashMap<(u16, u32), (EntityKey, u64)>,
    /// The accounts of the entities that take from queues.
    queues: HashMap<u64, u64>,
}

/// Names and numbers that are known under an account.
#[derive(Default, Debug)]
struct Part {
    key: Option<EntityKey>,
    declaration: Option<Declaration>,
    queues: Vec<u64>,
}

/// Returns a text for C, up to a zero byte in it.
pub(crate) fn text(of: &str) -> CString {
    let end = of.find('\0').unwrap_or(of.len());
    CString::new(&of[..end]).unwrap_or_default()
}

impl DeclaredEntities {
    /// Notes what a node declares of an entity.
    pub(crate) fn declare(&mut self, library: &Library, account: u64, declaration: &Declaration) {
        let part = self.parts.entry(account).or_default();
        part.declaration = Some(declaration.clone());
        if let Some(key) = part.key {
            tell(library, key, declaration);
        }
    }

    /// Notes an entity of an executor. Returns false if it is known already. `new` is called before anything is told of
    /// a new one.
    pub(crate) fn define(&mut self, library: &Library, key: EntityKey, account: u64, new: impl FnOnce()) -> bool {
        let before = self.entities.insert(key.place(), (key, account));
        match before {
            Some((of, _)) if of == key => return false,
            // Another entity had the place before.
            Some((_, account)) => _ = self.parts.remove(&account),
            None => {}
        }
        new();
        let part = self.parts.entry(account).or_default();
        part.key = Some(key);
        if let Some(declaration) = &part.declaration {
            tell(library, key, declaration);
        }
        for queue in &part.queues {
            link(library, *queue, key);
        }
        true
    }

    /// Notes the queue that an entity takes from.
    pub(crate) fn add_queue(&mut self, library: &Library, queue: u64, account: u64, capacity: u64) {
        if let Some(of) = self.queues.insert(queue, account) {
            if of == account {
                return;
            }
            if let Some(part) = self.parts.get_mut(&of) {
                part.queues.retain(|other| *other != queue);
                // A queue has an account of its own until an entity takes from it.
                if part.queues.is_empty() && part.key.is_none() && part.declaration.is_none() {
                    self.parts.remove(&of);
                }
            }
        } else {
            library.rclcpp_construct_ring_buffer(Address::queue(queue), capacity);
            library.rclcpp_buffer_to_ipb(Address::queue(queue), Address::buffer(queue));
        }
        let part = self.parts.entry(account).or_default();
        part.queues.push(queue);
        if let Some(key) = part.key {
            link(library, queue, key);
        }
    }

    /// Forgets a queue that is gone.
    pub(crate) fn forget_queue(&mut self, queue: u64) {
        let Some(account) = self.queues.remove(&queue) else { return };
        let Some(part) = self.parts.get_mut(&account) else { return };
        part.queues.retain(|other| *other != queue);
        // An entity is forgotten when another one has its place. This one never had one.
        if part.queues.is_empty() && part.key.is_none() {
            self.parts.remove(&account);
        }
    }

    /// Returns true if the entity takes messages of a topic, so that its callback starts when it has one.
    pub(crate) fn reads(&self, key: EntityKey) -> bool {
        let entity = self.entities.get(&key.place()).filter(|(of, _)| *of == key);
        let part = entity.and_then(|(_, account)| self.parts.get(account));
        part.is_some_and(|part| {
            matches!(part.declaration, Some(Declaration::Subscription { .. })) || !part.queues.is_empty()
        })
    }
}

/// Tells that the subscription takes from the queue.
fn link(library: &Library, queue: u64, key: EntityKey) {
    library.rclcpp_ipb_to_subscription(Address::buffer(queue), Address::subscription(key));
}

/// Tells what the node has declared of the entity.
fn tell(library: &Library, key: EntityKey, declaration: &Declaration) {
    let entity = Address::entity(key);
    let rmw = Address::rmw_entity(key);
    let callback = Address::callback(key);
    match declaration {
        Declaration::Subscription { node, topic, depth, .. } => {
            let subscription = Address::subscription(key);
            library.rcl_subscription_init(entity, Address::node(node), rmw, &text(topic), *depth);
            library.rclcpp_subscription_init(entity, subscription);
            library.rclcpp_subscription_callback_added(subscription, callback);
        }
        Declaration::Service { node, service, .. } => {
            library.rcl_service_init(entity, Address::node(node), rmw, &text(service));
            library.rclcpp_service_callback_added(entity, callback);
        }
        Declaration::Timer { node, .. } => library.rclcpp_timer_link_node(entity, Address::node(node)),
        _ => {}
    }
}
