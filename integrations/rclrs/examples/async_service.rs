//! A service and a client that awaits its response, after rclrs's async service example:
//! `async_service [--executor basic|rospin] [--count N]`.

mod common;

use rclrs::*;
use ros_env::std_srvs::srv::{SetBool, SetBool_Request, SetBool_Response};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = common::Arguments::parse()?;
    let mut executor = arguments.executor(&Context::default())?;
    let count = arguments.number("count", 3);

    let node = executor.create_node("switch")?;
    let _service = node.create_async_service::<SetBool, _>("switch", |request: SetBool_Request| async move {
        let message = if request.data { "on" } else { "off" }.to_owned();
        common::say(format_args!("request: {message}"));
        SetBool_Response { success: true, message }
    })?;

    let client = node.create_client::<SetBool>("switch")?;
    let done = executor.commands().run(async move {
        if let Err(error) = client.notify_on_service_ready().await {
            common::say(format_args!("no service: {error}"));
            return;
        }
        for number in 1..=count {
            let response: Result<Promise<SetBool_Response>, _> = client.call(SetBool_Request { data: number % 2 == 1 });
            match response {
                Ok(response) => match response.await {
                    Ok(response) => common::say(format_args!("response: {}, {}", response.message, response.success)),
                    Err(_) => common::say("no response"),
                },
                Err(error) => common::say(format_args!("no call: {error}")),
            }
        }
    });
    executor.spin(SpinOptions::new().until_promise_resolved(done)).first_error()?;
    Ok(())
}
