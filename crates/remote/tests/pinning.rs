//! Memory of clients that a server pins for its device. A program of its own, because it installs a logger.

use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::executor::block_on;
use rospin_accelerator::model::{ModelOptions, ModelWork, RealTimeDevice, RealTimeOptions};
use rospin_accelerator::{Accelerator, AcceleratorOptions};
use rospin_engine::os::ThreadOptions;
use rospin_remote::{Access, Call, Kernels, Pin, RemoteClient, RemoteSegment, Server, ServerOptions, SharedMemory};
use rospin_scenario::Deployment;

const CLIENTS: &str = r#"
    [[client]]
    name = "brake"
    accelerator = "gpu"

    [[client]]
    name = "map"
    accelerator = "gpu"
"#;

/// Counts of a device that pins memory.
#[derive(Default)]
struct Pins {
    pinned: AtomicUsize,
    unpinned: AtomicUsize,
    /// The first bytes of memory at the time when it was unpinned.
    last: Mutex<Vec<u8>>,
}

/// Memory that is pinned. It is looked at when it is unpinned, so that it must be mapped then.
struct Pinned {
    start: NonNull<u8>,
    pins: Arc<Pins>,
}

// SAFETY: the memory is read by a raw copy only.
unsafe impl Send for Pinned {}
// SAFETY: as above.
unsafe impl Sync for Pinned {}

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: the memory is mapped until this is dropped.
        let first = unsafe { self.start.as_ptr().read_volatile() };
        self.pins.last.lock().unwrap().push(first);
        self.pins.unpinned.fetch_add(1, Ordering::SeqCst);
    }
}

/// The answer of a device that is asked to pin memory.
#[derive(Clone, Copy)]
enum Answer {
    Pinned,
    Refused,
    Panic,
}

struct Device {
    answer: Answer,
    pins: Arc<Pins>,
}

impl Kernels for Device {
    type Device = RealTimeDevice;

    fn names(&self) -> Vec<String> {
        vec!["copy".to_owned()]
    }

    fn work(&self, call: Call) -> Result<ModelWork, String> {
        assert_eq!(call.input.is_pinned(), matches!(self.answer, Answer::Pinned));
        assert_eq!(call.input.len(), call.output.len());
        let Call { input, output, .. } = call;
        Ok(ModelWork::kernel(Duration::from_micros(100)).then(move || {
            // As a device does: by the addresses.
            // SAFETY: both regions are mapped, have this length, and do not overlap in this test.
            unsafe { input.start().copy_to_nonoverlapping(output.start(), input.len()) };
        }))
    }

    fn pin(&self, memory: &SharedMemory) -> Result<Option<Pin>, String> {
        match self.answer {
            Answer::Refused => Err("it has no room".to_owned()),
            Answer::Panic => panic!("intended"),
            Answer::Pinned => {
                assert_eq!((memory.len(), memory.is_pinned()), (4096, false));
                self.pins.pinned.fetch_add(1, Ordering::SeqCst);
                Ok(Some(Box::new(Pinned { start: memory.start(), pins: Arc::clone(&self.pins) })))
            }
        }
    }
}

fn serve(answer: Answer) -> (Server, PathBuf, Arc<Pins>) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("rospin-pinning-{}-{number}.sock", std::process::id()));
    let pins = Arc::<Pins>::default();
    let device = RealTimeDevice::start(RealTimeOptions::new(ModelOptions::new())).unwrap();
    let gpu = Accelerator::new(Arc::new(device), AcceleratorOptions::new());
    let access = Access::new(&Deployment::parse(CLIENTS).unwrap(), "gpu").unwrap();
    let kernels = Device { answer, pins: Arc::clone(&pins) };
    let server = Server::start(&path, gpu, kernels, access, ServerOptions::new()).unwrap();
    (server, path, pins)
}

/// Connects a client, and has the device copy a byte within its memory.
fn copy(path: &std::path::Path, name: &str, value: u8) -> RemoteClient {
    let client = RemoteClient::connect(path, name, 4096, ThreadOptions::new()).unwrap();
    client.memory().write(0, &[value; 100]);
    let segment = RemoteSegment::new("copy").input(0, 100).output(1000, 100);
    block_on(client.request([segment]).unwrap()).unwrap();
    let mut copied = [0; 100];
    client.memory().read(1000, &mut copied);
    assert_eq!(copied, [value; 100]);
    client
}

#[test]
fn memory_is_pinned_once_and_unpinned_before_it_is_unmapped() {
    let (server, path, pins) = serve(Answer::Pinned);
    for value in 1..=3 {
        let both = [copy(&path, "brake", value), copy(&path, "map", value)];
        assert!(both.iter().all(|client| !client.memory().is_pinned()), "it is the server who pins");
        drop(both);
        while server.sessions() > 0 {
            std::thread::yield_now();
        }
    }
    drop(server);
    // A session may leave its memory after it has left its name.
    let mut last = pins.last.lock().unwrap().clone();
    last.sort_unstable();
    let counts = (pins.pinned.load(Ordering::SeqCst), pins.unpinned.load(Ordering::SeqCst));
    assert_eq!((counts, last), ((6, 6), vec![1, 1, 2, 2, 3, 3]));
}

/// Messages of the log that say that memory is not pinned.
static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Logger;

impl log::Log for Logger {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let message = record.args().to_string();
        if message.contains("is not pinned") {
            TOLD.lock().unwrap().push(message);
        }
    }

    fn flush(&self) {}
}

#[test]
fn memory_that_cannot_be_pinned_is_told_once_and_requests_go_on() {
    log::set_logger(&Logger).unwrap();
    log::set_max_level(log::LevelFilter::Warn);
    for (answer, reason) in [(Answer::Refused, "it has no room"), (Answer::Panic, "it panicked")] {
        let (server, path, pins) = serve(answer);
        for value in 1..=2 {
            drop((copy(&path, "brake", value), copy(&path, "map", value)));
            while server.sessions() > 0 {
                std::thread::yield_now();
            }
        }
        drop(server);
        assert_eq!(pins.pinned.load(Ordering::SeqCst), 0);
        let told = std::mem::take(&mut *TOLD.lock().unwrap());
        assert!(told.len() == 1 && told[0].contains("client `brake`") && told[0].ends_with(reason), "{told:?}");
    }
}
