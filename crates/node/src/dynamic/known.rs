//! The types that a node knows at run time.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::message_type::MessageType;
use crate::interfaces::type_description_interfaces::{
    GetTypeDescriptionRequest, GetTypeDescriptionResponse, TypeSource,
};

/// What a node can tell others of. It forgets none as long as it lives: there are no more of them than it was given.
#[derive(Default)]
pub(crate) struct Known(Mutex<State>);

#[derive(Default)]
struct State {
    /// By name and hash.
    types: BTreeMap<(String, String), MessageType>,
    is_served: bool,
}

impl Known {
    pub(super) fn add(&self, message_type: &MessageType) {
        let key = (message_type.name().to_owned(), message_type.hash().to_owned());
        self.lock().types.insert(key, message_type.clone());
    }

    /// Whether nobody served them until now.
    pub(super) fn begin_to_serve(&self) -> bool {
        !std::mem::replace(&mut self.lock().is_served, true)
    }

    pub(super) fn end_to_serve(&self) {
        self.lock().is_served = false;
    }

    /// The type of that name and hash; without hash, the only one of that name.
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
        // Types that are known at run time have no text that they were made of, and ROS 2 has a word for that.
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
        // What runs under the lock leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
