//! The types that a node can describe to others.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use rospin_dynamic::{MessageType, ServiceType, describe};

use crate::interfaces::type_description_interfaces::{
    GetTypeDescriptionRequest, GetTypeDescriptionResponse, TypeDescription, TypeSource,
};
use crate::node::{DescribedTypes, Node};
use crate::sync::{Mutex, MutexGuard};

/// The types that a node can describe to others: those of its endpoints, as far as they are generated or dynamic, and
/// those that the program adds. They are kept as long as the node lives; their number is bounded by that of the types
/// in the program.
#[derive(Default)]
pub(crate) struct Known(Mutex<State>);

impl Node {
    /// Returns the types that are known only at run time, and that the node can describe to others.
    pub(super) fn known(&self) -> &Arc<Known> {
        self.part()
    }
}

#[derive(Default)]
struct State {
    /// Types that are known only at run time, by name and hash.
    types: BTreeMap<(String, String), MessageType>,
    /// Likewise types of services.
    services: BTreeMap<(String, String), ServiceType>,
    is_served: bool,
}

impl Known {
    pub(super) fn add(&self, message_type: &MessageType) {
        let key = (message_type.name().to_owned(), message_type.hash().to_owned());
        self.lock().types.insert(key, message_type.clone());
    }

    pub(super) fn add_service(&self, service_type: &ServiceType) {
        let key = (service_type.name(), service_type.hash().to_owned());
        self.lock().services.insert(key, service_type.clone());
    }

    /// Returns true if nobody serves the types yet, and marks them as served.
    pub(super) fn begin_to_serve(&self) -> bool {
        !std::mem::replace(&mut self.lock().is_served, true)
    }

    pub(super) fn end_to_serve(&self) {
        self.lock().is_served = false;
    }

    /// Returns the descriptions of all types with that name, each once, by their hashes: of these, and of the
    /// `generated` ones.
    fn with_name(&self, name: &str, generated: &DescribedTypes) -> BTreeMap<String, TypeDescription> {
        let mut found = BTreeMap::new();
        let state = self.lock();
        for ((known, hash), message_type) in &state.types {
            if known == name {
                found.insert(hash.clone(), message_type.description());
            }
        }
        for ((known, hash), service_type) in &state.services {
            if known == name {
                found.insert(hash.clone(), service_type.description());
            }
        }
        drop(state);
        for description in generated.all() {
            if let Some((description, hash)) = describe(description, name) {
                found.insert(hash, description);
            }
        }
        found
    }

    /// Returns the type with that name and hash. With an empty `hash`, returns the only type with that name. The error
    /// is the reason for the node that asks.
    fn find(&self, name: &str, hash: &str, generated: &DescribedTypes) -> Result<TypeDescription, String> {
        let mut of_name = self.with_name(name, generated);
        if !hash.is_empty() {
            return of_name.remove(hash).ok_or_else(|| format!("this node has no type {name} with hash {hash}"));
        }
        match (of_name.pop_first(), of_name.pop_first()) {
            (Some((_, found)), None) => Ok(found),
            (Some(_), Some(_)) => Err(format!("this node has more than one type {name}; ask with the hash")),
            (None, _) => Err(format!("this node has no type {name}")),
        }
    }

    /// Answers a request with one of these types, or of the `generated` ones.
    pub(super) fn answer(
        &self,
        request: &GetTypeDescriptionRequest,
        generated: &DescribedTypes,
    ) -> GetTypeDescriptionResponse {
        let type_description = match self.find(&request.type_name, &request.type_hash, generated) {
            Ok(found) => found,
            Err(failure_reason) => {
                return GetTypeDescriptionResponse { failure_reason, ..GetTypeDescriptionResponse::default() };
            }
        };
        let referenced = &type_description.referenced_type_descriptions;
        let described = [&type_description.type_description].into_iter().chain(referenced);
        // The program has no source texts. ROS 2 names this encoding "dynamic".
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
