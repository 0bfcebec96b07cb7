//! The life of a frame. The place of its memory and events is a [`Slot`], which belongs to one of these at a time:
//!
//! ```text
//!            take()                publish()
//!   pool -----------> Written ------------------> Published -- last reader drops --> pool
//!     ^                  | write_on()                ^
//!     |                  v                           |
//!     |              on a device ---- finish() ------+
//!     +---- drop --------+
//! ```
//!
//! A slot returns to the pool while the device may still use its memory. Each use of the device ends with an event, and
//! the slot is taken again only once all of them are over. Readers have events of their own: a single one that each of
//! them records would forget the others.

use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rospin_engine::Mutex;

use super::driver::{Driver, Memory};

/// Memory of a frame, with the events that say when the device has used it.
pub(crate) struct Slot<D: Driver> {
    memory: Memory,
    /// Over once the device's memory has the content.
    on_device: D::Event,
    /// Over once the host's memory has the content that came from the device. Shared with threads that wait for it.
    on_host: Arc<D::Event>,
    /// The ends of what reads the device's memory.
    readers: Vec<D::Event>,
    /// Events that nobody uses.
    spare: Vec<D::Event>,
    /// True once it is not known what the device does with the memory, because an event could not be recorded.
    is_broken: bool,
}

impl<D: Driver> Slot<D> {
    fn new(driver: &D, bytes: usize) -> Result<Self, D::Error> {
        let on_device = driver.create_event(false)?;
        let on_host = Arc::new(driver.create_event(true)?);
        // Last, because nothing frees the memory of a slot that is not there.
        let memory = driver.allocate(bytes)?;
        Ok(Self { memory, on_device, on_host, readers: Vec::new(), spare: Vec::new(), is_broken: false })
    }

    /// Returns true if the device does not use the memory.
    fn is_idle(&mut self, driver: &D) -> bool {
        if self.is_broken {
            return false;
        }
        let mut is_over = true;
        for event in self.readers.iter().chain([&self.on_device, &*self.on_host]) {
            match driver.is_over(event) {
                Ok(over) => is_over &= over,
                Err(_) => self.is_broken = true,
            }
        }
        if !is_over || self.is_broken {
            return false;
        }
        self.spare.append(&mut self.readers);
        true
    }

    /// Notes that the device's memory has the content once all is over that is on the stream.
    fn record_content(&mut self, driver: &D, stream: &D::Stream) -> Result<(), D::Error> {
        let recorded = driver.record(&self.on_device, stream);
        self.is_broken |= recorded.is_err();
        recorded
    }
}

/// The numbers of bytes that were copied.
#[derive(Default)]
struct Copied {
    to_device: AtomicU64,
    to_host: AtomicU64,
    for_readers: AtomicU64,
}

/// The streams of a pool's copies. None is on a stream that asks for it: what that one still has before it would delay
/// all others who wait for the copy, however urgent, and forever if it waits for them.
pub(crate) struct Copies<D: Driver> {
    pub(crate) to_device: D::Stream,
    pub(crate) to_host: D::Stream,
}

/// Reasons for which a pool has no frame.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum NoFrame {
    /// Messages or the device use all of them.
    InUse,
    /// It is not known what the device does with one of them, and others are in use.
    Broken,
}

/// Slots of one length.
pub(crate) struct Pool<D: Driver> {
    driver: D,
    copies: Copies<D>,
    bytes: usize,
    count: usize,
    free: Mutex<Vec<Slot<D>>>,
    copied: Copied,
}

impl<D: Driver> Pool<D> {
    pub(crate) fn new(driver: D, copies: Copies<D>, bytes: usize, count: usize) -> Result<Arc<Self>, D::Error> {
        let free = Mutex::new(Vec::with_capacity(count));
        // A slot that cannot be had drops the pool, which frees the others.
        let pool = Self { driver, copies, bytes, count, free, copied: Copied::default() };
        for _ in 0..count {
            let slot = Slot::new(&pool.driver, bytes)?;
            pool.free.lock().push(slot);
        }
        Ok(Arc::new(pool))
    }

    pub(crate) const fn driver(&self) -> &D {
        &self.driver
    }

    pub(crate) const fn count(&self) -> usize {
        self.count
    }

    /// Returns the bytes that were copied to the device, from it, and for readers.
    pub(crate) fn copied(&self) -> [u64; 3] {
        let Copied { to_device, to_host, for_readers } = &self.copied;
        [to_device, to_host, for_readers].map(|bytes| bytes.load(Ordering::Relaxed))
    }

    /// Takes a frame that neither messages nor the device use.
    pub(crate) fn take(self: &Arc<Self>) -> Result<Written<D>, NoFrame> {
        let mut free = self.free.lock();
        let Some(place) = (0..free.len()).find(|place| free[*place].is_idle(&self.driver)) else {
            let is_broken = free.iter().any(|slot| slot.is_broken);
            return Err(if is_broken { NoFrame::Broken } else { NoFrame::InUse });
        };
        let slot = free.remove(place);
        drop(free);
        Ok(Written { bytes: self.bytes, memory: slot.memory, slot: Some(slot), pool: Arc::clone(self) })
    }

    fn give_back(&self, slot: Slot<D>) {
        self.free.lock().push(slot);
    }
}

impl<D: Driver> Drop for Pool<D> {
    fn drop(&mut self) {
        for slot in self.free.lock().drain(..) {
            for event in slot.readers.iter().chain([&slot.on_device, &*slot.on_host]) {
                // An error means that the device is lost, which does nothing any more.
                let _ = self.driver.synchronize(event);
            }
            // The memory of a broken slot stays allocated: nobody can say when the device has ended to use it.
            if !slot.is_broken {
                // SAFETY: no message has the slot, and the device has ended to use it.
                unsafe { self.driver.free(slot.memory) };
            }
        }
    }
}

/// A frame that its only owner writes.
pub(crate) struct Written<D: Driver> {
    bytes: usize,
    memory: Memory,
    /// `None` once it is published.
    slot: Option<Slot<D>>,
    pool: Arc<Pool<D>>,
}

impl<D: Driver> Written<D> {
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the host's memory has so many bytes, and the device does not use it.
        unsafe { slice::from_raw_parts(self.memory.host.as_ptr(), self.bytes) }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is the only owner.
        unsafe { slice::from_raw_parts_mut(self.memory.host.as_ptr(), self.bytes) }
    }

    /// Makes the frame shorter.
    pub(crate) fn truncate(&mut self, bytes: usize) {
        self.bytes = self.bytes.min(bytes);
    }

    /// Makes the frame a message's, with the content of the host's memory.
    pub(crate) fn publish(self) -> Arc<Published<D>> {
        self.into_published(Place { host: true, ..Place::default() })
    }

    /// Makes the frame a message's, with the content that the device's memory has once the work on the stream is over.
    pub(crate) fn publish_from(mut self, stream: &D::Stream) -> Result<Arc<Published<D>>, D::Error> {
        if let Some(slot) = &mut self.slot {
            slot.record_content(&self.pool.driver, stream)?;
        }
        Ok(self.into_published(Place { device: true, ..Place::default() }))
    }

    /// Gives the frame back, which work on the stream may be writing.
    pub(crate) fn abandon(mut self, stream: &D::Stream) {
        if let Some(slot) = &mut self.slot {
            // A slot whose event cannot be recorded is not taken any more.
            let _ = slot.record_content(&self.pool.driver, stream);
        }
    }

    pub(crate) const fn device_address(&self) -> &u64 {
        &self.memory.device
    }

    fn into_published(mut self, place: Place) -> Arc<Published<D>> {
        let state = Mutex::new(State { slot: self.slot.take(), place });
        Arc::new(Published { bytes: self.bytes, memory: self.memory, state, pool: Arc::clone(&self.pool) })
    }
}

impl<D: Driver> Drop for Written<D> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            self.pool.give_back(slot);
        }
    }
}

/// The memory that has a frame's content, or will have it once the slot's event is over.
#[derive(Clone, Copy, Default)]
struct Place {
    host: bool,
    /// True while the content is on its way to the host.
    is_coming: bool,
    device: bool,
}

struct State<D: Driver> {
    /// `None` once the frame is dropped.
    slot: Option<Slot<D>>,
    place: Place,
}

/// A frame of a message, which nobody writes any more.
pub(crate) struct Published<D: Driver> {
    bytes: usize,
    memory: Memory,
    state: Mutex<State<D>>,
    pool: Arc<Pool<D>>,
}

impl<D: Driver> Published<D> {
    pub(crate) const fn len(&self) -> usize {
        self.bytes
    }

    pub(crate) const fn pool(&self) -> &Arc<Pool<D>> {
        &self.pool
    }

    /// Has the stream wait until the device's memory has the content. The first call has it copied there, if it is only
    /// in the host's. The calling thread does not wait for the device.
    pub(crate) fn read_on(self: &Arc<Self>, stream: &D::Stream) -> Result<Reading<D>, D::Error> {
        let driver = &self.pool.driver;
        let mut state = self.state.lock();
        let State { slot: Some(slot), place } = &mut *state else {
            unreachable!("a frame that is read is not dropped")
        };
        // First, because a reader without an event could not say when it ends.
        let end = match slot.spare.pop() {
            Some(event) => event,
            None => driver.create_event(false)?,
        };
        if !place.device {
            let copies = &self.pool.copies.to_device;
            // SAFETY: the slot is not taken again before the copy's event is over. The host's memory has the content,
            // so nobody writes to it, and this is the first use of the device's.
            unsafe { driver.to_device(copies, self.memory, self.bytes) }?;
            slot.record_content(driver, copies)?;
            place.device = true;
            self.pool.copied.to_device.fetch_add(self.bytes as u64, Ordering::Relaxed);
        }
        driver.wait(stream, &slot.on_device)?;
        drop(state);
        Ok(Reading { frame: Arc::clone(self), stream: stream.clone(), end: Some(end) })
    }

    /// Returns the content in the host's memory. Waits until it is there; it is copied at most once.
    pub(crate) fn bytes(&self) -> Result<&[u8], D::Error> {
        let coming = self.ask_for_bytes()?;
        if let Some(coming) = coming {
            // Without the lock, so that streams need not wait for the device to read the frame.
            self.pool.driver.synchronize(&coming)?;
            self.state.lock().place.host = true;
        }
        // SAFETY: the host's memory has so many bytes. It has the content, so that nobody writes to it while the frame
        // is there.
        Ok(unsafe { slice::from_raw_parts(self.memory.host.as_ptr(), self.bytes) })
    }

    /// Counts the content as copied for readers.
    pub(crate) fn count_copy(&self) {
        self.pool.copied.for_readers.fetch_add(self.bytes as u64, Ordering::Relaxed);
    }

    /// Has the content copied to the host unless it is there. Returns the event to wait for, if any.
    fn ask_for_bytes(&self) -> Result<Option<Arc<D::Event>>, D::Error> {
        let driver = &self.pool.driver;
        let mut state = self.state.lock();
        let State { slot: Some(slot), place } = &mut *state else {
            unreachable!("a frame that is read is not dropped")
        };
        if place.host {
            return Ok(None);
        }
        if !place.is_coming {
            let back = &self.pool.copies.to_host;
            driver.wait(back, &slot.on_device)?;
            // SAFETY: the slot is not taken again before the copy's event is over, and the host's memory is read only
            // after it.
            unsafe { driver.to_host(back, self.memory, self.bytes) }?;
            if let Err(error) = driver.record(&slot.on_host, back) {
                slot.is_broken = true;
                return Err(error);
            }
            place.is_coming = true;
            self.pool.copied.to_host.fetch_add(self.bytes as u64, Ordering::Relaxed);
        }
        Ok(Some(Arc::clone(&slot.on_host)))
    }
}

impl<D: Driver> Drop for Published<D> {
    fn drop(&mut self) {
        let slot = self.state.lock().slot.take();
        if let Some(slot) = slot {
            self.pool.give_back(slot);
        }
    }
}

/// A stream that reads a frame in the device's memory, up to what is on it when this is dropped.
pub(crate) struct Reading<D: Driver> {
    frame: Arc<Published<D>>,
    stream: D::Stream,
    /// `None` once it is recorded.
    end: Option<D::Event>,
}

impl<D: Driver> Reading<D> {
    pub(crate) fn frame(&self) -> &Published<D> {
        &self.frame
    }

    pub(crate) fn device_address(&self) -> &u64 {
        &self.frame.memory.device
    }
}

impl<D: Driver> Drop for Reading<D> {
    fn drop(&mut self) {
        let Some(end) = self.end.take() else { return };
        let recorded = self.frame.pool.driver.record(&end, &self.stream);
        let mut state = self.frame.state.lock();
        if let Some(slot) = &mut state.slot {
            slot.is_broken |= recorded.is_err();
            slot.readers.push(end);
        }
    }
}
