//! A server and its clients: within one program, and in processes of their own.

mod crash;
mod hostile;
mod requests;
mod soak;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rospin_accelerator::model::{ModelOptions, ModelWork, RealTimeDevice, RealTimeOptions, VirtualDevice};
use rospin_accelerator::{Accelerator, AcceleratorOptions, Backend};
use rospin_engine::os::ThreadOptions;
use rospin_remote::{Access, Call, ConnectError, Kernels, RemoteClient, Server, ServerOptions};
use rospin_scenario::Deployment;

/// The clients of all tests.
const CLIENTS: &str = r#"
    [[client]]
    name = "brake"
    accelerator = "gpu"
    priority = 9
    longest_segment = "1 ms"

    [[client]]
    name = "map"
    accelerator = "gpu"
    priority = 1
    depth = 4
    budget = { capacity = "100 s", period = "100 s" }
    memory_mib = 1

    [[client]]
    name = "stranger"
    accelerator = "gpu"
    user = 4242

    [[client]]
    name = "camera"
    accelerator = "another"
"#;

/// A kernel that inverts bytes at the end of its time, one that says what is wrong, and one that panics. The first four
/// bytes of the arguments are the length in microseconds.
struct Inverting<B>(std::marker::PhantomData<fn() -> B>);

impl<B: Backend<Work = ModelWork>> Kernels for Inverting<B> {
    type Device = B;

    fn names(&self) -> Vec<String> {
        ["refusing", "invert", "panicking"].map(str::to_owned).to_vec()
    }

    fn work(&self, call: Call) -> Result<ModelWork, String> {
        assert!(call.kernel != 2, "on purpose");
        if call.kernel == 0 || call.input.len() != call.output.len() {
            return Err("input and output have the same length".to_owned());
        }
        let length = call.arguments.get(..4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes);
        let input = call.input;
        let output = call.output;
        Ok(ModelWork::kernel(Duration::from_micros(length.into())).then(move || {
            let inverted: Vec<u8> = input.to_vec().into_iter().map(|byte| !byte).collect();
            output.write(0, &inverted);
        }))
    }
}

/// A path for a socket that no other test has.
fn path() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("rospin-remote-{}-{number}.sock", std::process::id()))
}

/// A server on a device.
struct Setup<B: Backend> {
    device: Arc<B>,
    gpu: Accelerator<B>,
    path: PathBuf,
    server: Option<Server>,
}

impl<B: Backend<Work = ModelWork>> Setup<B> {
    fn new(device: B) -> Self {
        let device = Arc::new(device);
        let gpu = Accelerator::new(Arc::clone(&device), AcceleratorOptions::new());
        let path = path();
        let access = Access::new(&Deployment::parse(CLIENTS).unwrap(), "gpu").unwrap();
        let kernels = Inverting(std::marker::PhantomData);
        let server = Server::start(&path, gpu.clone(), kernels, access, ServerOptions::new()).unwrap();
        Self { device, gpu, path, server: Some(server) }
    }

    fn connect(&self, name: &str) -> Result<RemoteClient, ConnectError> {
        RemoteClient::connect(&self.path, name, 4096, ThreadOptions::new())
    }

    /// Waits until that many requests have been accepted.
    fn await_accepted(&self, count: u64) {
        self.wait(|| self.gpu.statistics().accepted >= count);
    }

    /// Waits until something has happened on another thread.
    fn wait(&self, until: impl Fn() -> bool) {
        while !until() {
            std::thread::yield_now();
        }
    }

    fn sessions(&self) -> usize {
        self.server.as_ref().map_or(0, Server::sessions)
    }
}

/// A server whose device runs in time that the test moves.
fn virtual_time() -> Setup<VirtualDevice> {
    Setup::new(VirtualDevice::new(ModelOptions::new()))
}

/// A server whose device runs by itself.
fn real_time() -> Setup<RealTimeDevice> {
    Setup::new(RealTimeDevice::start(RealTimeOptions::new(ModelOptions::new())).unwrap())
}
