//! Servers of services whose types are known only at run time, and the events of such services.

use rospin_dynamic::{DynamicMessage, DynamicSeed, ServiceType, Value as FieldValue};
use rospin_engine::EntityKind;

use super::publisher::DynamicPublisher;
use crate::callback::{Callback, Value};
use crate::error::{PublishError, Refused, ServiceError, TopicError};
use crate::group::{Group, OwnGroup};
use crate::interfaces::service_msgs::ServiceEventInfo;
use crate::names::{TypeName, TypeNameError};
use crate::node::Node;
use crate::on::On;
use crate::options::{PublisherOptions, ServiceOptions};
use crate::publisher::Publisher;
use crate::service::{Draft, Service};
use crate::service_types::ServiceTypes;

impl ServiceTypes for ServiceType {
    type Request = DynamicMessage;
    type Response = DynamicMessage;
    type Decoder = DynamicSeed;
    type Events = DynamicPublisher;

    const ARE_DYNAMIC: bool = true;

    fn type_name(&self) -> Result<TypeName, TypeNameError> {
        Ok(Self::type_name(self))
    }

    fn decoder(&self) -> DynamicSeed {
        DynamicSeed::new(self.request())
    }

    fn check_response(&self, response: &DynamicMessage) -> Result<(), String> {
        let given = response.message_type();
        if given == self.response() {
            return Ok(());
        }
        Err(format!("it is of type {}, and the service answers with {}", given.name(), self.response().name()))
    }

    fn create_events(&self, node: &Node, options: PublisherOptions) -> Result<DynamicPublisher, TopicError> {
        let Some(event) = self.event() else {
            let reason = Refused(format!("the description of {} has none of its events", self.name()));
            return Err(TopicError::Refused { topic: options.topic, reason });
        };
        node.create_dynamic_publisher(options, event)
    }

    fn node(events: &DynamicPublisher) -> &Node {
        AsRef::<Publisher<DynamicMessage>>::as_ref(events).node()
    }

    fn publish(
        events: &DynamicPublisher,
        info: ServiceEventInfo,
        request: Option<DynamicMessage>,
        response: Option<DynamicMessage>,
    ) -> Result<(), PublishError> {
        let mut event = DynamicMessage::new(events.message_type());
        let messages = |message: Option<DynamicMessage>| FieldValue::MessageArray(message.into_iter().collect());
        let fields = [
            ("info.event_type", FieldValue::from(info.event_type)),
            ("info.stamp.sec", FieldValue::from(info.stamp.sec)),
            ("info.stamp.nanosec", FieldValue::from(info.stamp.nanosec)),
            ("info.client_gid", FieldValue::from(info.client_gid.to_vec())),
            ("info.sequence_number", FieldValue::from(info.sequence_number)),
            ("request", messages(request)),
            ("response", messages(response)),
        ];
        for (path, value) in fields {
            let failed = |error: &dyn std::error::Error| PublishError::Failed {
                topic: events.topic().to_owned(),
                reason: error.to_string(),
            };
            event.set(path, value).map_err(|error| failed(&error))?;
        }
        events.publish(event)
    }
}

impl<G: Group> On<G> {
    /// Creates a service of a type that is known only at run time, as rclcpp's `create_generic_service` does. A plain
    /// `&str` is its name. `callback` has the [forms](crate::callback) of other services: it gets the request as a
    /// [`DynamicMessage`], and returns the response as one. A response of another type than the service's is not sent;
    /// it is logged, and counted by [`Service::unsent_responses`].
    ///
    /// Clients of Rust types call it as any other server. From then on the node can describe the type to others.
    ///
    /// # Errors
    /// If the service's name is invalid, the middleware refuses, or the group is gone.
    #[doc(alias = "create_generic_service")]
    pub fn create_dynamic_service<F, Form>(
        &self,
        options: impl Into<ServiceOptions>,
        service_type: &ServiceType,
        callback: F,
    ) -> Result<Service, ServiceError>
    where
        F: Callback<G, DynamicMessage, Value<DynamicMessage>, Form>,
    {
        let draft = Draft::on(self.node(), self.group(), options.into(), service_type.clone())?;
        self.node().known().add_service(service_type);
        let answering = draft.answering();
        let kind = EntityKind::Service;
        draft.finish(|options, requests| callback.on_source(self.group(), kind, options, requests, answering))
    }
}

impl Node {
    /// Creates a service of a type that is known only at run time, on the node's own group. See
    /// [`On::create_dynamic_service`].
    ///
    /// ```
    /// # use rospin::{Context, ContextOptions, Node, Ros};
    /// use rospin::dynamic::{DynamicMessage, ServiceType};
    /// use rospin::msgs::example_interfaces::srv::{AddTwoInts, AddTwoIntsRequest, AddTwoIntsResponse};
    ///
    /// # let ros = Ros::in_process(&Context::new(ContextOptions::new()));
    /// # let known = ros.create_node("known")?;
    /// # let _known = known.create_service("known", |request: AddTwoIntsRequest| AddTwoIntsResponse { sum: request.a })?;
    /// # let add: ServiceType = ros.spin_until(known.service_type_of(&ros.executor().handle(), "known"))??;
    /// // `add` was read from a file, or learned from another node.
    /// let node = ros.create_node("calculator")?;
    /// let response = add.response().clone();
    /// let _server = node.create_dynamic_service("add", &add, move |request: DynamicMessage| {
    ///     let sum = request.get::<i64>("a").unwrap_or(0) + request.get::<i64>("b").unwrap_or(0);
    ///     let mut answer = DynamicMessage::new(&response);
    ///     let _ = answer.set("sum", sum);
    ///     answer
    /// })?;
    /// let client = node.create_client::<AddTwoInts>("add")?;
    /// assert_eq!(ros.spin_until(client.call(AddTwoIntsRequest { a: 2, b: 3 }))??.sum, 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`On::create_dynamic_service`], and if the node's [`Ros`](crate::Ros) was dropped.
    #[doc(alias = "create_generic_service")]
    pub fn create_dynamic_service<F, Form>(
        &self,
        options: impl Into<ServiceOptions>,
        service_type: &ServiceType,
        callback: F,
    ) -> Result<Service, ServiceError>
    where
        F: Callback<OwnGroup, DynamicMessage, Value<DynamicMessage>, Form>,
    {
        self.on(self.own_group_for_source()?).create_dynamic_service(options, service_type, callback)
    }
}
