//! A service that asks another one, after R2R's example: `service [--executor r2r|rospin] [--count N]`.

mod common;

use std::time::Duration;

use futures::StreamExt;
use r2r::QosProfile;
use r2r::std_srvs::srv::SetBool;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = common::Arguments::parse()?;
    let count = arguments.number("count", 4);
    common::run!(arguments, "service", |node, spawner, _urgent| {
        let qos = QosProfile::default;
        let mut service = node.create_service::<SetBool::Service>("/rospin_r2r/switch", qos())?;
        let mut delayed = node.create_service::<SetBool::Service>("/rospin_r2r/switch_later", qos())?;
        let client = node.create_client::<SetBool::Service>("/rospin_r2r/switch", qos())?;
        let inner = node.create_client::<SetBool::Service>("/rospin_r2r/switch_later", qos())?;
        let (is_there, is_inner_there) = (r2r::Node::is_available(&client)?, r2r::Node::is_available(&inner)?);
        let mut timer = node.create_wall_timer(Duration::from_millis(10))?;

        spawner.spawn(async move {
            is_inner_there.await.expect("the delayed service");
            while let Some(request) = service.next().await {
                let answer = inner.request(&request.message).expect("a request").await.expect("a response");
                request.respond(answer).expect("the response is sent");
            }
        });
        spawner.spawn(async move {
            while let Some(request) = delayed.next().await {
                // The answer takes a while.
                timer.tick().await.expect("a tick");
                let message = if request.message.data { "on" } else { "off" }.to_owned();
                request.respond(SetBool::Response { success: true, message }).expect("the response is sent");
            }
        });
        async move {
            is_there.await.expect("the service");
            for call in 0..count {
                let asked = SetBool::Request { data: call % 2 == 0 };
                let answer = client.request(&asked).expect("a request").await.expect("a response");
                common::say(format_args!("{call}: {} {}", answer.message, answer.success));
            }
        }
    });
    Ok(())
}
