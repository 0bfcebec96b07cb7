//! What all ends of a process have in common: the node of iceoryx2, and the services of topics.

use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use iceoryx2::prelude::*;
use iceoryx2::service::port_factory::{event, publish_subscribe};
use rospin_engine::Mutex;
use rospin_node::{FullName, Gid, Refused};

use crate::error::LocalError;
use crate::header::Header;
use crate::options::LocalOptions;

/// The kind of iceoryx2's communication: shared memory of processes, whose ports any thread may use.
pub(crate) type Ipc = ipc_threadsafe::Service;

/// Factory of a topic's data ports.
pub(crate) type DataService = publish_subscribe::PortFactory<Ipc, [u8], Header>;
/// Factory of a topic's list of subscriptions: their ports are listeners that nobody notifies.
pub(crate) type ListService = event::PortFactory<Ipc>;

/// First part of the names of all files, which tells them from those of other users of iceoryx2.
pub(crate) const PREFIX: &str = "rospin_";

/// Shared memory that is left for ports and their connections, in bytes.
const RESERVE: u64 = 1 << 20;

/// What is said where there is less.
pub(crate) const NO_ROOM: &str = "the machine has no shared memory left, see `df /dev/shm`";

/// Time between two looks for processes that died.
const CLEANUP_PERIOD: Duration = Duration::from_secs(1);

/// The local path of a process over one middleware.
pub(crate) struct Shared {
    pub(crate) options: LocalOptions,
    /// First part of the names of all services: that of the network, and of what else processes must have in common.
    scope: String,
    node: Mutex<iceoryx2::node::Node<Ipc>>,
    node_id: u128,
    /// True if ends are connected only where the offered quality of service meets the demanded one.
    pub(crate) matches_qos: bool,
    cleaner: Option<(Sender<()>, JoinHandle<()>)>,
}

/// The services of a topic.
pub(crate) struct Topic {
    pub(crate) data: DataService,
    pub(crate) list: ListService,
    node_id: u128,
}

/// Returns the directory of this user. Others could not write to that of one user.
fn root() -> String {
    format!("/tmp/rospin-local-{}/", rustix::process::getuid().as_raw())
}

/// Creates the directory of this user, and checks that nobody else has made it: whoever has it could put other files in
/// place of those that are expected there.
fn create_root() -> Result<(), LocalError> {
    let root = root();
    let path = root.trim_end_matches('/');
    let failed = |reason: String| LocalError::SharedMemory { reason: format!("`{path}`: {reason}") };
    match std::fs::DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(failed(error.to_string())),
        _ => {}
    }
    // Not that of what a link leads to.
    let found = std::fs::symlink_metadata(path).map_err(|error| failed(error.to_string()))?;
    let is_own = found.is_dir() && found.uid() == rustix::process::getuid().as_raw() && found.mode() & 0o022 == 0;
    if is_own { Ok(()) } else { Err(failed("it is no directory that only this user can write to".to_owned())) }
}

fn config() -> Config {
    let mut config = Config::default();
    if let Ok(prefix) = FileName::new(PREFIX.as_bytes()) {
        config.global.prefix = prefix;
    }
    if let Ok(root) = Path::new(root().as_bytes()) {
        config.global.set_root_path(&root);
    }
    config
}

/// Creates the node of this process. Also cleans up after processes that died.
fn create_node() -> Result<iceoryx2::node::Node<Ipc>, LocalError> {
    // Signals are the program's.
    let builder = NodeBuilder::new().config(&config()).signal_handling_mode(SignalHandlingMode::Disabled);
    builder.create::<Ipc>().map_err(|error| LocalError::SharedMemory { reason: error.to_string() })
}

impl Shared {
    pub(crate) fn new(options: LocalOptions, network: &str, matches_qos: bool) -> Result<Self, LocalError> {
        create_root()?;
        // It also warns of what processes that were killed have left, which is removed below.
        set_log_level_from_env_or(LogLevel::Error);
        let node = create_node()?;
        let node_id = node.id().value();
        // Processes of two network namespaces may have the same shared memory, but are two hosts to a middleware.
        let namespace = std::fs::metadata("/proc/self/ns/net").map_or(0, |namespace| namespace.ino());
        let user = rustix::process::getuid().as_raw();
        let scope = format!("rospin 1 {user} {namespace:x} {network}");
        let (stop, stopped) = channel();
        let cleaner = std::thread::Builder::new().name("rospin-local".to_owned()).spawn(move || {
            // A node of its own, so that it needs no lock that ends wait for.
            let Ok(node) = create_node() else { return };
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(CLEANUP_PERIOD) {
                let _ = node.try_cleanup_dead_nodes();
            }
        });
        let cleaner = cleaner.ok().map(|thread| (stop, thread));
        Ok(Self { options, scope, node: Mutex::new(node), node_id, matches_qos, cleaner })
    }

    /// Opens the services of a topic, which have the ends of all processes.
    pub(crate) fn topic(&self, name: &FullName, type_key: &str) -> Result<Topic, Refused> {
        // Memory that the machine does not have is a signal that ends the process, and no error.
        if !has_room(0) {
            return Err(Refused(NO_ROOM.to_owned()));
        }
        let service = format!("{} {name} {type_key}", self.scope);
        let service = ServiceName::new(&service).map_err(refused)?;
        let LocalOptions { ends, waiting, .. } = self.options;
        let node = self.node.lock();
        let data = node
            .service_builder(&service)
            .publish_subscribe::<[u8]>()
            .user_header::<Header>()
            .max_publishers(ends)
            .max_subscribers(ends)
            .max_nodes(2 * ends)
            .history_size(0)
            .subscriber_max_buffer_size(waiting)
            .subscriber_max_borrowed_samples(self.options.borrowed())
            // A full buffer is the publisher's matter: see `Stalled`.
            .enable_safe_overflow(false)
            .open_or_create()
            .map_err(refused)?;
        let list = node
            .service_builder(&service)
            .event()
            .max_listeners(ends)
            .max_nodes(2 * ends)
            .open_or_create()
            .map_err(refused)?;
        Ok(Topic { data, list, node_id: self.node_id })
    }

    /// Returns the number of this process, which each message names.
    pub(crate) const fn node_id(&self) -> u128 {
        self.node_id
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.cleaner.take() {
            drop(stop);
            let _ = thread.join();
        }
    }
}

impl Topic {
    /// Returns the subscriptions by the names of their [bells](crate::wake::Bell), and true if one is of another
    /// process. Messages reach those of this process, too, which ignore them.
    pub(crate) fn bells(&self) -> (Vec<PortName>, bool) {
        let (mut bells, mut is_elsewhere) = (Vec::new(), false);
        self.data.dynamic_config().list_subscribers(|reader| {
            bells.push(reader.subscriber_name);
            is_elsewhere |= reader.node_id.value() != self.node_id;
            CallbackProgression::Continue
        });
        (bells, is_elsewhere)
    }

    /// Returns true if a subscription of another process is there.
    pub(crate) fn is_read_elsewhere(&self) -> bool {
        self.data.dynamic_config().number_of_subscribers() > 0 && self.bells().1
    }

    /// Returns the ids of the subscriptions that read here, by the middleware.
    pub(crate) fn readers(&self) -> Vec<Gid> {
        let mut readers = Vec::new();
        self.list.dynamic_config().list_listeners(|listener| {
            readers.extend(gid_of(&listener.listener_name));
            CallbackProgression::Continue
        });
        readers
    }

    /// Returns true if the publisher with that id, by the middleware, publishes here.
    pub(crate) fn has_publisher(&self, publisher: Gid) -> bool {
        let Ok(name) = name_of(publisher) else { return false };
        let mut is_there = false;
        self.data.dynamic_config().list_publishers(|other| {
            is_there = other.publisher_name == name;
            if is_there { CallbackProgression::Stop } else { CallbackProgression::Continue }
        });
        is_there
    }
}

/// Returns true if the machine has shared memory for a message of so many bytes, for those that are published at the
/// same time, and for what ends have in common.
pub(crate) fn has_room(length: usize) -> bool {
    match rustix::fs::statvfs("/dev/shm") {
        Ok(memory) => memory.f_bavail.saturating_mul(memory.f_frsize) >= 2 * length as u64 + RESERVE,
        Err(_) => true,
    }
}

/// Converts an error of iceoryx2.
pub(crate) fn refused(error: impl std::fmt::Display) -> Refused {
    Refused(error.to_string())
}

/// Returns the name of the port of an end with that id.
pub(crate) fn name_of(gid: Gid) -> Result<PortName, Refused> {
    PortName::new(&gid.to_string()).map_err(|error| Refused(format!("{error:?}")))
}

/// Returns the id of the end whose port has that name.
fn gid_of(name: &PortName) -> Option<Gid> {
    let name = name.as_str();
    let mut bytes = [0; 16];
    if name.len() != 2 * bytes.len() {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(name.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(Gid::new(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_named_by_the_id_of_its_end() {
        let gid = Gid::new([0, 1, 2, 255, 16, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 240]);
        assert_eq!(gid_of(&name_of(gid).unwrap()), Some(gid));
        for other in ["", "00", "zz0102ff100506070809000b0c0d0ef0", "äääääääääääääääääää"] {
            assert_eq!(PortName::new(other).ok().as_ref().and_then(gid_of), None);
        }
    }
}
