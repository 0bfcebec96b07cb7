//! What the tests share: messages, a domain that nobody else is in, and patience that ends.

#![allow(dead_code, reason = "no test uses all of it")]

pub(crate) mod network;
pub(crate) mod peer;
mod python;
pub(crate) mod ticks;

use std::net::{IpAddr, Ipv4Addr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rospin_engine::{Context, ContextOptions, Executor, ExecutorOptions, Incident, IncidentKind, SpinOptions};
use rospin_ros2_client::{Domain, DomainOptions};
#[allow(unused_imports, reason = "no test uses all of it")]
pub(crate) use rospin_testkit::conformance::messages::{
    AddTwoInts, Fibonacci, Order, Sequence, Sum as AddResponse, Summands as AddRequest, Text,
};

/// Discovery on a loaded machine may take seconds; nothing here takes that long unless it is stuck.
pub(crate) const PATIENCE: Duration = Duration::from_secs(40);

pub(crate) fn text(data: impl Into<String>) -> Text {
    Text { data: data.into() }
}

/// A domain id that nobody else on this machine uses at the moment, for as long as the process lives.
pub(crate) fn domain_id() -> u16 {
    let OwnDomain { id, reservation } = OwnDomain::new();
    std::mem::forget(reservation);
    id
}

/// A domain id that is kept from the other tests of this machine while this lives.
pub(crate) struct OwnDomain {
    pub(crate) id: u16,
    reservation: TcpListener,
}

impl OwnDomain {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU16 = AtomicU16::new(0);
        let process = u16::try_from(std::process::id() % 200).expect("a small number");
        let mut candidates = (0..200).map(|_| 20 + (process + NEXT.fetch_add(1, Ordering::Relaxed)) % 200);
        let reserve = |id: u16| {
            // Whoever is in a domain listens on its port for multicasts; whoever will be, of these tests, holds a port for it.
            let nobody_is_in = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 7400 + 250 * id)).is_ok();
            let reservation = TcpListener::bind((Ipv4Addr::LOCALHOST, 21_000 + id)).ok();
            reservation.filter(|_| nobody_is_in).map(|reservation| Self { id, reservation })
        };
        candidates.find_map(reserve).expect("a domain that nobody is in")
    }
}

pub(crate) fn options(domain_id: u16) -> DomainOptions {
    DomainOptions::new().domain_id(domain_id).only_networks([IpAddr::V4(Ipv4Addr::LOCALHOST)])
}

/// A context that keeps its incidents.
pub(crate) fn context() -> (Context, Arc<Mutex<Vec<Incident>>>) {
    let incidents = Arc::<Mutex<Vec<Incident>>>::default();
    let kept = Arc::clone(&incidents);
    let report = move |incident: &Incident| {
        kept.lock().unwrap_or_else(PoisonError::into_inner).push(incident.clone());
    };
    (Context::new(ContextOptions::new().on_incident(report)), incidents)
}

/// How many items could not be taken.
pub(crate) fn take_failures(incidents: &Mutex<Vec<Incident>>) -> usize {
    let incidents = incidents.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(incidents.iter().all(|incident| matches!(incident.kind, IncidentKind::TakeFailed(_))), "{incidents:?}");
    incidents.len()
}

pub(crate) fn executor(context: &Context, name: &str) -> Executor {
    context.create_executor(ExecutorOptions::new(name))
}

pub(crate) fn join(executor: &Executor, domain_id: u16) -> Domain {
    Domain::join(&executor.handle(), options(domain_id)).expect("a participant")
}

/// Spins until the future resolves.
pub(crate) fn wait<F: Future>(executor: &Executor, what: &str, future: F) -> F::Output {
    match executor.spin_until(future, SpinOptions::new().timeout(PATIENCE)) {
        Ok(output) => output,
        Err(error) => panic!("waiting until {what}: {error}"),
    }
}

/// Spins until a callback halted the executor.
pub(crate) fn spin(executor: &Executor, what: &str) {
    if let Err(error) = executor.spin(SpinOptions::new().timeout(PATIENCE)) {
        panic!("waiting until {what}: {error}");
    }
}
