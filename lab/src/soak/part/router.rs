//! A Zenoh router, as `rmw_zenohd` is one: the sessions of its host connect to it, and it connects to other routers.

use super::{Failed, Part};

/// Runs a router until stdin ends.
#[cfg(feature = "zenoh")]
pub(super) fn run(part: &Part) -> Result<(), Failed> {
    use rospin_zenoh::{Session, SessionOptions};

    struct Nothing;

    impl super::Asked for Nothing {
        fn publish_once(&self) {}
        fn snapshot(&self) {}
        fn roll_call(&self) {}
    }

    let endpoints: Vec<&str> = part.order.connect.iter().map(String::as_str).collect();
    let options =
        SessionOptions::from_env()?.setting("mode", "\"router\"").connect(endpoints).listen(["tcp/0.0.0.0:7447"]);
    let _session = Session::open(options)?;
    part.teller.tell(&super::Fact::Ready);
    let nothing = std::sync::Arc::new(Nothing);
    super::obey(part, &std::sync::Arc::downgrade(&nothing));
    Ok(())
}

#[cfg(not(feature = "zenoh"))]
pub(super) fn run(_: &Part) -> Result<(), Failed> {
    Err(crate::middleware::Middleware::Zenoh.missing().into())
}
