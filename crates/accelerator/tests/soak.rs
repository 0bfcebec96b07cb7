//! A million requests, good and bad ones, in constant memory.

use std::sync::Arc;
use std::time::Duration;

use rospin_accelerator::model::{ModelOptions, ModelWork, VirtualDevice};
use rospin_accelerator::{Accelerator, AcceleratorOptions, Backend, ClientOptions, Priority, Request, Segment};

const REQUESTS: usize = 1_000_000;

/// Returns the process's memory in RAM, in pages.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_million_requests_need_the_memory_of_a_few() {
    let device = Arc::new(VirtualDevice::new(ModelOptions::new()));
    let gpu = Accelerator::new(Arc::clone(&device), AcceleratorOptions::new());
    let create = |n: u32| {
        let options = ClientOptions::new("client").priority(Priority(n)).depth(4);
        let us = Duration::from_micros;
        gpu.create_client(if n == 3 { options.budget(us(50), us(1000)) } else { options }).unwrap()
    };
    let clients: Vec<_> = (0..4).map(create).collect();
    let mut kept = Vec::new();
    let mut early = 0;
    for number in 0..REQUESTS {
        let us = |n: usize| Duration::from_micros(n as u64);
        let segment = |n: usize| {
            let work = ModelWork::kernel(us(n)).then(move || ());
            // Every 7th segment lies, every 11th fails.
            let work = if number % 11 == 0 { work.failing("as asked") } else { work };
            Segment::new(work).bound(if number % 7 == 0 { us(n / 2) } else { us(n) })
        };
        let request = Request::new([segment(10), segment(20)]);
        if let Ok(completion) = clients[number % clients.len()].request(request) {
            // Some futures are dropped at once, some after a while, and some results are never read.
            if number % 5 != 0 {
                kept.push(completion);
            }
        }
        if kept.len() > 12 {
            kept.drain(..8);
        }
        let until = device.now() + us(25);
        device.run_until(until);
        if number == REQUESTS / 10 {
            early = resident();
        }
        assert!(gpu.requests_in_memory() <= 16, "four clients of depth 4");
    }
    kept.clear();
    device.run();
    let counts = gpu.statistics();
    let late = resident();
    assert_eq!(gpu.requests_in_memory(), 0);
    assert_eq!(counts.accepted + counts.refused, REQUESTS as u64);
    assert_eq!(counts.completed + counts.failed + counts.cancelled, counts.accepted);
    assert!(counts.completed > 100_000 && counts.cancelled > 10_000 && counts.failed > 10_000, "{counts:?}");
    assert!(late <= early + 64, "{early} pages after a tenth of the requests, {late} at the end");
}
