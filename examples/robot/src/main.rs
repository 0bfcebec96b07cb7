//! The robot in one process, or the parts of it that are named: `robot`, `robot sensors`.

fn main() -> rospin::Result<()> {
    let ros = rospin::init()?;
    let parts = ros.arguments().others().get(1..).unwrap_or_default();
    let _nodes = robot::start(&ros, parts)?;
    Ok(ros.spin()?)
}
