//! The parameters of one node, over the network.

use std::time::Duration;

use rospin::message::interfaces::rcl_interfaces as wire;
use rospin::parameters::{ParameterKind, ParameterSetting, ParameterValue};
use rospin::{Client, ServiceInterface};
use rospin_report::Failure;

use crate::ros::Session;

/// A node whose parameters are asked for.
pub(super) struct Remote<'a> {
    pub(super) session: &'a Session,
    /// Fully qualified name.
    pub(super) node: String,
    /// Longest time that an answer may take.
    pub(super) limit: Duration,
}

impl Remote<'_> {
    /// Calls one of the node's parameter services.
    fn call<S: ServiceInterface>(&self, service: &str, request: S::Request) -> Result<S::Response, Failure> {
        let name = format!("{}/{service}", self.node);
        let client: Client<S> = self.session.node().create_client(&*name).map_err(Failure::run)?;
        if let Some(response) = self.session.call(&client, request, self.limit)? {
            return Ok(response);
        }
        let seconds = self.limit.as_secs_f64();
        let what =
            if client.service_is_ready() { "did not answer" } else { "has no parameters to ask for: nobody offers" };
        Err(Failure::Run(format!("node {} {what} {name} within {seconds} s", self.node).into()))
    }

    /// Returns the names of the parameters below these prefixes, or of all.
    pub(super) fn list(&self, prefixes: &[&str]) -> Result<Vec<String>, Failure> {
        let prefixes = prefixes.iter().map(|prefix| (*prefix).to_owned()).collect();
        let request = wire::ListParametersRequest { prefixes, depth: 0 };
        Ok(self.call::<wire::ListParameters>("list_parameters", request)?.result.names)
    }

    /// Returns the values of these parameters, as far as the node gives them.
    pub(super) fn values(&self, names: &[String]) -> Result<Vec<ParameterValue>, Failure> {
        let request = wire::GetParametersRequest { names: names.to_vec() };
        let values = self.call::<wire::GetParameters>("get_parameters", request)?.values;
        let mut converted = Vec::with_capacity(values.len());
        for value in values {
            converted.push(ParameterValue::try_from(value).map_err(Failure::run)?);
        }
        Ok(converted)
    }

    /// Returns the value of a parameter, which the node must have.
    pub(super) fn value(&self, name: &str) -> Result<ParameterValue, Failure> {
        // Nodes of rclcpp answer with nothing if a parameter is not declared, those of rclpy with no value.
        match self.values(&[name.to_owned()])?.pop() {
            Some(value) if value != ParameterValue::NotSet => Ok(value),
            value => {
                let known = self.list(&[])?;
                match value {
                    Some(value) if known.iter().any(|known| known == name) => Ok(value),
                    _ => Err(self.missing(name, &known)),
                }
            }
        }
    }

    /// Returns the type of a parameter; `None` if it has none, or is not declared.
    pub(super) fn kind(&self, name: &str) -> Result<Option<ParameterKind>, Failure> {
        Ok(self.values(&[name.to_owned()])?.pop().and_then(|value| value.kind()))
    }

    /// Returns the descriptions of these parameters.
    pub(super) fn describe(&self, names: &[String]) -> Result<Vec<wire::ParameterDescriptor>, Failure> {
        let request = wire::DescribeParametersRequest { names: names.to_vec() };
        Ok(self.call::<wire::DescribeParameters>("describe_parameters", request)?.descriptors)
    }

    /// Sets a parameter. Returns the node's reason if it refuses.
    pub(super) fn set(&self, name: &str, value: ParameterValue) -> Result<Result<(), String>, Failure> {
        let parameters = vec![ParameterSetting::new(name, value).into()];
        let request = wire::SetParametersRequest { parameters };
        let results = self.call::<wire::SetParameters>("set_parameters", request)?.results;
        match results.into_iter().next() {
            Some(result) if result.successful => Ok(Ok(())),
            Some(result) => Ok(Err(result.reason)),
            None => Err(Failure::Run(format!("node {} did not say if it set {name}", self.node).into())),
        }
    }

    /// Returns the failure of a parameter that the node does not have.
    pub(super) fn missing(&self, name: &str, known: &[String]) -> Failure {
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let nearest = match rospin_scenario::nearest(name, &known) {
            Some(nearest) => format!("; nearest: {nearest}"),
            None => String::new(),
        };
        Failure::Run(format!("node {} has no parameter {name}{nearest}", self.node).into())
    }
}
