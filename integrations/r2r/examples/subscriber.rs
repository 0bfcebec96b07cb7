//! Every other message of one topic goes to another one, after R2R's example:
//! `subscriber [--executor r2r|rospin] [--count N]`.

mod common;

use futures::StreamExt;
use r2r::QosProfile;
use r2r::std_msgs::msg::String as Text;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = common::Arguments::parse()?;
    let count = arguments.number("count", 6);
    common::run!(arguments, "subscriber", |node, spawner, _urgent| {
        let mut texts = node.subscribe::<Text>("/rospin_r2r/texts", QosProfile::default())?;
        let mut others = node.subscribe::<Text>("/rospin_r2r/every_other", QosProfile::default())?;
        let source = node.create_publisher::<Text>("/rospin_r2r/texts", QosProfile::default())?;
        let publisher = node.create_publisher::<Text>("/rospin_r2r/every_other", QosProfile::default())?;
        let mut timer = node.create_wall_timer(std::time::Duration::from_millis(20))?;
        let (there, both) =
            (source.wait_for_inter_process_subscribers()?, publisher.wait_for_inter_process_subscribers()?);

        spawner.spawn(async move {
            let mut number = 0;
            while let Some(text) = texts.next().await {
                if number % 2 == 0 {
                    let data = format!("({number}): {}", text.data);
                    publisher.publish(&Text { data }).expect("a message");
                }
                number += 1;
            }
        });
        spawner.spawn(async move {
            // Nothing is published before everybody knows everybody.
            let (_, _) = futures::join!(there, both);
            for number in 0..count {
                timer.tick().await.expect("a tick");
                source.publish(&Text { data: format!("text {number}") }).expect("a message");
            }
        });
        async move {
            for _ in 0..count.div_ceil(2) {
                let Some(text) = others.next().await else { return };
                common::say(format_args!("heard {}", text.data));
            }
        }
    });
    Ok(())
}
