//! The robot in one process, the parts of it that are named, or three processes: `robot`, `robot sensors`,
//! `robot launch`.

fn main() -> rospin::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == "launch") {
        return robot::launch::run(arguments);
    }
    let ros = rospin::init()?;
    let parts = ros.arguments().others().get(1..).unwrap_or_default();
    let _nodes = robot::start(&ros, parts)?;
    Ok(ros.spin()?)
}
