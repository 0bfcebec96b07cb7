//! The types that a node knows at run time.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rospin_dynamic::MessageType;

use crate::interfaces::type_description_interfaces::{
    GetTypeDescriptionRequest, GetTypeDescriptionResponse, TypeSource,
};

/// The types that a node can describe to others. They are kept as long as the node lives; their number is bounded by
/// what the program adds.
#[derive(Default)]
pub(crate) struct Known(Mutex<State>);

#[derive(Default)]
struct State {
    /// The types by name and hash.
    types: BTreeMap<(String, String), MessageType>,
    is_served: bool,
}

impl Known {
    pub(super) fn add(&self, message_type: &MessageType) {
        let key = (message_type.name().to_owned(), message_type.hash().to_owned());
        self.lock().types.insert(key, message_type.clone());
    }

    /// Returns true if nobody serves the types yet, and marks them as served.
    pub(super) fn begin_to_serve(&self) -> bool {
        !std::mem::replace(&mut self.lock().is_served, true)
    }

    pub(super) fn end_to_serve(&self) {
        self.lock().is_served = false;
    }

    /// Returns the type with that name and hash. With an empty `hash`, returns the only type with that name. The error is the
    /// reason for the node that asks.
    fn find(&self, name: &str, hash: &str) -> Result<MessageType, String> {
        let state = self.lock();
        let mut of_name = state.types.iter().filter(|((known, _), _)| known == name).map(|(_, found)| found);
        if !hash.is_empty() {
            let found = of_name.find(|found| found.hash() == hash);
            return found.cloned().ok_or_else(|| format!("this node has no type {name} with hash {hash}"));
        }
        match (of_name.next(), of_name.next()) {
            (Some(found), None) => Ok(found.clone()),
            (Some(_), Some(_)) => Err(format!("this node has more than one type {name}; ask with the hash")),
            (None, _) => Err(format!("this node has no type {name}")),
        }
    }

    pub(super) fn answer(&self, request: &GetTypeDescriptionRequest) -> GetTypeDescriptionResponse {
        let found = match self.find(&request.type_name, &request.type_hash) {
            Ok(found) => found,
            Err(failure_reason) => {
                return GetTypeDescriptionResponse { failure_reason, ..GetTypeDescriptionResponse::default() };
            }
        };
        let type_description = found.description();
        let referenced = &type_description.referenced_type_descriptions;
        let described = [&type_description.type_description].into_iter().chain(referenced);
        // Types that are known only at run time have no source text; ROS 2 names this encoding "dynamic".
        let source = |type_name: &String| TypeSource {
            type_name: type_name.clone(),
            encoding: "dynamic".to_owned(),
            raw_file_contents: String::new(),
        };
        let sources = described.filter(|_| request.include_type_sources).map(|each| source(&each.type_name));
        GetTypeDescriptionResponse {
            successful: true,
            type_sources: sources.collect(),
            type_description,
            ..GetTypeDescriptionResponse::default()
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic under the lock leaves nothing half changed: only moves of values happen there.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
