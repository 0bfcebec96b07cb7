//! A managed node, as `ros2 run lifecycle lifecycle_talker` is:
//! `cargo run -p rospin --features dds --example lifecycle_talker`.
//!
//! It talks after `ros2 lifecycle set /lc_talker configure` and `ros2 lifecycle set /lc_talker activate`.

use rospin::lifecycle::LifecyclePublisher;
use rospin::lifecycle::{Fault, State};
use rospin::msgs::std_msgs::msg::String as Text;
use rospin::prelude::*;

#[derive(Default)]
struct Talker {
    chatter: Option<(Timer, LifecyclePublisher<Text>)>,
}

impl Lifecycle for Talker {
    fn on_configure(&mut self, node: &LifecycleHandle<Self>, _previous: State) -> Result<(), Fault> {
        let chatter = node.create_publisher::<Text>("lifecycle_chatter")?;
        let publisher = chatter.clone();
        let mut count = 0;
        let timer = node.group().create_timer(Duration::from_secs(1), move |_: Tick| {
            count += 1;
            // The publisher drops the message while the node is not active.
            let _ = publisher.publish(Text { data: format!("Lifecycle HelloWorld #{count}") });
        })?;
        self.chatter = Some((timer, chatter));
        Ok(())
    }

    fn on_cleanup(&mut self, _node: &LifecycleHandle<Self>, _previous: State) -> Result<(), Fault> {
        self.chatter = None;
        Ok(())
    }
}

fn main() -> rospin::Result<()> {
    let ros = rospin::init()?;
    let _node = ros.create_lifecycle_node("lc_talker", Talker::default())?;
    Ok(ros.spin()?)
}
