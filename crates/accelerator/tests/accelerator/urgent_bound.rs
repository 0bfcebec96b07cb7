//! The bounds of system files hold for the accelerator on the model device, whose segments of the urgent lane wait for
//! blocks.

use rospin_analysis::Analysis;
use rospin_core::EntityKind;
use rospin_scenario::{Accelerator as Plan, Await, Callback, ExecutionTime, Executor, Group, Scenario};

use super::*;

fn fixed(time: Duration) -> ExecutionTime {
    ExecutionTime::Fixed(time)
}

/// A brake, a detector and a map on a device whose other lane has blocks of 3 ms.
fn scenario() -> Scenario {
    let mut scenario = Scenario::default();
    scenario.duration = ms(1_000);
    let mut gpu = Plan::new("gpu");
    gpu.urgent = Some(9);
    gpu.block = ms(3);
    scenario.accelerators.push(gpu);
    for (name, priority, segment) in [("brake", 10, 1), ("detector", 9, 4), ("map", 1, 30)] {
        scenario.executors.push(Executor::new(name));
        scenario.groups.push(Group::new(name, name));
        let mut callback = Callback::new(name, EntityKind::Timer, name);
        callback.period = Some(ms(100));
        callback.priority = Some(priority);
        callback.execution = fixed(Duration::from_nanos(1));
        callback.awaits.push(Await::request("gpu", vec![fixed(ms(segment))], fixed(Duration::from_nanos(1))));
        scenario.callbacks.push(callback);
    }
    scenario
}

#[test]
fn an_urgent_request_keeps_the_bound_of_its_system_file() {
    let report = Analysis::new(&scenario()).run().unwrap();
    let device = Arc::new(VirtualDevice::new(ModelOptions::new().lanes(2)));
    let gpu = Accelerator::new(Arc::clone(&device), AcceleratorOptions::new().urgent(Priority(9)));
    let (map, detector, brake) = (client(&gpu, "map", 1), client(&gpu, "detector", 9), client(&gpu, "brake", 10));
    let one = |length: u64| -> Request<ModelWork> {
        [Segment::new(ModelWork::kernel(ms(length)).blocks(ms(3)))].into_iter().collect()
    };
    let _map = map.request(one(30)).unwrap();
    let mut detect = detector.request(one(4)).unwrap();
    let mut braking = brake.request(one(1)).unwrap();
    device.run();
    let bound = |name: &str| report.accelerators[0].uses[if name == "brake" { 0 } else { 1 }].bound.unwrap();
    let responses = [result(&mut braking).unwrap().response(), result(&mut detect).unwrap().response()];
    let bounds = [bound("brake"), bound("detector")];
    assert!(responses[0] <= bounds[0] && responses[1] <= bounds[1], "{responses:?} exceed {bounds:?}");
}

#[test]
fn a_less_urgent_request_of_the_urgent_lane_keeps_the_bound_of_its_system_file() {
    let mut plan = scenario();
    // The brake has twelve short segments, the detector a short one.
    plan.callbacks[0].awaits = vec![Await::request("gpu", vec![fixed(ms(1)); 12], fixed(Duration::from_nanos(1)))];
    plan.callbacks[1].awaits = vec![Await::request("gpu", vec![fixed(ms(1))], fixed(Duration::from_nanos(1)))];
    let report = Analysis::new(&plan).run().unwrap();
    let device = Arc::new(VirtualDevice::new(ModelOptions::new().lanes(2)));
    let gpu = Accelerator::new(Arc::clone(&device), AcceleratorOptions::new().urgent(Priority(9)));
    let (map, detector, brake) = (client(&gpu, "map", 1), client(&gpu, "detector", 9), client(&gpu, "brake", 10));
    let of = |lengths: &[u64]| -> Request<ModelWork> {
        lengths.iter().map(|length| Segment::new(ModelWork::kernel(ms(*length)).blocks(ms(3)))).collect()
    };
    let _map = map.request(of(&[60])).unwrap();
    let _braking = brake.request(of(&[1; 12])).unwrap();
    let mut detect = detector.request(of(&[1])).unwrap();
    device.run();
    let (response, bound) = (result(&mut detect).unwrap().response(), report.accelerators[0].uses[1].bound.unwrap());
    assert!(response <= bound, "{response:?} exceeds {bound:?}");
}
