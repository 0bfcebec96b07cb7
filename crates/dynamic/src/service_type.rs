//! Types of services that are known only at run time.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use hiroz_schema as schema;
use rospin_msgs::type_description_interfaces::msg::{IndividualTypeDescription, TypeDescription};
use rospin_wire::TypeName;

use crate::error::MessageTypeError;
use crate::install::description_in;
use crate::message_type::{HAVE_HASHES, MessageType, hashed};

/// The field of a described service that has its events.
const EVENT: &str = "event_message";

/// The type of a service: those of its requests and its responses. Cheap to clone.
///
/// A node learns it from the network by `service_type_of`. Tools read it from an installed ROS 2:
///
/// ```no_run
/// use rospin::dynamic::ServiceType;
///
/// let text = std::fs::read_to_string("/opt/ros/jazzy/share/std_srvs/srv/SetBool.json")?;
/// let set_bool = ServiceType::from_json(&text)?;
/// assert_eq!(set_bool.name(), "std_srvs/srv/SetBool");
/// assert_eq!(set_bool.request().fields()[0].name(), "data");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ServiceType {
    name: TypeName,
    hash: String,
    announces_hash: bool,
    request: MessageType,
    response: MessageType,
    event: Option<MessageType>,
    description: Arc<TypeDescription>,
}

impl ServiceType {
    /// Returns the described service. Types that it does not refer to are left out.
    ///
    /// # Errors
    /// If the description is not one of a service, or a part of it is not a usable type.
    pub fn from_description(description: &TypeDescription) -> Result<Self, MessageTypeError> {
        let service = &description.type_description;
        let name = TypeName::new(&service.type_name)?;
        let request = part(description, "request_message")?;
        let response = part(description, "response_message")?;
        let has_event = service.fields.iter().any(|field| field.name == EVENT);
        let event = if has_event { Some(part(description, EVENT)?) } else { None };
        let description = closed(description);
        let hash = schema::calculate_hash(&hashed(description.clone())).to_rihs_string();
        let description = Arc::new(description);
        Ok(Self { name, hash, announces_hash: HAVE_HASHES, request, response, event, description })
    }

    /// Returns the service that a JSON text describes, such as that of `share/std_srvs/srv/SetBool.json` in an
    /// installed ROS 2. If the text has a hash of the service, the service must have that hash.
    ///
    /// # Errors
    /// If the text is not a description, or the service is not usable.
    pub fn from_json(text: &str) -> Result<Self, MessageTypeError> {
        let (description, hash) = description_in(text)?;
        let found = Self::from_description(&description)?;
        if let Some(hash) = hash {
            found.check_hash(&hash)?;
        }
        Ok(found)
    }

    /// Returns the service's name, such as `std_srvs/srv/SetBool`.
    #[must_use]
    pub fn name(&self) -> String {
        self.name.to_string()
    }

    /// Returns the service's hash, `RIHS01_` and 64 digits, calculated from its description.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Returns the type of the requests.
    #[must_use]
    pub const fn request(&self) -> &MessageType {
        &self.request
    }

    /// Returns the type of the responses.
    #[must_use]
    pub const fn response(&self) -> &MessageType {
        &self.response
    }

    /// Returns the type of the events that service introspection publishes; `None` if the description has none, as
    /// those of Humble.
    #[must_use]
    pub const fn event(&self) -> Option<&MessageType> {
        self.event.as_ref()
    }

    /// Returns the description of the service and of all types that it refers to, as ROS 2 sends it. Clones it.
    #[must_use]
    pub fn description(&self) -> TypeDescription {
        TypeDescription::clone(&self.description)
    }

    /// True if `hash` is that of the service, or of its requests or its responses: nodes of ROS 2 over DDS announce the
    /// latter for the two topics of a service.
    #[must_use]
    pub fn has_hash(&self, hash: &str) -> bool {
        [self.hash(), self.request.hash(), self.response.hash()].contains(&hash)
    }

    /// Checks that the service has the hash `expected`, see [`has_hash`](Self::has_hash).
    ///
    /// # Errors
    /// If it has another hash, which means another version of the service.
    pub fn check_hash(&self, expected: &str) -> Result<(), MessageTypeError> {
        if self.has_hash(expected) {
            return Ok(());
        }
        let (name, hash) = (self.name(), self.hash.clone());
        Err(MessageTypeError::Hash { name, expected: expected.to_owned(), hash })
    }

    /// Returns the type such that its clients and servers announce no hash, as those of nodes on Humble, see
    /// [`MessageType::without_hash`].
    #[must_use]
    pub fn without_hash(self) -> Self {
        Self { announces_hash: false, event: self.event.map(MessageType::without_hash), ..self }
    }

    /// Returns the type such that its clients and servers announce its hash.
    #[must_use]
    pub fn with_hash(self) -> Self {
        Self { announces_hash: true, event: self.event.map(MessageType::with_hash), ..self }
    }

    /// Returns the name as clients and servers of the type announce it. Allocates.
    #[must_use]
    pub fn type_name(&self) -> TypeName {
        let name = self.name.clone().with_definition(Cow::Owned(self.hash.clone()));
        if self.announces_hash { name.with_hash(self.hash.clone()) } else { name }
    }
}

impl PartialEq for ServiceType {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name() && self.hash == other.hash
    }
}

impl Eq for ServiceType {}

impl fmt::Debug for ServiceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceType").field("name", &self.name()).field("hash", &self.hash).finish_non_exhaustive()
    }
}

/// Returns the type of one part of a described service, such as `request_message`.
fn part(description: &TypeDescription, field: &str) -> Result<MessageType, MessageTypeError> {
    let service = &description.type_description;
    let no_service = || MessageTypeError::NoService { name: service.type_name.clone() };
    let found = service.fields.iter().find(|known| known.name == field).ok_or_else(no_service)?;
    let mut types = description.referenced_type_descriptions.iter();
    let root = types.find(|each| each.type_name == found.r#type.nested_type_name).ok_or_else(no_service)?;
    MessageType::from_description(&TypeDescription {
        type_description: root.clone(),
        referenced_type_descriptions: description.referenced_type_descriptions.clone(),
    })
}

/// Returns the description without types that the described one does not refer to, sorted by name: what hashes are
/// calculated from.
fn closed(description: &TypeDescription) -> TypeDescription {
    let mut known: BTreeMap<&str, &IndividualTypeDescription> = BTreeMap::new();
    for each in &description.referenced_type_descriptions {
        known.insert(&each.type_name, each);
    }
    let mut seen = BTreeSet::new();
    let mut next = vec![&description.type_description];
    while let Some(each) = next.pop() {
        for field in &each.fields {
            let nested = field.r#type.nested_type_name.as_str();
            if let Some(found) = known.get(nested)
                && seen.insert(nested)
            {
                next.push(found);
            }
        }
    }
    TypeDescription {
        type_description: description.type_description.clone(),
        referenced_type_descriptions: seen.into_iter().map(|name| known[name].clone()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use rospin_msgs::type_description_interfaces::srv::GetTypeDescription;
    use rospin_wire::ServiceInterface;

    use super::*;

    const EVENT_NAME: &str = "type_description_interfaces/srv/GetTypeDescription_Event";

    fn described() -> TypeDescription {
        crate::describe(GetTypeDescription::DESCRIPTION.unwrap(), GetTypeDescription::TYPE).unwrap().0
    }

    #[test]
    fn a_described_service_has_the_hash_of_the_generated_one() {
        let found = ServiceType::from_description(&described()).unwrap();
        assert_eq!(found.name(), GetTypeDescription::TYPE);
        assert_eq!(Some(found.hash()), GetTypeDescription::TYPE_HASH);
        assert_eq!(found.type_name().hash.as_deref(), GetTypeDescription::TYPE_HASH);
        assert_eq!(found.clone().without_hash().type_name().hash, None);
        assert_eq!(found.request().fields()[0].name(), "type_name");
        assert_eq!(found.response().fields()[0].name(), "successful");
        assert_eq!(found, found.clone().without_hash().with_hash());
        let event = found.event().unwrap();
        assert_eq!((event.name(), Some(event.hash())), (EVENT_NAME, GetTypeDescription::EVENT_TYPE_HASH));
        assert_eq!(ServiceType::from_description(&found.description()), Ok(found.clone()));
        assert!(found.has_hash(found.hash()) && found.has_hash(found.request().hash()) && !found.has_hash("RIHS01_00"));
    }

    #[test]
    fn a_description_may_be_without_events() {
        let mut described = described();
        described.type_description.fields.retain(|field| field.name != EVENT);
        assert_eq!(ServiceType::from_description(&described).unwrap().event(), None);
    }

    #[test]
    fn types_that_a_service_does_not_refer_to_are_left_out() {
        let mut described = described();
        let stray = IndividualTypeDescription { type_name: "a/msg/Stray".to_owned(), fields: Vec::new() };
        described.referenced_type_descriptions.push(stray);
        let found = ServiceType::from_description(&described).unwrap();
        assert_eq!(Some(found.hash()), GetTypeDescription::TYPE_HASH);
    }

    #[test]
    fn a_message_is_no_service() {
        let mut described = described();
        let at = described.referenced_type_descriptions.iter().position(|each| each.type_name.ends_with("_Request"));
        described.type_description = described.referenced_type_descriptions[at.unwrap()].clone();
        let error = ServiceType::from_description(&described).unwrap_err().to_string();
        assert!(error.contains("GetTypeDescription_Request is not described as a service"), "{error}");
    }

    #[test]
    fn a_text_with_another_hash_is_another_version() {
        let text = |hash: &str| {
            let description = schema::to_ros2_json(&hashed(described())).unwrap();
            let name = GetTypeDescription::TYPE;
            let hashes = format!("[{{\"type_name\": \"{name}\", \"hash_string\": \"{hash}\"}}]");
            format!("{{\"type_description_msg\": {description}, \"type_hashes\": {hashes}}}")
        };
        assert!(ServiceType::from_json(&text(GetTypeDescription::TYPE_HASH.unwrap())).is_ok());
        let error = ServiceType::from_json(&text("RIHS01_00")).unwrap_err().to_string();
        assert!(error.contains("these are two versions of it"), "{error}");
    }
}
