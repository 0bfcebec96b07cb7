//! Frames on a model of the driver, whose streams run when a test says so, in any order.

use std::collections::VecDeque;
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::driver::{Driver, Memory};
use super::pool::{Copies, NoFrame, Pool, Published, Written};

#[derive(Debug, PartialEq)]
struct Refused;

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("refused")
    }
}

/// An event: the number of times that it was recorded, and how many of these are over.
#[derive(Default)]
struct Event {
    recorded: AtomicU64,
    over: AtomicU64,
}

enum Work {
    Record(Arc<Event>, u64),
    Wait(Arc<Event>, u64),
    Run(Box<dyn FnOnce() + Send>),
}

/// A stream, with the work that it has not done yet.
#[derive(Clone, Default)]
struct Stream(Arc<Mutex<VecDeque<Work>>>);

impl Stream {
    fn put(&self, work: Work) {
        self.0.lock().unwrap().push_back(work);
    }

    /// Does the next piece of work. Returns false if the stream is empty, or its next piece waits for an event.
    fn step(&self) -> bool {
        let mut queue = self.0.lock().unwrap();
        match queue.front() {
            None => return false,
            Some(Work::Wait(event, number)) if event.over.load(Ordering::SeqCst) < *number => return false,
            Some(_) => {}
        }
        let work = queue.pop_front();
        drop(queue);
        match work {
            Some(Work::Record(event, number)) => event.over.store(number, Ordering::SeqCst),
            Some(Work::Run(run)) => run(),
            Some(Work::Wait(..)) | None => {}
        }
        true
    }

    fn run(&self) {
        while self.step() {}
    }

    /// Puts a kernel that reads the first bytes of the device's memory, and tells them.
    fn put_reader(&self, device: u64, bytes: usize) -> Arc<Mutex<Option<Vec<u8>>>> {
        let seen = Arc::new(Mutex::new(None));
        let told = Arc::clone(&seen);
        self.put(Work::Run(Box::new(move || {
            let start = device as *const u8;
            // SAFETY: the memory of the model is that of the host, and stays while the test runs.
            let read = unsafe { std::slice::from_raw_parts(start, bytes) }.to_vec();
            *told.lock().unwrap() = Some(read);
        })));
        seen
    }

    /// Puts a kernel that writes the first bytes of the device's memory.
    fn put_writer(&self, device: u64, bytes: usize, value: u8) {
        self.put(Work::Run(Box::new(move || {
            // SAFETY: as above.
            unsafe { std::slice::from_raw_parts_mut(device as *mut u8, bytes) }.fill(value);
        })));
    }
}

/// A driver with so many bytes for each memory.
#[derive(Default)]
struct Model {
    streams: Mutex<Vec<Stream>>,
    is_lost: Arc<AtomicBool>,
    /// True if waiting threads get an error.
    is_interrupted: Arc<AtomicBool>,
    alive: Arc<AtomicU64>,
    bytes: AtomicU64,
}

impl Model {
    fn check(&self) -> Result<(), Refused> {
        if self.is_lost.load(Ordering::SeqCst) { Err(Refused) } else { Ok(()) }
    }
}

impl Driver for Model {
    type Stream = Stream;
    type Event = Arc<Event>;
    type Error = Refused;

    fn allocate(&self, bytes: usize) -> Result<Memory, Refused> {
        self.check()?;
        self.bytes.store(bytes as u64, Ordering::SeqCst);
        self.alive.fetch_add(1, Ordering::SeqCst);
        let host = Box::into_raw(vec![0_u8; bytes].into_boxed_slice()).cast::<u8>();
        let device = Box::into_raw(vec![0_u8; bytes].into_boxed_slice()).cast::<u8>();
        Ok(Memory { host: NonNull::new(host).unwrap(), device: device as u64 })
    }

    unsafe fn free(&self, memory: Memory) {
        self.alive.fetch_sub(1, Ordering::SeqCst);
        let bytes = self.bytes.load(Ordering::SeqCst) as usize;
        for start in [memory.host.as_ptr(), memory.device as *mut u8] {
            // SAFETY: it was made of a box of this length.
            drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(start, bytes)) });
        }
    }

    fn create_event(&self, _: bool) -> Result<Arc<Event>, Refused> {
        self.check()?;
        Ok(Arc::default())
    }

    fn record(&self, event: &Arc<Event>, stream: &Stream) -> Result<(), Refused> {
        self.check()?;
        let number = event.recorded.fetch_add(1, Ordering::SeqCst) + 1;
        stream.put(Work::Record(Arc::clone(event), number));
        Ok(())
    }

    fn wait(&self, stream: &Stream, event: &Arc<Event>) -> Result<(), Refused> {
        self.check()?;
        stream.put(Work::Wait(Arc::clone(event), event.recorded.load(Ordering::SeqCst)));
        Ok(())
    }

    fn is_over(&self, event: &Arc<Event>) -> Result<bool, Refused> {
        self.check()?;
        Ok(event.over.load(Ordering::SeqCst) == event.recorded.load(Ordering::SeqCst))
    }

    fn synchronize(&self, event: &Arc<Event>) -> Result<(), Refused> {
        if self.is_interrupted.load(Ordering::SeqCst) {
            return Err(Refused);
        }
        while !self.is_over(event)? {
            let streams = self.streams.lock().unwrap().clone();
            // Copies run first, so that they are early if they do not wait for what they should.
            assert!(streams.iter().rev().any(Stream::step), "nothing that runs would end the wait");
        }
        Ok(())
    }

    unsafe fn to_device(&self, stream: &Stream, memory: Memory, bytes: usize) -> Result<(), Refused> {
        self.check()?;
        let from = memory.host.as_ptr() as u64;
        stream.put(Work::Run(Box::new(move || {
            // SAFETY: both are memory of the model of at least this length.
            unsafe { std::ptr::copy_nonoverlapping(from as *const u8, memory.device as *mut u8, bytes) };
        })));
        Ok(())
    }

    unsafe fn to_host(&self, stream: &Stream, memory: Memory, bytes: usize) -> Result<(), Refused> {
        self.check()?;
        let to = memory.host.as_ptr() as u64;
        stream.put(Work::Run(Box::new(move || {
            // SAFETY: as above.
            unsafe { std::ptr::copy_nonoverlapping(memory.device as *const u8, to as *mut u8, bytes) };
        })));
        Ok(())
    }
}

const BYTES: usize = 64;

struct World {
    pool: Arc<Pool<Model>>,
    /// Two of detectors, and those of copies to the device and back.
    streams: [Stream; 4],
    is_lost: Arc<AtomicBool>,
    is_interrupted: Arc<AtomicBool>,
    alive: Arc<AtomicU64>,
}

impl World {
    fn new(count: usize) -> Self {
        let streams: [Stream; 4] = Default::default();
        let model = Model::default();
        *model.streams.lock().unwrap() = streams.to_vec();
        let is_lost = Arc::clone(&model.is_lost);
        let is_interrupted = Arc::clone(&model.is_interrupted);
        let alive = Arc::clone(&model.alive);
        let copies = Copies { to_device: streams[2].clone(), to_host: streams[3].clone() };
        let pool = Pool::new(model, copies, BYTES, count).ok().unwrap();
        Self { pool, streams, is_lost, is_interrupted, alive }
    }

    fn take(&self) -> Written<Model> {
        let Ok(frame) = self.pool.take() else { panic!("a frame is free") };
        frame
    }

    fn publish(&self, value: u8) -> Arc<Published<Model>> {
        let mut frame = self.take();
        frame.bytes_mut().fill(value);
        frame.publish()
    }
}

/// Puts a kernel that reads the frame on the stream.
fn detect(frame: &Arc<Published<Model>>, stream: &Stream) -> Arc<Mutex<Option<Vec<u8>>>> {
    let pixels = frame.read_on(stream).unwrap();
    stream.put_reader(*pixels.device_address(), frame.len())
}

fn assert_saw(seen: &Mutex<Option<Vec<u8>>>, value: u8) {
    assert_eq!(*seen.lock().unwrap(), Some(vec![value; BYTES]));
}

#[test]
fn all_streams_read_one_copy_and_wait_for_it() {
    let world = World::new(1);
    let frame = world.publish(7);
    let readers = [detect(&frame, &world.streams[0]), detect(&frame, &world.streams[1])];
    world.streams[1].run();
    assert_eq!(*readers[1].lock().unwrap(), None, "the copy is not there yet");
    world.streams[2].run();
    // A stream that has not come to it delays nobody.
    world.streams[1].run();
    assert_saw(&readers[1], 7);
    world.streams[0].run();
    assert_saw(&readers[0], 7);
    assert_eq!(world.pool.copied(), [BYTES as u64, 0, 0]);
}

#[test]
fn a_frame_is_not_filled_while_any_stream_reads_it() {
    // Whichever stream reads first, and whichever ends first.
    for (early, late) in [(0, 1), (1, 0)] {
        let world = World::new(1);
        let frame = world.publish(7);
        let readers = [detect(&frame, &world.streams[0]), detect(&frame, &world.streams[1])];
        drop(frame);
        assert!(world.pool.take().is_err());
        world.streams[2].run();
        world.streams[early].run();
        assert!(world.pool.take().is_err(), "the other stream has not read it");
        world.streams[late].run();
        drop(world.take());
        readers.iter().for_each(|seen| assert_saw(seen, 7));
    }
}

#[test]
fn a_frame_that_no_kernel_reads_is_not_copied_and_readers_of_the_host_share_it() {
    let world = World::new(2);
    let mut frame = world.take();
    frame.bytes_mut().fill(3);
    frame.truncate(10);
    frame.truncate(20);
    let place = frame.bytes().as_ptr();
    let frame = frame.publish();
    let bytes = frame.bytes().unwrap();
    assert_eq!((bytes.as_ptr(), bytes, frame.len()), (place, &[3; 10][..], 10));
    assert_eq!(world.pool.copied(), [0, 0, 0]);
    // The other frame is free, and this one as soon as nobody has it. It has its length again.
    let other = world.take();
    assert!(world.pool.take().is_err());
    drop(frame);
    let again = world.take();
    assert_eq!((again.bytes().len(), again.bytes().as_ptr()), (BYTES, place));
    drop((again, other));
    drop(world.pool);
    assert_eq!(world.alive.load(Ordering::SeqCst), 0);
}

#[test]
fn a_frame_of_a_kernel_is_copied_back_once_and_its_readers_wait_for_the_kernel() {
    let world = World::new(1);
    let frame = world.take();
    world.streams[0].put_writer(*frame.device_address(), BYTES, 9);
    let frame = frame.publish_from(&world.streams[0]).ok().unwrap();
    let seen = detect(&frame, &world.streams[1]);
    world.streams[1].run();
    assert_eq!(*seen.lock().unwrap(), None, "the kernel has not run");
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| assert_eq!(frame.bytes().unwrap()[..], [9; BYTES]));
        }
    });
    world.streams[1].run();
    assert_saw(&seen, 9);
    assert_eq!(world.pool.copied(), [0, BYTES as u64, 0]);
    assert_eq!(frame.bytes().unwrap()[..], [9; BYTES]);
    assert_eq!(world.pool.copied(), [0, BYTES as u64, 0]);
}

#[test]
fn a_frame_that_a_kernel_writes_in_vain_returns_after_it() {
    let world = World::new(1);
    let frame = world.take();
    world.streams[0].put_writer(*frame.device_address(), BYTES, 9);
    frame.abandon(&world.streams[0]);
    assert!(world.pool.take().is_err());
    world.streams[0].run();
    let seen = detect(&world.publish(5), &world.streams[1]);
    world.streams[2].run();
    world.streams[1].run();
    assert_saw(&seen, 5);
}

#[test]
fn a_frame_whose_copy_back_nobody_waits_for_is_not_filled_before_it() {
    let world = World::new(1);
    let frame = world.take();
    world.streams[0].put_writer(*frame.device_address(), BYTES, 9);
    let frame = frame.publish_from(&world.streams[0]).ok().unwrap();
    world.is_interrupted.store(true, Ordering::SeqCst);
    assert_eq!(frame.bytes().unwrap_err(), Refused);
    assert_eq!(frame.bytes().unwrap_err(), Refused);
    assert_eq!(world.pool.copied(), [0, BYTES as u64, 0], "it is asked for once");
    drop(frame);
    world.streams[0].run();
    assert_eq!(world.pool.take().err(), Some(NoFrame::InUse), "the copy is on its way");
    world.streams[3].run();
    let seen = detect(&world.publish(5), &world.streams[1]);
    world.streams[2].run();
    world.streams[1].run();
    assert_saw(&seen, 5);
}

#[test]
fn a_lost_device_frees_no_frame_and_nobody_panics() {
    let world = World::new(2);
    let frame = world.publish(1);
    let pixels = frame.read_on(&world.streams[0]).unwrap();
    world.is_lost.store(true, Ordering::SeqCst);
    drop(pixels);
    assert!(frame.read_on(&world.streams[1]).is_err());
    // The pinned memory can be read nevertheless.
    assert_eq!(frame.bytes().unwrap()[..], [1; BYTES]);
    drop(frame);
    assert!(world.pool.take().is_err());
    world.is_lost.store(false, Ordering::SeqCst);
    assert_eq!(world.pool.take().err(), Some(NoFrame::Broken), "nobody knows what the device does with them");
    drop(world.pool);
}

#[test]
fn the_memory_outlives_the_pools_handles_and_the_device_s_use() {
    let world = World::new(3);
    let frame = world.publish(4);
    let seen = detect(&frame, &world.streams[0]);
    drop(frame);
    // Waits for the kernel, which the model runs then.
    drop(world.pool);
    assert_saw(&seen, 4);
    assert_eq!(world.alive.load(Ordering::SeqCst), 0);
}

/// A camera and two detectors, whose streams run at random moments. Each kernel sees the frame that it was given.
#[test]
fn no_kernel_sees_another_frame() {
    for seed in 0..300_u64 {
        let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut pick = |below: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % below
        };
        let world = World::new(2);
        let mut expected = Vec::new();
        let mut kept = VecDeque::new();
        for value in 0..40_u8 {
            if let Ok(mut frame) = world.pool.take() {
                let frame = if pick(3) == 0 {
                    let stream = &world.streams[pick(2) as usize];
                    stream.put_writer(*frame.device_address(), BYTES, value);
                    frame.publish_from(stream).ok().unwrap()
                } else {
                    frame.bytes_mut().fill(value);
                    frame.publish()
                };
                for stream in &world.streams[..2] {
                    if pick(3) > 0 {
                        expected.push((detect(&frame, stream), value));
                    }
                }
                if pick(4) == 0 {
                    assert_eq!(frame.bytes().unwrap()[..], [value; BYTES], "seed {seed}");
                }
                kept.push_back(frame);
            }
            for _ in 0..pick(6) {
                world.streams[pick(4) as usize].step();
            }
            if pick(2) == 0 {
                kept.pop_front();
            }
        }
        drop(kept);
        while world.streams.iter().any(Stream::step) {}
        for (seen, value) in expected {
            assert_eq!(*seen.lock().unwrap(), Some(vec![value; BYTES]), "seed {seed}");
        }
        assert!(world.pool.take().is_ok());
    }
}
