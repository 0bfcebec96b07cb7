//! `rospin service call`.

use std::io::Write;
use std::time::Duration;

use clap::Args;
use rospin::dynamic::{DynamicMessage, ServiceType, YamlFormat};
use rospin::time::ClockKind;
use rospin_report::{Failure, number};

use crate::ros::{Session, find_service, python, rate, type_and_fields, types};

/// Options of `rospin service call`.
#[derive(Args, Debug)]
pub(super) struct Options {
    /// Service, such as /add_two_ints
    service: String,

    /// Type, such as std_srvs/srv/SetBool; may be left out
    service_type: Option<String>,

    /// Fields of the request in YAML, such as '{a: 1, b: 2}'; others have their defaults
    values: Option<String>,

    /// Reads the fields from standard input
    #[arg(long, conflicts_with = "values")]
    stdin: bool,

    /// Calls so often a second, until it is interrupted
    #[arg(long, short, value_name = "HZ", value_parser = rate)]
    rate: Option<f64>,

    /// Waits for the service if it is not there, in place of ending with an error
    #[arg(long)]
    wait: bool,

    /// Waits for each response for at most so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = |text: &str| number::parse_seconds(text, 0.001, 1e9))]
    timeout: Option<Duration>,

    /// Prints only the response, as YAML
    #[arg(long)]
    yaml: bool,
}

/// Calls a service.
pub(super) fn run(session: &Session, options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let (type_name, values) =
        type_and_fields(options.service_type.as_deref(), options.values.as_deref(), options.stdin)?;
    // A type or values that are wrong are told before anything is waited for.
    let given = match &type_name {
        Some(name) => Some(types::service(name)?),
        None => None,
    };
    if let Some(given) = &given {
        DynamicMessage::from_yaml(given.request(), &values).map_err(Failure::input)?;
    }
    let service = find(session, options, out)?;
    let service_type = match given {
        Some(given) => checked(session, &service, given)?,
        None => types::of_service(session, &service)?,
    };
    let request = DynamicMessage::from_yaml(service_type.request(), &values).map_err(Failure::input)?;
    let client = session.node().create_dynamic_client(&*service, &service_type).map_err(Failure::run)?;
    let executor = session.ros().executor().handle();
    let calling = async {
        limited(session, options.timeout, &service, client.wait_for_service()).await?;
        let period = Duration::from_secs_f64(1.0 / options.rate.unwrap_or(1.0));
        let mut rate = executor.create_rate(ClockKind::Steady, period).map_err(Failure::input)?;
        loop {
            if !options.yaml {
                writeln!(out, "requester: making request: {}\n", python::repr(&request))?;
                out.flush()?;
            }
            let response = limited(session, options.timeout, &service, client.call(&request)).await?;
            let response = response.map_err(Failure::run)?;
            if options.yaml {
                writeln!(out, "{}", YamlFormat::new().truncate_length(None).text(&response))?;
            } else {
                writeln!(out, "response:\n{}\n", python::repr(&response))?;
            }
            out.flush()?;
            if options.rate.is_none() {
                return Ok(());
            }
            rate.tick().await.map_err(Failure::run)?;
        }
    };
    // Calls at a rate have no end of their own, so the command is ended so.
    if options.rate.is_none() { session.finish(calling)? } else { session.wait(calling)?.unwrap_or(Ok(())) }
}

/// Waits for the service for at most that time.
async fn limited<F: Future>(
    session: &Session,
    limit: Option<Duration>,
    service: &str,
    waiting: F,
) -> Result<F::Output, Failure> {
    let Some(limit) = limit else { return Ok(waiting.await) };
    let limited = session.ros().executor().handle().timeout(ClockKind::Steady, limit, waiting);
    limited.await.map_err(|_| {
        let seconds = limit.as_secs_f64();
        Failure::Run(format!("service {service} did not answer within {seconds} s").into())
    })
}

/// Returns the full name of the service once it has a server.
fn find(session: &Session, options: &Options, out: &mut dyn Write) -> Result<String, Failure> {
    match find_service(session, &options.service) {
        Err(Failure::Run(_)) if options.wait => {}
        found => return found,
    }
    writeln!(out, "waiting for service to become available...")?;
    out.flush()?;
    let node = session.node();
    let service = node.resolve_service(&options.service).map_err(Failure::input)?.to_string();
    session.finish(async {
        loop {
            let change = node.wait_for_graph_change();
            if node.count_servers(&service).is_ok_and(|count| count > 0) {
                return;
            }
            change.await;
        }
    })?;
    Ok(service)
}

/// Returns the given type as the servers of the service announce it.
fn checked(session: &Session, service: &str, given: ServiceType) -> Result<ServiceType, Failure> {
    let servers = session.node().servers_info_by_service(service).map_err(Failure::input)?;
    let name = given.name();
    if let Some(other) = servers.iter().find(|server| server.type_name != name) {
        let sentence = format!("service {service} is of type {}, not {name}", other.type_name);
        return Err(Failure::Run(sentence.into()));
    }
    match servers.iter().find_map(|server| server.type_hash.as_deref()) {
        None => Ok(given.without_hash()),
        Some(hash) if given.has_hash(hash) => Ok(given.with_hash()),
        // The server has another version of the type, and knows it best.
        Some(_) => types::of_service(session, service),
    }
}
