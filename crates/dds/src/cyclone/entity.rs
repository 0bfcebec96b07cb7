//! Domains, participants, readers and writers.

use std::cell::UnsafeCell;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use super::ffi::{self, RawDiscovery, RawListener, RawPace, RawProperty, RawQos, SerType};
use super::listener::{self, Discover, Listen, Receive};
use super::{Code, EntityQos, Guid, Handle, Identity, check, sample, text};

/// An entity, which is deleted when this is dropped. Deleting it waits until the library calls none of its listeners
/// any more.
#[derive(Debug)]
pub(super) struct Entity(i32);

impl Entity {
    /// Returns the entity's number in the library.
    #[cfg(feature = "bare")]
    pub(super) const fn number(&self) -> i32 {
        self.0
    }

    /// Returns the entity's id in the network.
    fn guid(&self) -> Result<Guid, Code> {
        let mut guid = Guid::default();
        // SAFETY: `guid` has the size that the function writes.
        check(unsafe { ffi::rospin_dds_guid(self.0, &raw mut guid) })?;
        Ok(guid)
    }

    /// Returns the number by which the library's reports name the entity.
    fn handle(&self) -> Result<Handle, Code> {
        let mut handle = 0;
        // SAFETY: `handle` has the size that the function writes.
        check(unsafe { ffi::rospin_dds_instance_handle(self.0, &raw mut handle) })?;
        Ok(handle)
    }
}

impl Drop for Entity {
    fn drop(&mut self) {
        // SAFETY: the library checks if a number is that of an entity.
        let code = unsafe { ffi::rospin_dds_delete(self.0) };
        debug_assert!(code >= 0, "{}", Code(code));
    }
}

/// A participant, in a domain that no other participant of this process is in.
pub(crate) struct Participant {
    participant: Entity,
    guid: Guid,
    // Declared after `participant`, so that it is dropped, and the domain deleted, after it.
    _domain: Entity,
}

impl Participant {
    /// Starts a domain, its threads and sockets, and takes part in it. `domain_id` is a number that no other domain of
    /// this process has.
    pub(crate) fn start(
        domain_id: u32,
        config: &str,
        user_data: &[u8],
        properties: &[(String, String)],
    ) -> Result<Self, Code> {
        super::log::listen();
        let config = text(config)?;
        let texts = properties.iter().map(|(name, value)| Ok((text(name)?, text(value)?)));
        let texts = texts.collect::<Result<Vec<_>, Code>>()?;
        let raw = texts.iter().map(|(name, value)| RawProperty { name: name.as_ptr(), value: value.as_ptr() });
        let raw: Vec<_> = raw.collect();
        // SAFETY: the text ends with a zero, and the library copies it.
        let domain = Entity(check(unsafe { ffi::rospin_dds_create_domain(domain_id, config.as_ptr()) })?);
        let data = user_data.as_ptr().cast();
        let size = user_data.len();
        // SAFETY: data and properties have the lengths that are passed, and the library copies them.
        let code = unsafe { ffi::rospin_dds_create_participant(domain_id, data, size, raw.as_ptr(), raw.len()) };
        let participant = Entity(check(code)?);
        Ok(Self { guid: participant.guid()?, participant, _domain: domain })
    }

    pub(crate) const fn guid(&self) -> Guid {
        self.guid
    }

    /// Returns the participant's number in the library.
    #[cfg(feature = "bare")]
    pub(super) const fn number(&self) -> i32 {
        self.participant.0
    }

    /// Creates a topic of the type called `type_name`. Returns the topic and its type, which exist for as long as the
    /// returned entity, or a reader or writer of the topic.
    pub(super) fn topic(&self, name: &str, type_name: &str) -> Result<(Entity, *const SerType), Code> {
        let name = text(name)?;
        let type_name = text(type_name)?;
        let mut sertype = ptr::null();
        let name = name.as_ptr();
        let type_name = type_name.as_ptr();
        // SAFETY: the texts end with zeros and are copied, and `sertype` has the size that the function writes.
        let code = unsafe { ffi::rospin_dds_create_topic(self.participant.0, name, type_name, &raw mut sertype) };
        Ok((Entity(check(code)?), sertype))
    }
}

/// Returns a limit in the library's nanoseconds, whose largest number is no limit.
fn nanos(limit: Option<Duration>) -> i64 {
    limit.map_or(i64::MAX, |limit| i64::try_from(limit.as_nanos()).unwrap_or(i64::MAX))
}

/// Returns a quality of service in the library's form, which borrows the user data.
fn raw_qos(qos: &EntityQos<'_>) -> RawQos {
    RawQos {
        reliable: qos.is_reliable.into(),
        transient_local: qos.is_transient_local.into(),
        depth: qos.depth.map_or(0, |depth| i32::try_from(depth.max(1)).unwrap_or(i32::MAX)),
        ignores_own: qos.ignores_own.into(),
        manual: qos.times.is_manual.into(),
        deadline: nanos(qos.times.deadline),
        lifespan: nanos(qos.times.lifespan),
        lease: nanos(qos.times.lease),
        blocking: nanos(Some(qos.max_blocking_time)),
        user_data: qos.user_data.as_ptr().cast(),
        user_data_size: qos.user_data.len(),
    }
}

/// A listener in the library's form, at an address that does not change.
struct Told<L> {
    raw: Box<RawListener>,
    _listen: Arc<L>,
}

// SAFETY: only the library uses the pointer in it, and what it points to is `Send` and `Sync`.
unsafe impl<L: Send + Sync> Send for Told<L> {}
// SAFETY: as for `Send`.
unsafe impl<L: Send + Sync> Sync for Told<L> {}

impl<L: Listen> Told<L> {
    fn new(listen: &Arc<L>) -> Self {
        Self { raw: Box::new(listener::listener(&**listen)), _listen: Arc::clone(listen) }
    }
}

/// A writer of encoded messages.
pub(crate) struct Writer<L> {
    writer: Entity,
    /// Type of the writer's topic, which exists as long as the writer.
    sertype: *const SerType,
    guid: Guid,
    handle: Handle,
    /// State of [`pace`](Self::pace), which the library reads and writes while it has locked the writer.
    pace: UnsafeCell<RawPace>,
    // Declared after `writer`, so that the listener is dropped after it.
    _told: Told<L>,
}

// SAFETY: the library may be called on any thread, and the type's pointer is only passed back to it. The state of the
// pace is read and written under a lock.
unsafe impl<L: Send + Sync> Send for Writer<L> {}
// SAFETY: as for `Send`.
unsafe impl<L: Send + Sync> Sync for Writer<L> {}

impl<L: Listen> Writer<L> {
    /// Creates a writer, whose matches are reported to `listen`.
    pub(crate) fn create(
        participant: &Participant,
        topic: &str,
        type_name: &str,
        qos: &EntityQos<'_>,
        listen: &Arc<L>,
    ) -> Result<Self, Code> {
        let (topic, sertype) = participant.topic(topic, type_name)?;
        let told = Told::new(listen);
        let qos = raw_qos(qos);
        let participant = participant.participant.0;
        let listener = &raw const *told.raw;
        // SAFETY: the listener is dropped after the writer. The library copies everything else.
        let code = unsafe { ffi::rospin_dds_create_writer(participant, topic.0, &raw const qos, listener) };
        let writer = Entity(check(code)?);
        let guid = writer.guid()?;
        let handle = writer.handle()?;
        let pace = UnsafeCell::default();
        Ok(Self { writer, sertype, guid, handle, pace, _told: told })
    }

    pub(crate) const fn guid(&self) -> Guid {
        self.guid
    }

    pub(crate) const fn handle(&self) -> Handle {
        self.handle
    }

    /// Ends the writer at once, though readers may not have confirmed its last messages, for which it would wait up to a
    /// second when it is dropped.
    pub(crate) fn abandon(self) {
        // SAFETY: the library checks if a number is that of an entity, and nobody uses the writer any more.
        unsafe { ffi::rospin_dds_abandon(self.writer.0) }
    }

    /// Gives a sign of life without a message.
    pub(crate) fn assert_liveliness(&self) -> Result<(), Code> {
        // SAFETY: the library checks if a number is that of an entity.
        check(unsafe { ffi::rospin_dds_assert_liveliness(self.writer.0) }).map(drop)
    }

    /// Returns the probe of this writer.
    pub(crate) const fn probe(&self) -> Probe {
        Probe(self.writer.0)
    }

    /// Sends a message, encapsulation header first, and leaves the vector empty. Readers of this process get it on this
    /// thread. A reliable writer that is far ahead of its readers waits for a tenth of a second, and then fails.
    pub(crate) fn write(&self, bytes: &mut Vec<u8>) -> Result<(), Code> {
        // SAFETY: `sertype` is the type of the writer's topic.
        unsafe { sample::write(self.writer.0, self.sertype, bytes, None) }
    }

    /// Waits, before a message of `size` bytes, while more is on its way to reliable readers of this machine than the
    /// buffers of their sockets hold: for `at_most` that time, and for 25 ms without an answer. It does not wait if the
    /// last call was more than 20 ms ago, and not again for readers that have not answered.
    pub(crate) fn pace(&self, size: usize, at_most: Duration) {
        // SAFETY: the library checks if a number is that of an entity, and locks it while it uses the state, which exists
        // as long as the writer.
        unsafe { ffi::rospin_dds_pace(self.writer.0, size, self.pace.get(), nanos(Some(at_most))) }
    }

    /// Waits for `at_most` that time until a reliable writer has room: until it writes without waiting, and overwrites
    /// nothing that a reader of another participant has not got. Returns true if it has room.
    pub(crate) fn wait_for_room(&self, at_most: Duration) -> bool {
        // SAFETY: the library checks if a number is that of an entity.
        unsafe { ffi::rospin_dds_wait_for_room(self.writer.0, nanos(Some(at_most))) != 0 }
    }

    /// Returns true if a reliable reader of another participant has asked for a message that it has not got, and in
    /// whose place the history has a newer one.
    pub(crate) fn has_overwritten(&self) -> bool {
        // SAFETY: the library checks if a number is that of an entity.
        unsafe { ffi::rospin_dds_has_overwritten(self.writer.0) != 0 }
    }

    /// Sends a message as [`write`](Self::write) does, with an identity beside it.
    pub(crate) fn write_related(&self, bytes: &mut Vec<u8>, related: Identity) -> Result<(), Code> {
        // SAFETY: `sertype` is the type of the writer's topic.
        unsafe { sample::write(self.writer.0, self.sertype, bytes, Some(related)) }
    }

    /// Returns the number that its next message has, unless another thread sends one meanwhile.
    pub(crate) fn next_number(&self) -> i64 {
        // SAFETY: the library checks if a number is that of an entity.
        let number = unsafe { ffi::rospin_dds_next_number(self.writer.0) };
        i64::try_from(number).unwrap_or(i64::MAX)
    }
}

/// Probe of a writer, which finds out if readers listen to it. It may outlive the writer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe(i32);

impl Probe {
    /// Returns false if that reader is reliable, of another participant, and has not answered the writer yet. Such a
    /// reader asks later for messages that were written before its answer, and gets those that the writer still has.
    pub(crate) fn is_heard(self, reader: Handle) -> bool {
        // SAFETY: the library checks if a number is that of an entity.
        unsafe { ffi::rospin_dds_is_heard(self.0, reader) != 0 }
    }
}

/// Probe of a reader, which finds out if writers know of it. It may outlive the reader.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReaderProbe(i32);

impl ReaderProbe {
    /// Returns false if that writer is reliable, of another participant, and has sent the reader no heartbeat yet. It
    /// may not know of the reader, and what it writes now may be lost.
    pub(crate) fn is_known(self, writer: &Guid) -> bool {
        // SAFETY: the library checks if a number is that of an entity, and the id has the size that it reads.
        unsafe { ffi::rospin_dds_is_known(self.0, writer) != 0 }
    }

    /// Has the reader ask its writers for the messages that its receiver had no room for. Locks for a moment. Must not
    /// be called by a receiver.
    pub(crate) fn ask_again(self) {
        // SAFETY: the library checks if a number is that of an entity.
        unsafe { ffi::rospin_dds_ask_again(self.0) }
    }
}

/// A reader of encoded messages.
pub(crate) struct Reader<L> {
    reader: Entity,
    guid: Guid,
    // Declared after the reader, so that the listener is dropped after it.
    _told: Told<L>,
}

impl<L: Listen> Reader<L> {
    /// Creates a reader. Its messages may arrive before this returns.
    pub(crate) fn create(
        participant: &Participant,
        topic: &str,
        type_name: &str,
        qos: &EntityQos<'_>,
        listen: &Arc<L>,
        receive: impl Receive,
    ) -> Result<Self, Code> {
        let (topic, _) = participant.topic(topic, type_name)?;
        let told = Told::new(listen);
        let qos = raw_qos(qos);
        let receiver = listener::receiver(receive);
        let participant = participant.participant.0;
        let listener = &raw const *told.raw;
        // SAFETY: the listener is dropped after the reader, and the library owns the receiver. It copies everything
        // else.
        let code = unsafe {
            ffi::rospin_dds_create_reader(participant, topic.0, &raw const qos, listener, &raw const receiver)
        };
        let reader = Entity(check(code)?);
        Ok(Self { guid: reader.guid()?, reader, _told: told })
    }

    /// Returns the probe of this reader.
    pub(crate) const fn probe(&self) -> ReaderProbe {
        ReaderProbe(self.reader.0)
    }

    pub(crate) const fn guid(&self) -> Guid {
        self.guid
    }
}

/// Discovery, whose findings the library passes to `D` until this is dropped.
pub(crate) struct Discovery<D> {
    _readers: Vec<Entity>,
    // Declared after the readers, so that it is dropped after them.
    _raw: Box<RawDiscovery>,
    _discover: Arc<D>,
}

// SAFETY: only the library uses the pointer in it, and what it points to is `Send` and `Sync`.
unsafe impl<D: Send + Sync> Send for Discovery<D> {}
// SAFETY: as for `Send`.
unsafe impl<D: Send + Sync> Sync for Discovery<D> {}

impl<D: Discover> Discovery<D> {
    /// Starts discovery, which reports to `discover` what exists already, too.
    pub(crate) fn start(participant: &Participant, discover: &Arc<D>) -> Result<Self, Code> {
        let raw = Box::new(listener::discovery(&**discover));
        let mut readers = [0; 3];
        // SAFETY: `raw` is dropped after the readers, and `readers` has room for all that the function writes.
        let code = unsafe { ffi::rospin_dds_discover(participant.participant.0, &raw const *raw, &raw mut readers) };
        let readers = readers.into_iter().filter(|reader| *reader > 0).map(Entity).collect();
        check(code)?;
        Ok(Self { _readers: readers, _raw: raw, _discover: Arc::clone(discover) })
    }
}
