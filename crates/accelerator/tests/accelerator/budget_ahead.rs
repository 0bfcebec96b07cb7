//! Clients with budgets on a lane whose segments are picked ahead.

use super::*;

#[test]
fn a_request_of_a_client_with_a_budget_waits_for_two_foreign_segments_at_most() {
    let (device, gpu) = gpu(AcceleratorOptions::new().ahead(ms(1)));
    let map = client(&gpu, "map", 1);
    // A budget that is never used up.
    let brake = ClientOptions::new("brake").priority(Priority(9)).budget(ms(100), ms(100));
    let brake = gpu.create_client(brake).unwrap();
    let mut learn = brake.request(request(&[2, 2, 2, 2])).unwrap();
    device.run_until(at(20));
    assert_eq!(end(&mut learn), 8);
    let mut urgent = brake.request(request(&[2, 2, 2, 2])).unwrap();
    let _map: Vec<_> = (0..8).map(|_| map.request(request(&[4])).unwrap()).collect();
    device.run();
    let response = result(&mut urgent).unwrap().response();
    assert!(response <= ms(8 + 2 * 4), "{response:?}");
}
