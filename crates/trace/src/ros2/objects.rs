//! The objects of a traced system, which its events name by addresses: nodes, publishers, entities with their
//! callbacks, buffers.

use std::collections::{HashMap, VecDeque};

use rospin_core::EntityKind;

use super::line::Line;
use super::names::{node_name, short_symbol};

/// An address in a process. The next object may have it after this one is gone.
pub(super) type Address = u64;

/// A traced process.
#[derive(Default)]
pub(super) struct Process {
    pub(super) host: String,
    pub(super) number: u32,
    /// The name of the thread from which its first event came.
    pub(super) name: String,
    nodes: HashMap<Address, String>,
    /// Publishers and entities by their handles in rcl, and by those in the middleware.
    publishers: HashMap<Address, usize>,
    rmw_publishers: HashMap<Address, usize>,
    entities: HashMap<Address, usize>,
    rmw_entities: HashMap<Address, usize>,
    /// Subscriptions of rclcpp. One of rcl has two if it also takes messages of its own process.
    subscriptions: HashMap<Address, usize>,
    callbacks: HashMap<Address, Owner>,
    symbols: HashMap<Address, String>,
    /// Ids of clients by their handles in the middleware.
    clients: HashMap<Address, [u8; 16]>,
    buffers: HashMap<Address, usize>,
    /// The subscription of rclcpp that an intra-process buffer belongs to.
    readers: HashMap<Address, Address>,
}

/// The owner of a callback.
#[derive(Clone, Copy)]
enum Owner {
    Entity(usize),
    /// A subscription of rclcpp. The one within the process has its callback before it has its handle.
    Subscription(Address),
}

/// A timer, subscription, service or client; a waitable if a callback belongs to none of them.
pub(super) struct Entity {
    pub(super) process: usize,
    pub(super) kind: EntityKind,
    /// The name of the node; `None` if it is not known.
    pub(super) node: Option<String>,
    /// The topic or service; a description if it has neither.
    pub(super) of: String,
    pub(super) period_ns: Option<u64>,
    pub(super) depth: Option<u64>,
    /// The next due time of a timer, by what has been seen.
    pub(super) due: u64,
    pub(super) has_run: bool,
}

/// A publisher.
pub(super) struct Publisher {
    pub(super) process: usize,
    pub(super) topic: String,
    /// True if the times at which its middleware sent its messages are known, which subscribers get with them.
    pub(super) has_times: bool,
}

/// A buffer of messages within a process.
pub(super) struct Buffer {
    pub(super) process: usize,
    /// The intra-process buffer of rclcpp that owns it.
    owner: Option<Address>,
    pub(super) capacity: u64,
    /// The numbers of its messages, with the times at which they came.
    pub(super) messages: VecDeque<(u64, u64)>,
    pub(super) next: u64,
}

/// All objects of a trace.
#[derive(Default)]
pub(super) struct Objects {
    pub(super) processes: Vec<Process>,
    numbers: HashMap<(String, u64), usize>,
    pub(super) entities: Vec<Entity>,
    pub(super) publishers: Vec<Publisher>,
    pub(super) buffers: Vec<Buffer>,
    /// True if a node was created while the trace went on.
    pub(super) has_nodes: bool,
}

impl Objects {
    /// Returns the process with that number on the machine.
    pub(super) fn process(&mut self, line: &Line<'_>, number: u64) -> usize {
        // One process is usual, and spares the text of the key.
        if let Some(last) = self.processes.last()
            && u64::from(last.number) == number
            && last.host == line.host
        {
            return self.processes.len() - 1;
        }
        let processes = &mut self.processes;
        *self.numbers.entry((line.host.to_owned(), number)).or_insert_with(|| {
            let host = line.host.to_owned();
            let name = line.text("procname").unwrap_or_default().to_owned();
            processes.push(Process { host, number: number as u32, name, ..Process::default() });
            processes.len() - 1
        })
    }

    /// Notes what the event tells of objects. Returns false if it tells nothing of them.
    pub(super) fn define(&mut self, process: usize, line: &Line<'_>) -> bool {
        let number = |key| line.number(key).unwrap_or_default();
        let text = |key| line.text(key).unwrap_or_default();
        match line.name {
            "rcl_node_init" => {
                self.has_nodes = true;
                let name = node_name(text("node_name"), text("namespace"));
                self.processes[process].nodes.insert(number("node_handle"), name);
            }
            "rcl_publisher_init" => {
                self.publishers.push(Publisher { process, topic: text("topic_name").to_owned(), has_times: false });
                let of = &mut self.processes[process];
                let place = self.publishers.len() - 1;
                of.publishers.insert(number("publisher_handle"), place);
                of.rmw_publishers.insert(number("rmw_publisher_handle"), place);
            }
            "rcl_subscription_init" => {
                let place = self.add(process, EntityKind::Subscription, line, "topic_name");
                self.entities[place].depth = line.number("queue_depth");
                self.handles(process, place, [number("subscription_handle"), number("rmw_subscription_handle")]);
            }
            "rclcpp_subscription_init" => {
                let of = &mut self.processes[process];
                if let Some(entity) = of.entities.get(&number("subscription_handle")) {
                    of.subscriptions.insert(number("subscription"), *entity);
                }
            }
            "rclcpp_subscription_callback_added" => {
                let owner = Owner::Subscription(number("subscription"));
                self.processes[process].callbacks.insert(number("callback"), owner);
            }
            "rcl_timer_init" => {
                let place = self.add(process, EntityKind::Timer, line, "");
                let period = number("period");
                (self.entities[place].period_ns, self.entities[place].due) =
                    (Some(period), line.at.saturating_add(period));
                self.processes[process].entities.insert(number("timer_handle"), place);
            }
            "rclcpp_timer_link_node" => {
                let of = &self.processes[process];
                if let Some(entity) = of.entities.get(&number("timer_handle")) {
                    self.entities[*entity].node = of.nodes.get(&number("node_handle")).cloned();
                }
            }
            "rcl_service_init" => {
                let place = self.add(process, EntityKind::Service, line, "service_name");
                self.handles(process, place, [number("service_handle"), number("rmw_service_handle")]);
            }
            "rclcpp_timer_callback_added" | "rclcpp_service_callback_added" => {
                let key = if line.name.contains("timer") { "timer_handle" } else { "service_handle" };
                let of = &mut self.processes[process];
                if let Some(entity) = of.entities.get(&number(key)) {
                    of.callbacks.insert(number("callback"), Owner::Entity(*entity));
                }
            }
            "rcl_client_init" => {
                let place = self.add(process, EntityKind::Client, line, "service_name");
                self.handles(process, place, [number("client_handle"), number("rmw_client_handle")]);
            }
            "rmw_client_init" => {
                let id = line.bytes("gid").unwrap_or_default();
                self.processes[process].clients.insert(number("rmw_client_handle"), id);
            }
            "rclcpp_callback_register" => {
                let of = &mut self.processes[process];
                of.symbols.insert(number("callback"), text("symbol").to_owned());
            }
            "rclcpp_construct_ring_buffer" => {
                let capacity = number("capacity");
                self.buffers.push(Buffer { process, owner: None, capacity, messages: VecDeque::new(), next: 0 });
                self.processes[process].buffers.insert(number("buffer"), self.buffers.len() - 1);
            }
            "rclcpp_buffer_to_ipb" => {
                if let Some(buffer) = self.buffer(process, number("buffer")) {
                    self.buffers[buffer].owner = Some(number("ipb"));
                }
            }
            "rclcpp_ipb_to_subscription" => {
                self.processes[process].readers.insert(number("ipb"), number("subscription"));
            }
            _ => return false,
        }
        true
    }

    /// Adds an entity of the node that the event names, and of the topic or service in the field `key`.
    fn add(&mut self, process: usize, kind: EntityKind, line: &Line<'_>, key: &str) -> usize {
        let node = line.number("node_handle").and_then(|handle| self.processes[process].nodes.get(&handle).cloned());
        let of = line.text(key).unwrap_or_default().to_owned();
        self.push(Entity { process, kind, node, of, period_ns: None, depth: None, due: 0, has_run: false })
    }

    fn push(&mut self, entity: Entity) -> usize {
        self.entities.push(entity);
        self.entities.len() - 1
    }

    fn handles(&mut self, process: usize, place: usize, [handle, rmw]: [Address; 2]) {
        let of = &mut self.processes[process];
        of.entities.insert(handle, place);
        of.rmw_entities.insert(rmw, place);
    }

    /// Returns the entity whose callback is there. A callback that no entity has becomes a waitable.
    pub(super) fn of_callback(&mut self, process: usize, callback: Address) -> usize {
        let of = &mut self.processes[process];
        let entity = of.callbacks.get(&callback).and_then(|owner| match owner {
            Owner::Entity(entity) => Some(*entity),
            Owner::Subscription(address) => of.subscriptions.get(address).copied(),
        });
        if let Some(entity) = entity {
            return entity;
        }
        let symbol = of.symbols.get(&callback).map(|symbol| short_symbol(symbol));
        let name = symbol.filter(|name| !name.is_empty()).unwrap_or_else(|| format!("callback {callback:#x}"));
        let kind = EntityKind::Waitable;
        let place = self.push(Entity {
            process,
            kind,
            node: None,
            of: name,
            period_ns: None,
            depth: None,
            due: 0,
            has_run: false,
        });
        self.processes[process].callbacks.insert(callback, Owner::Entity(place));
        place
    }

    /// Returns the entity with that handle in the middleware.
    pub(super) fn of_rmw(&self, process: usize, handle: Address) -> Option<usize> {
        self.processes[process].rmw_entities.get(&handle).copied()
    }

    /// Returns the id of the client with that handle in the middleware.
    pub(super) fn client_id(&self, process: usize, handle: Address) -> Option<[u8; 16]> {
        self.processes[process].clients.get(&handle).copied()
    }

    /// Returns the publisher with that handle in rcl.
    pub(super) fn publisher(&self, process: usize, handle: Address) -> Option<usize> {
        self.processes[process].publishers.get(&handle).copied()
    }

    /// Returns the publisher with that handle in the middleware.
    pub(super) fn rmw_publisher(&self, process: usize, handle: Address) -> Option<usize> {
        self.processes[process].rmw_publishers.get(&handle).copied()
    }

    /// Returns the buffer at that address.
    pub(super) fn buffer(&self, process: usize, address: Address) -> Option<usize> {
        self.processes[process].buffers.get(&address).copied()
    }

    /// Returns the subscription that takes from a buffer.
    pub(super) fn reader(&self, buffer: usize) -> Option<usize> {
        let Buffer { process, owner, .. } = &self.buffers[buffer];
        let of = &self.processes[*process];
        of.readers.get(&(*owner)?).and_then(|subscription| of.subscriptions.get(subscription)).copied()
    }
}
