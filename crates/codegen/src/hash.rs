//! Type hashes of ROS 2: SHA-256 of a type's description, calculated by `hiroz-schema`.

use std::collections::BTreeMap;

use hiroz_schema::{
    FieldDescription, FieldTypeDescription, TypeDescription, TypeDescriptionMsg, TypeId, calculate_hash,
};

use crate::model::{Base, Field, Interface, Kind, Shape, TypeRef};
use crate::packages::Packages;

/// Name of the field that ROS 2 gives to a message without fields.
pub(crate) const NOTHING: &str = "structure_needs_at_least_one_member";

/// Returns the hash of a message.
pub(crate) fn message(packages: &Packages, interface: &Interface) -> String {
    Hasher::new(packages).hash(part(interface, 0))
}

/// Returns the hash of a service.
pub(crate) fn service(packages: &Packages, interface: &Interface) -> String {
    let mut hasher = Hasher::new(packages);
    let parts = [part(interface, 0), part(interface, 1)];
    hasher.service(&interface.ros_name(), parts)
}

/// The hashes of an action's parts.
#[derive(Debug)]
pub(crate) struct ActionHashes {
    pub(crate) send_goal: String,
    pub(crate) get_result: String,
    pub(crate) feedback_message: String,
}

/// Returns the hashes of an action's parts.
pub(crate) fn action(packages: &Packages, interface: &Interface) -> ActionHashes {
    let name = interface.ros_name();
    let of = |part: &str, fields| TypeDescription { type_name: format!("{name}_{part}"), fields };
    let goal_id = || field("goal_id", nested("unique_identifier_msgs/msg/UUID"));
    let inner = |index: usize| {
        let mut hasher = Hasher::new(packages);
        hasher.add(part(interface, index));
        hasher
    };
    let send_goal = inner(0).service(
        &format!("{name}_SendGoal"),
        [
            of("SendGoal_Request", vec![goal_id(), field("goal", nested(&format!("{name}_Goal")))]),
            of(
                "SendGoal_Response",
                vec![
                    field("accepted", FieldTypeDescription::primitive(TypeId::BOOL)),
                    field("stamp", nested("builtin_interfaces/msg/Time")),
                ],
            ),
        ],
    );
    let status = field("status", FieldTypeDescription::primitive(TypeId::INT8));
    let get_result = inner(1).service(
        &format!("{name}_GetResult"),
        [
            of("GetResult_Request", vec![goal_id()]),
            of("GetResult_Response", vec![status, field("result", nested(&format!("{name}_Result")))]),
        ],
    );
    let feedback = vec![goal_id(), field("feedback", nested(&format!("{name}_Feedback")))];
    ActionHashes { send_goal, get_result, feedback_message: inner(2).hash(of("FeedbackMessage", feedback)) }
}

/// Returns the description of a field without a default.
fn field(name: &str, field_type: FieldTypeDescription) -> FieldDescription {
    FieldDescription { name: name.to_owned(), field_type, default_value: String::new() }
}

/// Returns the description of a field's type: the message with that name.
fn nested(name: &str) -> FieldTypeDescription {
    FieldTypeDescription::nested(TypeId::NESTED_TYPE, name)
}

/// Returns the description of a message, or of a part of a service or an action.
fn part(interface: &Interface, index: usize) -> TypeDescription {
    let name = interface.ros_name();
    let type_name = match interface.kind {
        Kind::Message => name,
        kind => format!("{name}_{}", kind.parts()[index]),
    };
    let mut fields: Vec<_> = interface.parts[index].fields.iter().map(describe).collect();
    if fields.is_empty() {
        fields.push(field(NOTHING, FieldTypeDescription::primitive(TypeId::UINT8)));
    }
    TypeDescription { type_name, fields }
}

/// Returns the description of a field of a definition.
fn describe(of: &Field) -> FieldDescription {
    let (type_id, string_capacity) = match &of.base {
        Base::Bool => (TypeId::BOOL, 0),
        Base::Byte => (TypeId::BYTE, 0),
        // ROS 2 describes `char` as `uint8`.
        Base::Char | Base::Uint8 => (TypeId::UINT8, 0),
        Base::Float32 => (TypeId::FLOAT32, 0),
        Base::Float64 => (TypeId::FLOAT64, 0),
        Base::Int8 => (TypeId::INT8, 0),
        Base::Int16 => (TypeId::INT16, 0),
        Base::Uint16 => (TypeId::UINT16, 0),
        Base::Int32 => (TypeId::INT32, 0),
        Base::Uint32 => (TypeId::UINT32, 0),
        Base::Int64 => (TypeId::INT64, 0),
        Base::Uint64 => (TypeId::UINT64, 0),
        Base::String { max: 0 } => (TypeId::STRING, 0),
        Base::String { max } => (TypeId::BOUNDED_STRING, *max),
        Base::WString { max: 0 } => (TypeId::WSTRING, 0),
        Base::WString { max } => (TypeId::BOUNDED_WSTRING, *max),
        Base::Nested(_) => (TypeId::NESTED_TYPE, 0),
    };
    let (offset, capacity) = match of.shape {
        Shape::One => (0, 0),
        Shape::Array(length) => (TypeId::ARRAY_OFFSET, length),
        Shape::Sequence { max: 0 } => (TypeId::UNBOUNDED_SEQUENCE_OFFSET, 0),
        Shape::Sequence { max } => (TypeId::BOUNDED_SEQUENCE_OFFSET, max),
    };
    let nested_type_name = if let Base::Nested(reference) = &of.base { reference.to_string() } else { String::new() };
    field(
        &of.name,
        FieldTypeDescription {
            type_id: type_id + offset,
            capacity: capacity as u64,
            string_capacity: string_capacity as u64,
            nested_type_name,
        },
    )
}

/// Calculator of type hashes. It finds the types that a type refers to in the packages, or in `known`.
struct Hasher<'a> {
    packages: &'a Packages,
    /// Descriptions by name: parts of services and actions, and the types that every service or action refers to.
    known: BTreeMap<String, TypeDescription>,
}

impl<'a> Hasher<'a> {
    /// Returns a calculator that knows `packages`, and the types that every service and action refers to, which packages need not
    /// mention.
    fn new(packages: &'a Packages) -> Self {
        let mut hasher = Self { packages, known: BTreeMap::new() };
        let one = FieldTypeDescription::primitive;
        let time = vec![field("sec", one(TypeId::INT32)), field("nanosec", one(TypeId::UINT32))];
        let uuid = vec![field("uuid", FieldTypeDescription::array(TypeId::UINT8_ARRAY, 16))];
        let event = vec![
            field("event_type", one(TypeId::UINT8)),
            field("stamp", nested("builtin_interfaces/msg/Time")),
            field("client_gid", FieldTypeDescription::array(TypeId::UINT8_ARRAY, 16)),
            field("sequence_number", one(TypeId::INT64)),
        ];
        for (name, fields) in [
            ("builtin_interfaces/msg/Time", time),
            ("unique_identifier_msgs/msg/UUID", uuid),
            ("service_msgs/msg/ServiceEventInfo", event),
        ] {
            hasher.add(TypeDescription { type_name: name.to_owned(), fields });
        }
        hasher
    }

    /// Adds the description of a type that is in no package.
    fn add(&mut self, description: TypeDescription) {
        self.known.insert(description.type_name.clone(), description);
    }

    /// Returns the hash of a service: of its request, its response, and the event of service introspection.
    fn service(&mut self, name: &str, parts: [TypeDescription; 2]) -> String {
        let [request, response] = parts.each_ref().map(|part| part.type_name.clone());
        parts.into_iter().for_each(|part| self.add(part));
        let one_at_most = |of: &str| FieldTypeDescription::nested_array(TypeId::NESTED_TYPE_BOUNDED_SEQUENCE, 1, of);
        let event = format!("{name}_Event");
        self.add(TypeDescription {
            type_name: event.clone(),
            fields: vec![
                field("info", nested("service_msgs/msg/ServiceEventInfo")),
                field("request", one_at_most(&request)),
                field("response", one_at_most(&response)),
            ],
        });
        let fields = [("request_message", request), ("response_message", response), ("event_message", event)];
        let fields = fields.map(|(part, of)| field(part, nested(&of))).to_vec();
        self.hash(TypeDescription { type_name: name.to_owned(), fields })
    }

    /// Returns the hash of a type and of all types that it contains.
    fn hash(&self, type_description: TypeDescription) -> String {
        let mut referenced = BTreeMap::new();
        let mut next = names(&type_description);
        while let Some(name) = next.pop() {
            if !referenced.contains_key(&name)
                && let Some(description) = self.describe(&name)
            {
                next.extend(names(&description));
                referenced.insert(name, description);
            }
        }
        // ROS 2 sorts them by name, as the map does.
        let referenced_type_descriptions = referenced.into_values().collect();
        calculate_hash(&TypeDescriptionMsg { type_description, referenced_type_descriptions }).to_rihs_string()
    }

    /// Returns the description of a type, by its name; `None` if it is not known.
    fn describe(&self, name: &str) -> Option<TypeDescription> {
        let defined = || {
            let (package, name) = name.split_once("/msg/")?;
            let reference = TypeRef { package: package.to_owned(), name: name.to_owned() };
            Some(part(self.packages.message(&reference)?, 0))
        };
        self.known.get(name).cloned().or_else(defined)
    }
}

/// Returns the names of the types that a type refers to.
fn names(of: &TypeDescription) -> Vec<String> {
    let names = of.fields.iter().map(|field| &field.field_type.nested_type_name);
    names.filter(|name| !name.is_empty()).cloned().collect()
}
