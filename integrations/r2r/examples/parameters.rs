//! Parameters that are set from outside, after R2R's example: `parameters [--executor r2r|rospin]`.
//!
//! Without a `--ros-args -p`, the node sets and gets its parameter by its own services.

mod common;

use std::sync::Arc;

use futures::StreamExt;
use r2r::QosProfile;
use r2r::rcl_interfaces::msg::{Parameter, ParameterType, ParameterValue};
use r2r::rcl_interfaces::srv::{GetParameters, SetParameters};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = common::Arguments::parse()?;
    common::run!(arguments, "parameters", |node, spawner, _urgent| {
        let rate: Option<i64> = node.get_parameter("rate")?;
        common::say(format_args!("rate at the beginning: {rate:?}"));
        let (handler, mut events) = node.make_parameter_handler()?;
        spawner.spawn(handler);
        let name = node.fully_qualified_name()?;
        let qos = QosProfile::default;
        let set = node.create_client::<SetParameters::Service>(&format!("{name}/set_parameters"), qos())?;
        let get = node.create_client::<GetParameters::Service>(&format!("{name}/get_parameters"), qos())?;
        let (is_set_there, is_get_there) = (r2r::Node::is_available(&set)?, r2r::Node::is_available(&get)?);
        let params = Arc::clone(&node.params);

        async move {
            is_set_there.await.expect("the service that sets");
            let value = ParameterValue {
                type_: ParameterType::PARAMETER_INTEGER as u8,
                integer_value: 50,
                ..Default::default()
            };
            let parameters = vec![Parameter { name: "rate".to_owned(), value }];
            let answer = set.request(&SetParameters::Request { parameters }).expect("a request").await;
            let is_successful = answer.expect("a response").results.iter().all(|result| result.successful);
            common::say(format_args!("set: {is_successful}"));
            let (changed, value) = events.next().await.expect("an event");
            common::say(format_args!("changed: {changed} is {value:?}"));
            is_get_there.await.expect("the service that gets");
            let answer =
                get.request(&GetParameters::Request { names: vec!["rate".to_owned()] }).expect("a request").await;
            let values = answer.expect("a response").values;
            common::say(format_args!("got: {}", values[0].integer_value));
            common::say(format_args!("the node has {} parameter", params.lock().expect("a lock").len()));
        }
    });
    Ok(())
}
