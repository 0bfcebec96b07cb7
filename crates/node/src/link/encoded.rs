//! The end of a client whose requests and responses are encoded.

use std::sync::Arc;

use super::call::Numbers;
use super::doors::Doors;
use crate::error::CallError;
use crate::matches::{Awaited, Matches};
use crate::middleware::{ClientEnd, SentRequest};
use crate::names::FullName;

/// The link of a client that knows the types only at run time to the servers of its service.
pub(crate) struct EncodedClientLink {
    service: String,
    end: End,
}

enum End {
    InProcess { doors: Arc<Doors>, numbers: Numbers },
    Network(Box<dyn ClientEnd>),
}

impl EncodedClientLink {
    pub(super) fn in_process(doors: Arc<Doors>, service: &FullName) -> Self {
        Self { service: service.as_str().to_owned(), end: End::InProcess { doors, numbers: Numbers::new() } }
    }

    pub(super) fn network(service: &FullName, end: Box<dyn ClientEnd>) -> Self {
        Self { service: service.as_str().to_owned(), end: End::Network(end) }
    }

    /// Sends an encoded request, without waiting for the server.
    pub(crate) fn call(&self, payload: Vec<u8>) -> Result<SentRequest, CallError> {
        match &self.end {
            End::InProcess { doors, numbers } => {
                let unavailable = || CallError::Unavailable { service: self.service.clone() };
                let door = doors.of(&self.service).ok_or_else(unavailable)?;
                let id = numbers.next();
                Ok(SentRequest { id, response: door(id, payload.into()) })
            }
            End::Network(end) => end.call(payload),
        }
    }
}

impl Matches for EncodedClientLink {
    fn count(&self) -> usize {
        match &self.end {
            End::InProcess { doors, .. } => doors.of(&self.service).is_some().into(),
            End::Network(end) => end.count(),
        }
    }

    fn wait(&self) -> Awaited<()> {
        match &self.end {
            End::InProcess { doors, .. } => {
                let (doors, service) = (Arc::clone(doors), self.service.clone());
                Box::pin(async move {
                    loop {
                        // The future is taken before the doors are read, so no door is missed.
                        let next = doors.next();
                        if doors.of(&service).is_some() {
                            return;
                        }
                        next.await;
                    }
                })
            }
            End::Network(end) => end.wait(),
        }
    }
}
