//! Any request to a node's parameter services is answered, and the parameters keep their types and ranges.
//!
//! Each request is a byte that selects the service, a byte with its length, and its content.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rospin_engine::{Context, ContextOptions, Executor, ExecutorOptions, SpinOptions};
use rospin_fuzz::decode;
use rospin_node::interfaces::rcl_interfaces as wire;
use rospin_node::{Node, ParameterOptions, ParameterValue, Ros, ServiceInterface};

/// Has the server answer the request, if the bytes are a valid one.
fn ask<S: ServiceInterface>(executor: &Executor, node: &Node, service: &str, bytes: &[u8]) -> Option<S::Response> {
    let request = decode::<S::Request>(bytes)?;
    let client = node.create_client::<S>(service).unwrap();
    Some(executor.spin_until(client.call(request), SpinOptions::new()).unwrap().expect("an answer"))
}

fn ask_any(executor: &Executor, node: &Node, which: u8, bytes: &[u8]) {
    match which % 6 {
        0 => _ = ask::<wire::GetParameters>(executor, node, "~/get_parameters", bytes),
        1 => _ = ask::<wire::GetParameterTypes>(executor, node, "~/get_parameter_types", bytes),
        2 => _ = ask::<wire::DescribeParameters>(executor, node, "~/describe_parameters", bytes),
        3 => _ = ask::<wire::ListParameters>(executor, node, "~/list_parameters", bytes),
        4 => _ = ask::<wire::SetParametersAtomically>(executor, node, "~/set_parameters_atomically", bytes),
        _ => {
            let asked = decode::<wire::SetParametersRequest>(bytes).map(|request| request.parameters.len());
            let answered = ask::<wire::SetParameters>(executor, node, "~/set_parameters", bytes);
            assert_eq!(answered.map(|answer| answer.results.len()), asked);
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let context = Context::new(ContextOptions::new());
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let node = Ros::in_process(&context).create_node("arm").unwrap();
    let steps = node.declare_parameter("i", ParameterOptions::from(19).range(-100..=99).step(7)).unwrap();
    let share = node.declare_parameter("d", ParameterOptions::from(0.5).range(0.0..=1.0)).unwrap();
    let fixed = node.declare_parameter("f", ParameterOptions::from("fixed").read_only()).unwrap();
    let any = node.declare_parameter("a.any", ParameterOptions::from(ParameterValue::NotSet)).unwrap();
    let _server = node.serve_parameters(&executor.handle()).unwrap();
    let mut rest = bytes;
    while let [which, length, further @ ..] = rest {
        let (request, further) = further.split_at(usize::from(*length).min(further.len()));
        ask_any(&executor, &node, *which, request);
        rest = further;
    }
    let steps = steps.get();
    let share = share.get();
    assert!((-100..=99).contains(&steps) && ((steps + 100) % 7 == 0 || steps == 99), "{steps}");
    assert!((0.0..=1.0).contains(&share), "{share}");
    assert_eq!(fixed.get(), "fixed");
    let _ = any.get();
});
