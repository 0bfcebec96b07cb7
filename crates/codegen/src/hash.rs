//! Descriptions of types, and their hashes in ROS 2: SHA-256 of the description, calculated by `hiroz-schema`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use hiroz_schema::{
    FieldDescription, FieldTypeDescription, TypeDescription, TypeDescriptionMsg, TypeId, calculate_hash,
};

use crate::model::{Base, Field, Interface, Kind, Literal, Shape, TypeRef};
use crate::packages::Packages;

/// Name of the field that ROS 2 gives to a message without fields.
pub(crate) const NOTHING: &str = "structure_needs_at_least_one_member";

/// Hash and description of a type, by which other nodes know it.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) hash: String,
    /// The type and all types that it contains.
    pub(crate) description: TypeDescriptionMsg,
    /// The type, and then those that no package defines, in the form that `rospin_wire::Description` reads.
    pub(crate) text: String,
    /// The messages in the types of the text, each once.
    pub(crate) contained: BTreeSet<TypeRef>,
}

/// Returns the identity of a message.
pub(crate) fn message(packages: &Packages, interface: &Interface) -> Identity {
    Hasher { packages, known: BTreeMap::new() }.identify(part(interface, 0))
}

/// Returns the identity of a service, and the hash of its events.
pub(crate) fn service(packages: &Packages, interface: &Interface) -> (Identity, String) {
    let mut hasher = Hasher::new(packages);
    let parts = [part(interface, 0), part(interface, 1)];
    let name = interface.ros_name();
    let service = hasher.service(&name, parts);
    // The description of a service has that of its events.
    let event = hasher.describe(&event_of(&name)).map(|event| hasher.identify(event).hash);
    (service, event.unwrap_or_default())
}

/// Returns the name of the type of a service's events.
fn event_of(service: &str) -> String {
    format!("{service}_Event")
}

/// Returns the identities of an action's parts, each with the name of its constants: goals, results, feedback.
pub(crate) fn action(packages: &Packages, interface: &Interface) -> [(&'static str, Identity); 3] {
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
    let feedback_message = inner(2).identify(of("FeedbackMessage", feedback));
    [("SEND_GOAL", send_goal), ("GET_RESULT", get_result), ("FEEDBACK_MESSAGE", feedback_message)]
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
    let field_type = FieldTypeDescription {
        type_id: type_id + offset,
        capacity: capacity as u64,
        string_capacity: string_capacity as u64,
        nested_type_name,
    };
    let default_value = of.default.as_ref().map(|values| default_text(of.shape, values)).unwrap_or_default();
    FieldDescription { name: of.name.clone(), field_type, default_value }
}

/// Returns a default as text. ROS 2 writes it as Python does; lists are tuples.
fn default_text(shape: Shape, values: &[Literal]) -> String {
    let one = |value: &Literal| match value {
        Literal::Bool(true) => "True".to_owned(),
        Literal::Bool(false) => "False".to_owned(),
        Literal::Int(value) => value.to_string(),
        Literal::Float(value) => format!("{value:?}"),
        Literal::Text(text) => text.clone(),
    };
    let element = |value: &Literal| match value {
        Literal::Text(text) if text.contains('\'') && !text.contains('"') => format!("\"{text}\""),
        Literal::Text(text) => format!("'{}'", text.replace('\'', "\\'")),
        other => one(other),
    };
    match (shape, values) {
        (Shape::One, values) => values.iter().map(one).collect(),
        (_, [only]) => format!("({},)", element(only)),
        (_, values) => format!("({})", values.iter().map(element).collect::<Vec<_>>().join(", ")),
    }
}

/// Writes a type in the form that `rospin_wire::Description` reads.
fn write_type(out: &mut String, of: &TypeDescription) {
    let _ = writeln!(out, ":{}", of.type_name);
    for FieldDescription { name, field_type, default_value } in &of.fields {
        let FieldTypeDescription { type_id, capacity, string_capacity, nested_type_name } = field_type;
        let nested = if nested_type_name.is_empty() { "-" } else { nested_type_name };
        let _ = write!(out, "{name} {type_id} {capacity} {string_capacity} {nested}");
        if !default_value.is_empty() {
            let escaped = default_value.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r");
            let _ = write!(out, " {escaped}");
        }
        out.push('\n');
    }
}

/// Calculator of type hashes and descriptions. It finds the types that a type refers to in the packages, or in `known`.
struct Hasher<'a> {
    packages: &'a Packages,
    /// Descriptions by name: parts of services and actions, and the types that every service or action refers to.
    known: BTreeMap<String, TypeDescription>,
}

impl<'a> Hasher<'a> {
    /// Returns a calculator that knows `packages`, and the types that every service and action refers to, which
    /// packages need not mention.
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

    /// Returns the identity of a service: of its request, its response, and the event of service introspection.
    fn service(&mut self, name: &str, parts: [TypeDescription; 2]) -> Identity {
        let [request, response] = parts.each_ref().map(|part| part.type_name.clone());
        for part in parts {
            self.add(part);
        }
        let one_at_most = |of: &str| FieldTypeDescription::nested_array(TypeId::NESTED_TYPE_BOUNDED_SEQUENCE, 1, of);
        let event = event_of(name);
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
        self.identify(TypeDescription { type_name: name.to_owned(), fields })
    }

    /// Returns the identity of a type: of itself and of all types that it contains.
    fn identify(&self, type_description: TypeDescription) -> Identity {
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
        let mut text = String::new();
        let mut contained = BTreeSet::new();
        let undefined = referenced.values().filter(|each| self.known.contains_key(&each.type_name));
        for each in [&type_description].into_iter().chain(undefined) {
            write_type(&mut text, each);
            let defined = names(each).into_iter().filter(|name| !self.known.contains_key(name));
            contained.extend(defined.filter_map(|name| reference(&name)));
        }
        // ROS 2 sorts them by name, as the map does.
        let referenced_type_descriptions = referenced.into_values().collect();
        let description = TypeDescriptionMsg { type_description, referenced_type_descriptions };
        Identity { hash: calculate_hash(&description).to_rihs_string(), description, text, contained }
    }

    /// Returns the description of a type, by its name; `None` if it is not known.
    fn describe(&self, name: &str) -> Option<TypeDescription> {
        let defined = || Some(part(self.packages.message(&reference(name)?)?, 0));
        self.known.get(name).cloned().or_else(defined)
    }
}

/// Returns the message with that name; `None` if the name is not one of a message.
fn reference(name: &str) -> Option<TypeRef> {
    let (package, name) = name.split_once("/msg/")?;
    Some(TypeRef { package: package.to_owned(), name: name.to_owned() })
}

/// Returns the names of the types that a type refers to.
fn names(of: &TypeDescription) -> Vec<String> {
    let names = of.fields.iter().map(|field| &field.field_type.nested_type_name);
    names.filter(|name| !name.is_empty()).cloned().collect()
}
