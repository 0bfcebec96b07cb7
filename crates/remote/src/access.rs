//! The clients that a server accepts.

use std::collections::BTreeMap;

use rospin_accelerator::{ClientOptions, OnOverrun, Priority};
use rospin_scenario::Deployment;
use rospin_scenario::deployment::{ClientPlan, DeploymentError};

/// Size of a client's memory in MiB, if the deployment file does not say.
const MEMORY_MIB: u32 = 256;

/// The clients that may use an accelerator, as a deployment file names them.
#[derive(Clone, Debug)]
pub struct Access {
    accelerator: String,
    clients: BTreeMap<String, ClientPlan>,
}

/// Errors of clients in a deployment file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AccessError {
    /// The environment names no deployment file.
    #[error(
        "ROSPIN_DEPLOYMENT names no deployment file; set it to one with a `[[client]]` for each client of the \
         accelerator"
    )]
    NotSet,
    /// A deployment file cannot be read or is invalid.
    #[error(transparent)]
    File(#[from] DeploymentError),
    /// The file names no client of the accelerator.
    #[error(
        "the deployment names no client of the accelerator `{accelerator}`; add `[[client]]` with `name` and \
         `accelerator`"
    )]
    NoClients {
        /// The accelerator.
        accelerator: String,
    },
}

impl Access {
    /// Takes the clients of that accelerator from the deployment.
    ///
    /// # Errors
    /// If it names none.
    pub fn new(deployment: &Deployment, accelerator: &str) -> Result<Self, AccessError> {
        let of_this = deployment.clients.iter().filter(|client| client.accelerator == accelerator);
        let clients: BTreeMap<_, _> = of_this.map(|client| (client.name.clone(), client.clone())).collect();
        let accelerator = accelerator.to_owned();
        if clients.is_empty() { Err(AccessError::NoClients { accelerator }) } else { Ok(Self { accelerator, clients }) }
    }

    /// Takes the clients of that accelerator from the deployment files that the environment variable
    /// `ROSPIN_DEPLOYMENT` names, as programs take their executors.
    ///
    /// # Errors
    /// If it names no files, or files that cannot be read, are invalid, or name no client of the accelerator.
    pub fn from_env(accelerator: &str) -> Result<Self, AccessError> {
        let deployment = Deployment::from_env()?.ok_or(AccessError::NotSet)?;
        Self::new(&deployment, accelerator)
    }

    /// Returns the entry of the client, if a process of that user may be it. The error is a sentence for the client.
    pub(crate) fn admit(&self, name: &str, user: u32, own_user: u32) -> Result<&ClientPlan, String> {
        let Some(plan) = self.clients.get(name) else {
            let known: Vec<_> = self.clients.keys().map(|name| format!("`{name}`")).collect();
            return Err(format!(
                "the deployment file of the accelerator `{}` names no client `{name}`; it has {}",
                self.accelerator,
                known.join(", ")
            ));
        };
        let wanted = plan.user.unwrap_or(own_user);
        if wanted != user {
            return Err(format!(
                "client `{name}` is for processes of the user {wanted}, and this one is of the user {user}; set \
                 `user` in the deployment file"
            ));
        }
        Ok(plan)
    }
}

/// Returns the options of the client on the accelerator. A client that runs longer than it says only pays for it.
pub(crate) fn options(plan: &ClientPlan) -> ClientOptions {
    let mut options = ClientOptions::new(&plan.name).priority(Priority(plan.priority)).on_overrun(OnOverrun::Count);
    if let Some(deadline) = plan.deadline {
        options = options.deadline(deadline);
    }
    if let Some(depth) = plan.depth {
        options = options.depth(depth as usize);
    }
    if let Some(longest) = plan.longest_segment {
        options = options.longest_segment(longest);
    }
    if let Some(budget) = plan.budget {
        options = options.budget(budget.capacity, budget.period);
    }
    options
}

/// Returns the number of bytes that the client may share.
pub(crate) fn memory(plan: &ClientPlan) -> u64 {
    u64::from(plan.memory_mib.unwrap_or(MEMORY_MIB)) << 20
}
