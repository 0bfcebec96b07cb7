//! Descriptions of generated types as the messages that ROS 2 sends.

use std::collections::BTreeMap;

use hiroz_schema as schema;
use rospin_msgs::type_description_interfaces::msg::{self as wire, IndividualTypeDescription, TypeDescription};
use rospin_wire::{DescribedType, Description};

use crate::message_type::hashed;

/// Returns the description of the type `name`, and its hash; `None` if it is neither the described type nor one that
/// this contains. Unlike a [`MessageType`](crate::MessageType), it may be a service, or have fields that dynamic
/// messages cannot have.
#[must_use]
pub fn describe(description: &Description, name: &str) -> Option<(TypeDescription, String)> {
    let types: BTreeMap<&str, DescribedType<'_>> =
        description.types().into_iter().map(|each| (each.name, each)).collect();
    let described = types.get(name)?;
    let mut referenced = BTreeMap::new();
    let mut next = vec![described];
    while let Some(each) = next.pop() {
        for nested in each.fields.iter().filter_map(|field| types.get(field.nested_type_name)) {
            if referenced.insert(nested.name, nested).is_none() {
                next.push(nested);
            }
        }
    }
    let description = TypeDescription {
        type_description: message(described),
        // ROS 2 sorts them by name, as the map does.
        referenced_type_descriptions: referenced.into_values().map(message).collect(),
    };
    let hash = schema::calculate_hash(&hashed(description.clone())).to_rihs_string();
    Some((description, hash))
}

fn message(described: &DescribedType<'_>) -> IndividualTypeDescription {
    let mut fields = Vec::with_capacity(described.fields.len());
    for field in &described.fields {
        let r#type = wire::FieldType {
            type_id: field.type_id,
            capacity: field.capacity,
            string_capacity: field.string_capacity,
            nested_type_name: field.nested_type_name.to_owned(),
        };
        fields.push(wire::Field { name: field.name.to_owned(), r#type, default_value: field.default_value.clone() });
    }
    IndividualTypeDescription { type_name: described.name.to_owned(), fields }
}
