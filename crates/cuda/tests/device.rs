//! The back end where there is a CUDA device; elsewhere, what its absence looks like.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cudarc::driver::{CudaFunction, CudaSlice, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::compile_ptx;
use futures::executor::block_on;
use rospin_accelerator::{Accelerator, AcceleratorOptions, ClientOptions, Priority, Request, Segment};
use rospin_cuda::{CudaDevice, CudaOptions, CudaWork, Graph, OpenError, Waiting};

/// Adds one to each number, so many times.
const SOURCE: &str = r#"
extern "C" __global__ void add(float *x, int n, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) for (int r = 0; r < rounds; r++) x[i] += 1.0f;
}
"#;
const NUMBERS: usize = 1024;

/// Returns a device of its own for a test; `None` if the machine has none.
#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
fn device(options: CudaOptions) -> Option<Arc<CudaDevice>> {
    match CudaDevice::open(options) {
        Ok(device) => Some(Arc::new(device)),
        Err(reason) => {
            eprintln!("SKIPPED: {reason}");
            None
        }
    }
}

fn adder(device: &CudaDevice) -> CudaFunction {
    device.context().load_module(compile_ptx(SOURCE).unwrap()).unwrap().load_function("add").unwrap()
}

/// Returns the work that adds to the numbers, which are taken from `from`, and calls `then` with them once it is on the
/// stream.
fn adding(
    add: &CudaFunction,
    rounds: i32,
    then: impl FnOnce(CudaSlice<f32>, &Arc<cudarc::driver::CudaStream>) + Send + 'static,
) -> CudaWork {
    let add = add.clone();
    CudaWork::new(move |stream| {
        let mut numbers = stream.clone_htod(&[1.0_f32; NUMBERS])?;
        let count = NUMBERS as i32;
        let mut launch = stream.launch_builder(&add);
        launch.arg(&mut numbers).arg(&count).arg(&rounds);
        // SAFETY: the arguments are those of the kernel, which stays within its array.
        unsafe { launch.launch(LaunchConfig::for_num_elems(NUMBERS as u32)) }?;
        then(numbers, stream);
        Ok(())
    })
}

#[test]
fn a_machine_without_cuda_or_without_that_device_says_so() {
    let error = CudaDevice::open(CudaOptions::new().ordinal(1000)).unwrap_err();
    match &error {
        OpenError::NoDriver => assert!(error.to_string().contains("libcuda.so.1")),
        OpenError::NoDevice { ordinal: 1000, .. } | OpenError::Refused { .. } => {}
        other => panic!("{other}"),
    }
}

#[test]
fn multiprocessors_for_an_urgent_lane_that_is_not_there_are_refused() {
    let error = CudaDevice::open(CudaOptions::new().urgent_multiprocessors(8)).unwrap_err();
    assert!(error.to_string().contains("add one by `urgent_lane`"), "{error}");
}

#[test]
fn lanes_with_multiprocessors_of_their_own_compute_side_by_side() {
    let options = CudaOptions::new().urgent_lane(Waiting::Sleep).urgent_multiprocessors(8).lanes(2);
    let Some(device) = device(options) else { return };
    // Otherwise cudarc would not order what several lanes do with the same memory.
    assert!(device.context().is_managing_stream_synchronization());
    let add = adder(&device);
    let gpu = Accelerator::new(device, AcceleratorOptions::new().urgent(Priority(5)));
    let mut running = Vec::new();
    for priority in [1, 9, 2] {
        let client = gpu.create_client(ClientOptions::new("camera").priority(Priority(priority))).unwrap();
        let (send, result) = channel();
        let work = adding(&add, 5, move |numbers, stream| send.send(stream.clone_dtoh(&numbers).unwrap()).unwrap());
        running.push((client.request(Request::new([Segment::new(work)])).unwrap(), result));
    }
    for (completion, result) in running {
        let outcome = block_on(completion).unwrap();
        assert_eq!(result.recv().unwrap(), vec![6.0; NUMBERS]);
        assert!(!outcome.busy.is_zero());
    }
}

#[test]
fn a_segment_computes_and_its_time_is_known() {
    let Some(device) = device(CudaOptions::new()) else { return };
    let add = adder(&device);
    let gpu = Accelerator::new(device, AcceleratorOptions::new());
    let client = gpu.create_client(ClientOptions::new("camera")).unwrap();
    let (send, result) = channel();
    let work = adding(&add, 5, move |numbers, stream| send.send(stream.clone_dtoh(&numbers).unwrap()).unwrap());
    let outcome = block_on(client.request(Request::new([Segment::new(work)])).unwrap()).unwrap();
    assert_eq!(result.recv().unwrap(), vec![6.0; NUMBERS]);
    assert!(!outcome.busy.is_zero() && outcome.busy <= outcome.response());
}

#[test]
fn an_urgent_request_waits_for_one_segment() {
    let Some(device) = device(CudaOptions::new()) else { return };
    let add = adder(&device);
    let gpu = Accelerator::new(device, AcceleratorOptions::new());
    let map = gpu.create_client(ClientOptions::new("map").priority(Priority(1))).unwrap();
    let brake = gpu.create_client(ClientOptions::new("brake").priority(Priority(9))).unwrap();
    let (send, order) = channel();
    // The first segment takes long enough for the other request to come.
    let work = |name: &'static str, rounds| {
        let send = send.clone();
        Segment::new(adding(&add, rounds, move |_, _| send.send(name).unwrap()))
    };
    let long = map.request((0..3).map(|_| work("map", 20_000_000)).collect()).unwrap();
    let urgent = brake.request(Request::new([work("brake", 1)])).unwrap();
    block_on(urgent).unwrap();
    block_on(long).unwrap();
    assert_eq!(order.try_iter().collect::<Vec<_>>(), ["map", "brake", "map", "map"]);
}

#[test]
fn an_urgent_lane_and_segments_picked_ahead_give_the_results_of_one_after_the_other() {
    for waiting in [Waiting::Sleep, Waiting::Spin] {
        let Some(device) = device(CudaOptions::new().urgent_lane(waiting).lanes(2).waiting(waiting)) else { return };
        let add = adder(&device);
        let options = AcceleratorOptions::new().urgent(Priority(9)).ahead(Duration::from_micros(200));
        let gpu = Accelerator::new(Arc::clone(&device), options);
        let numbers = device.context().new_stream().unwrap().alloc_zeros::<f32>(NUMBERS).unwrap();
        let numbers = Arc::new(Mutex::new(numbers));
        let clients: Vec<_> = [1, 1, 9]
            .map(|priority| gpu.create_client(ClientOptions::new("one").priority(Priority(priority))).unwrap())
            .into_iter()
            .collect();
        // Each segment adds a known number to the same memory as the one before it of the same client.
        let sums: Vec<_> = clients.iter().map(|_| Arc::clone(&numbers)).collect();
        for _ in 0..50 {
            let mut open = Vec::new();
            for (client, sum) in clients.iter().zip(&sums) {
                let segment = |_| {
                    let add = add.clone();
                    let sum = Arc::clone(sum);
                    Segment::new(CudaWork::new(move |stream| {
                        let count = NUMBERS as i32;
                        let rounds = 100_i32;
                        let mut sum = sum.lock().unwrap();
                        let mut launch = stream.launch_builder(&add);
                        launch.arg(&mut *sum).arg(&count).arg(&rounds);
                        // SAFETY: the arguments are those of the kernel, which stays within its array.
                        unsafe { launch.launch(LaunchConfig::for_num_elems(NUMBERS as u32)) }.map(drop)
                    }))
                };
                open.push(client.request((0..4).map(segment).collect()).unwrap());
            }
            for completion in open {
                block_on(completion).unwrap();
            }
        }
        let stream = device.context().new_stream().unwrap();
        let all = stream.clone_dtoh(&*numbers.lock().unwrap()).unwrap();
        assert_eq!(all, vec![(50 * 3 * 4 * 100) as f32; NUMBERS], "{waiting:?}");
    }
}

#[test]
fn a_graph_of_many_small_kernels_runs_as_often_as_it_is_asked_for() {
    let Some(device) = device(CudaOptions::new().lanes(2)) else { return };
    // SAFETY: the test uses its memory on one stream at a time. Events of the tracking could not be captured.
    unsafe { device.context().disable_event_tracking() };
    let add = adder(&device);
    let mut numbers = device.context().new_stream().unwrap().alloc_zeros::<f32>(NUMBERS).unwrap();
    device.context().synchronize().unwrap();
    let graph = Graph::capture(&device, |stream| {
        let count = NUMBERS as i32;
        for _ in 0..100 {
            let mut launch = stream.launch_builder(&add);
            launch.arg(&mut numbers).arg(&count).arg(&1_i32);
            // SAFETY: the arguments are those of the kernel, which stays within its array.
            unsafe { launch.launch(LaunchConfig::for_num_elems(NUMBERS as u32)) }?;
        }
        Ok(())
    })
    .unwrap();
    let gpu = Accelerator::new(Arc::clone(&device), AcceleratorOptions::new());
    let clients = [(); 2].map(|()| gpu.create_client(ClientOptions::new("one")).unwrap());
    // Each client has a lane of its own.
    let segments = || (0..10).map(|_| Segment::new(graph.work())).collect();
    let open = clients.each_ref().map(|client| client.request(segments()).unwrap());
    for completion in open {
        block_on(completion).unwrap();
    }
    let stream = device.context().new_stream().unwrap();
    assert_eq!(stream.clone_dtoh(&numbers).unwrap(), vec![2_000.0; NUMBERS]);
}
