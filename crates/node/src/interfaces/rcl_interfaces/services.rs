//! The services of the package.

use serde::{Deserialize, Serialize};

use super::{ListParametersResult, Parameter, ParameterDescriptor, ParameterValue, SetParametersResult};
use crate::message::Service;

/// Asks for values: the service `~/get_parameters`.
#[derive(Clone, Copy, Debug)]
pub enum GetParameters {}

impl Service for GetParameters {
    type Request = GetParametersRequest;
    type Response = GetParametersResponse;
    const TYPE: &str = "rcl_interfaces/srv/GetParameters";
    const TYPE_HASH: Option<&'static str> =
        Some("RIHS01_bf9803d5c74cf989a5de3e0c2e99444599a627c7ff75f97b8c05b01003675cbc");
}

/// What [`GetParameters`] asks.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct GetParametersRequest {
    /// The parameters.
    pub names: Vec<String>,
}

/// What [`GetParameters`] answers.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct GetParametersResponse {
    /// Their values in that order; what is not declared or has no value is not set.
    pub values: Vec<ParameterValue>,
}

/// Asks for types: the service `~/get_parameter_types`.
#[derive(Clone, Copy, Debug)]
pub enum GetParameterTypes {}

impl Service for GetParameterTypes {
    type Request = GetParameterTypesRequest;
    type Response = GetParameterTypesResponse;
    const TYPE: &str = "rcl_interfaces/srv/GetParameterTypes";
    const TYPE_HASH: Option<&'static str> =
        Some("RIHS01_da199c878688b3e530bdfe3ca8f74cb9fa0c303101e980a9e8f260e25e1c80ca");
}

/// What [`GetParameterTypes`] asks.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct GetParameterTypesRequest {
    /// The parameters.
    pub names: Vec<String>,
}

/// What [`GetParameterTypes`] answers.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct GetParameterTypesResponse {
    /// Their types in that order, see [`parameter_type`](super::parameter_type).
    pub types: Vec<u8>,
}

/// Sets parameters one by one: the service `~/set_parameters`.
#[derive(Clone, Copy, Debug)]
pub enum SetParameters {}

impl Service for SetParameters {
    type Request = SetParametersRequest;
    type Response = SetParametersResponse;
    const TYPE: &str = "rcl_interfaces/srv/SetParameters";
    const TYPE_HASH: Option<&'static str> =
        Some("RIHS01_56eed9a67e169f9cb6c1f987bc88f868c14a8fc9f743a263bc734c154015d7e0");
}

/// What [`SetParameters`] asks.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct SetParametersRequest {
    /// The parameters with their new values.
    pub parameters: Vec<Parameter>,
}

/// What [`SetParameters`] answers.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SetParametersResponse {
    /// What became of them in that order.
    pub results: Vec<SetParametersResult>,
}

/// Sets all parameters or none: the service `~/set_parameters_atomically`.
#[derive(Clone, Copy, Debug)]
pub enum SetParametersAtomically {}

impl Service for SetParametersAtomically {
    type Request = SetParametersAtomicallyRequest;
    type Response = SetParametersAtomicallyResponse;
    const TYPE: &str = "rcl_interfaces/srv/SetParametersAtomically";
    const TYPE_HASH: Option<&'static str> =
        Some("RIHS01_0e192ef259c07fc3c07a13191d27002222e65e00ccec653ca05e856f79285fcd");
}

/// What [`SetParametersAtomically`] asks.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct SetParametersAtomicallyRequest {
    /// The parameters with their new values.
    pub parameters: Vec<Parameter>,
}

/// What [`SetParametersAtomically`] answers.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SetParametersAtomicallyResponse {
    /// What became of them.
    pub result: SetParametersResult,
}

/// Asks for what is known of parameters: the service `~/describe_parameters`.
#[derive(Clone, Copy, Debug)]
pub enum DescribeParameters {}

impl Service for DescribeParameters {
    type Request = DescribeParametersRequest;
    type Response = DescribeParametersResponse;
    const TYPE: &str = "rcl_interfaces/srv/DescribeParameters";
    const TYPE_HASH: Option<&'static str> =
        Some("RIHS01_845b484d71eb0673dae682f2e3ba3c4851a65a3dcfb97bddd82c5b57e91e4cff");
}

/// What [`DescribeParameters`] asks.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct DescribeParametersRequest {
    /// The parameters.
    pub names: Vec<String>,
}

/// What [`DescribeParameters`] answers.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct DescribeParametersResponse {
    /// Their descriptors in that order; what is not declared has the type `NOT_SET`.
    pub descriptors: Vec<ParameterDescriptor>,
}

/// Asks for names: the service `~/list_parameters`.
#[derive(Clone, Copy, Debug)]
pub enum ListParameters {}

impl Service for ListParameters {
    type Request = ListParametersRequest;
    type Response = ListParametersResponse;
    const TYPE: &str = "rcl_interfaces/srv/ListParameters";
    const TYPE_HASH: Option<&'static str> =
        Some("RIHS01_3e6062bfbb27bfb8730d4cef2558221f51a11646d78e7bb30a1e83afac3aad9d");
}

/// What [`ListParameters`] asks.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ListParametersRequest {
    /// Only these parameters and those below them; all if there are none.
    pub prefixes: Vec<String>,
    /// Only names with less dots, beyond their prefix if there are any; all of them if it is 0.
    pub depth: u64,
}

/// What [`ListParameters`] answers.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ListParametersResponse {
    /// The names.
    pub result: ListParametersResult,
}
