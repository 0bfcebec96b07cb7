//! A service and a client that awaits its response, after rclrs's async service example:
//! `async_service [--executor basic|rospin] [--count N]`.

mod common;

use rclrs::*;
use ros_env::example_interfaces::srv::{AddTwoInts, AddTwoInts_Request, AddTwoInts_Response};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = common::Arguments::parse()?;
    let mut executor = arguments.executor(&Context::default())?;
    let count = i64::try_from(arguments.number("count", 3))?;

    let node = executor.create_node("adder")?;
    let _service =
        node.create_async_service::<AddTwoInts, _>("add_two_ints", |request: AddTwoInts_Request| async move {
            common::say(format_args!("request: {} + {}", request.a, request.b));
            AddTwoInts_Response { sum: request.a + request.b }
        })?;

    let client = node.create_client::<AddTwoInts>("add_two_ints")?;
    let done = executor.commands().run(async move {
        if let Err(error) = client.notify_on_service_ready().await {
            common::say(format_args!("no service: {error}"));
            return;
        }
        for number in 1..=count {
            let response: Result<Promise<AddTwoInts_Response>, _> =
                client.call(AddTwoInts_Request { a: number, b: 10 });
            match response {
                Ok(response) => match response.await {
                    Ok(response) => common::say(format_args!("response: {}", response.sum)),
                    Err(_) => common::say("no response"),
                },
                Err(error) => common::say(format_args!("no call: {error}")),
            }
        }
    });
    executor.spin(SpinOptions::new().until_promise_resolved(done)).first_error()?;
    Ok(())
}
