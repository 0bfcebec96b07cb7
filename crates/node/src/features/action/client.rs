//! Action clients.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use rospin_engine::{Entity, EntityKind, GroupGone, GroupOptions, LossCause, SourceError};
use rospin_wire::Action;

use super::client_goal::ClientGoalHandle;
use super::departed::Departed;
use super::feedback::{Lost, Merged};
use super::id::GoalId;
use super::options::{ActionClientOptions, entity};
use super::parts::{FeedbackMessage, GetResult, SendGoal, SendGoalRequest, part};
use super::server::ActionError;
use super::servers::Servers;
use super::tracked::{Goals, Router};
use crate::client::Client;
use crate::error::CallError;
use crate::error::TopicError;
use crate::graph::{EndpointKind, Presence};
use crate::group::Group;
use crate::interfaces::action_msgs::{CancelGoal, CancelGoalRequest, CancelGoalResponse, GoalInfo, GoalStatusArray};
use crate::interfaces::builtin_interfaces::Time;
use crate::introspection::ServiceIntrospectionState;
use crate::link::{Attributed, Messages, Values};
use crate::matches::Matches;
use crate::message::Message;
use crate::names::TypeName;
use crate::node::Node;
use crate::on::On;
use crate::qos::{Durability, Qos};

/// Reasons for which a goal was not accepted.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendGoalError {
    /// The server rejected the goal.
    #[error("the server of action `{action}` rejected the goal; send one that it accepts, or send it later")]
    Rejected {
        /// Name of the action, as the client has it.
        action: String,
    },
    /// The call to the server failed: there is no server, the request was not sent, or there is no response.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// Reasons for which goals are not being canceled.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CancelError {
    /// None of the goals that the request means is canceling, because the server refused. Some servers answer with a
    /// code for that, others, such as those of rclpy, with an empty list of goals.
    #[error("the server of action `{action}` refuses to cancel; wait for the result")]
    Rejected {
        /// Name of the action, as the client has it.
        action: String,
    },
    /// The server does not know the goal, or has forgotten it.
    #[error("the server of action `{action}` does not know the goal; it was restarted, or the goal ended long ago")]
    Unknown {
        /// Name of the action, as the client has it.
        action: String,
    },
    /// The goal has ended already.
    #[error("the goal of action `{action}` has ended already; ask for its result")]
    Terminated {
        /// Name of the action, as the client has it.
        action: String,
    },
    /// The server answered with a code that `action_msgs/srv/CancelGoal` does not define.
    #[error("the server of action `{action}` answered with the unknown code {code}; it may be newer than this client")]
    Other {
        /// Name of the action, as the client has it.
        action: String,
        /// Return code of the response.
        code: i8,
    },
    /// The call to the server failed: there is no server, the request was not sent, or there is no response.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// Client that sends goals to an action server. Cheap to clone; clones are the same client. It ends when its last
/// clone, the last handle of its goals and the last future of a goal or a result are dropped.
///
/// ```
/// # use rospin::action::{Action, ActionClient, CancelResponse, GoalHandle, GoalResponse, GoalState};
/// # use rospin::{Context, ContextOptions, Ros};
/// # use serde::{Deserialize, Serialize};
/// # #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
/// # struct Count { number: u32 }
/// # enum CountTo {}
/// # impl Action for CountTo {
/// #     type Goal = Count;
/// #     type Result = Count;
/// #     type Feedback = Count;
/// #     const TYPE: &str = "test_interfaces/action/CountTo";
/// # }
/// # let context = Context::new(ContextOptions::new());
/// # let ros = Ros::in_process(&context);
/// # let node = ros.create_node("counter")?;
/// # let _server = node.create_action_server(
/// #     "count_to",
/// #     |_, _| GoalResponse::AcceptAndExecute,
/// #     |_, _| CancelResponse::Accept,
/// #     |goal: GoalHandle<CountTo>| async move {
/// #         let _ = goal.publish_feedback(Count { number: 1 });
/// #         goal.succeed(Count { number: 3 });
/// #     },
/// # )?;
/// let client = node.create_action_client::<CountTo>("count_to")?;
/// let counting = async {
///     client.wait_for_server().await;
///     let goal = client.send_goal(Count { number: 3 }).await?;
///     if let Some(mut feedback) = goal.take_feedback() {
///         while let Some(Count { number }) = feedback.next().await {
///             println!("{number}");
///         }
///     }
///     Ok::<_, Box<dyn std::error::Error>>(goal.result().await?)
/// };
/// // Awaited here; a callback can await it as well.
/// let outcome = ros.spin_until(counting)??;
/// assert_eq!((outcome.state, outcome.result), (GoalState::Succeeded, Count { number: 3 }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ActionClient<A: Action>(Arc<Inner<A>>);

struct Inner<A: Action> {
    action: String,
    send_goal: Client<SendGoal<A>>,
    cancel_goal: Client<CancelGoal>,
    get_result: Client<GetResult<A>>,
    goals: Goals<A::Feedback>,
    feedback_matches: Box<dyn Matches>,
    status_matches: Box<dyn Matches>,
    _presences: [Presence; 2],
    entity: Entity,
    _departed: Departed,
    _node: Node,
}

/// Subscription to a topic of an action: its messages, its matches, and its entry in the graph.
type Reading<M> = (Messages<PhantomData<M>>, Box<dyn Matches>, Presence);

impl Node {
    /// Creates an action client. A plain `&str` is the action's name.
    ///
    /// Feedback and status are an entity on the executor of the node's own group, in a group of their own. That group
    /// has the [name](ActionClientOptions::name) of the options, by default `action_client/` and the action's name: the
    /// feedback is `arm/action_client/fibonacci/feedback` in a deployment file. So a callback of any other group, the
    /// node's own included, can await a goal and its feedback while it holds its group, in every executor.
    /// [`On::create_action_client`] puts them on another group.
    ///
    /// # Errors
    /// If the action's or the type's name is invalid, the middleware refuses, or the node's [`Ros`](crate::Ros) was
    /// dropped.
    pub fn create_action_client<A: Action>(
        &self,
        options: impl Into<ActionClientOptions>,
    ) -> Result<ActionClient<A>, ActionError> {
        let mut options = options.into();
        let action = options.action.strip_prefix("~/").unwrap_or(&options.action).trim_start_matches('/');
        let name = options.name.clone().unwrap_or_else(|| format!("action_client/{action}"));
        if options.name.is_none() {
            options.name = Some(format!("{}/{name}", self.fully_qualified_name()));
        }
        let executor = self.own_executor();
        let executor = executor.ok_or_else(|| SourceError::from(GroupGone { group: name.clone() }))?;
        let group = executor.create_group(GroupOptions::new(name).node(self.fully_qualified_name()), ());
        self.on(&group).create_action_client(options)
    }
}

impl<G: Group> On<G> {
    /// Creates an action client whose feedback and status are an entity of this group. A plain `&str` is the action's
    /// name.
    ///
    /// A callback that awaits the feedback of a goal must not hold this group meanwhile: the feedback waits for the
    /// group, and the callback for the feedback. Goals and results can be awaited by every callback.
    ///
    /// # Errors
    /// If the action's or the type's name is invalid, the middleware refuses, or the group is gone.
    pub fn create_action_client<A: Action>(
        &self,
        options: impl Into<ActionClientOptions>,
    ) -> Result<ActionClient<A>, ActionError> {
        let node = self.node();
        let group = self.group();
        let ActionClientOptions { action, name, priority, feedback_depth } = options.into();
        let name = group.name_of(name.as_deref(), &action);
        let send_goal = node.create_client(part(&action, "send_goal").as_str())?;
        let cancel_goal = node.create_client(part(&action, "cancel_goal").as_str())?;
        let get_result = node.create_client(part(&action, "get_result").as_str())?;

        let common = entity(&name, "feedback", priority);
        let depth = |name: &str| group.deployed_depth(name);
        let (options, qos) = common.into_entity(format!("{name}/feedback"), Qos::keep_last(feedback_depth), depth);
        let (feedback, feedback_matches, reads_feedback) =
            read::<FeedbackMessage<A>>(node, &part(&action, "feedback"), qos, false)?;
        let latched = Qos { durability: Durability::TransientLocal, ..Qos::keep_last(1) };
        let topic = part(&action, "status");
        let (status, status_matches, reads_status) = read::<GoalStatusArray>(node, &topic, latched, true)?;
        let topic = node.resolve_topic(&topic).map_err(TopicError::from)?;
        let goals = Goals::new(Servers::new(Arc::clone(node.graph()), topic.to_string()));
        let lost = Lost::default();
        let depth = qos.depth().unwrap_or(feedback_depth);
        let router = Router::<A> { goals: goals.clone(), depth, lost: lost.clone() };
        let source = Merged::new(Values(feedback), Attributed(status), depth, lost);
        // On a reentrant group, too, one message is handled at a time: otherwise the order of feedback and status would
        // be lost.
        let kind = EntityKind::Subscription;
        let options = options.max_in_flight(1);
        let entity = group.create_inner(kind, options, source, move |news| router.deliver(news))?;
        let departed = Departed::watch(node, group, topic.as_str(), &name, priority, &goals)?;
        Ok(ActionClient(Arc::new(Inner {
            action,
            send_goal,
            cancel_goal,
            get_result,
            goals,
            feedback_matches,
            status_matches,
            _presences: [reads_feedback, reads_status],
            entity,
            _departed: departed,
            _node: node.clone(),
        })))
    }
}

/// Subscribes to a topic of an action. With `with_origins`, the publishers of its messages are known.
fn read<M: Message>(node: &Node, topic: &str, qos: Qos, with_origins: bool) -> Result<Reading<M>, TopicError> {
    qos.check_depth(topic)?;
    let name = node.resolve_topic(topic)?;
    let message_type = TypeName::of_message::<M>()?;
    let created = node.link().create_subscription(&name, &message_type, &qos, PhantomData, with_origins);
    let (messages, matches, _) = created.map_err(|reason| TopicError::Refused { topic: topic.to_owned(), reason })?;
    Ok((messages, matches, node.enter(EndpointKind::Subscription, &name, &message_type, &qos)))
}

impl<A: Action> ActionClient<A> {
    /// Returns the action's name as it was given.
    #[must_use]
    pub fn action(&self) -> &str {
        &self.0.action
    }

    /// Sends a goal at once. The future resolves when the server has accepted or rejected it, and can be awaited
    /// anywhere, also inside callbacks.
    ///
    /// If the goal is encoded, that happens on the calling thread. Allocates, and locks for a moment. Does not wait for
    /// the server, but may wait for room on a connection, as [`Client::call`] does.
    ///
    /// Cancel safe: a future that is dropped early loses the answer and the handle. The goal is sent in any case, and
    /// is not canceled.
    ///
    /// # Errors
    /// If the server rejects the goal, or the call fails. Use a [timeout](Node::timeout): not every middleware reports
    /// that a server is gone.
    #[doc(alias = "send_goal_async")]
    #[doc(alias = "async_send_goal")]
    pub fn send_goal(
        &self,
        goal: A::Goal,
    ) -> impl Future<Output = Result<ClientGoalHandle<A>, SendGoalError>> + Send + use<A> {
        let id = GoalId::random();
        let tracked = self.0.goals.track(id);
        let call = self.0.send_goal.call(SendGoalRequest { goal_id: id.into(), goal });
        let client = self.clone();
        async move {
            let response = call.await?;
            if !response.accepted {
                return Err(SendGoalError::Rejected { action: client.action().to_owned() });
            }
            Ok(ClientGoalHandle::new(client, tracked, response.stamp))
        }
    }

    /// Asks the server to cancel all goals of all clients. The future resolves to the goals that are canceling now:
    /// none if no goal was active that was not canceling already.
    ///
    /// A server of rclpy answers in the same way if it refuses all goals and if there are none. The client then takes
    /// the server's last status, and what it knows of its own goals, to tell these cases apart.
    ///
    /// Sends the request at once. Allocates, and locks for a moment. May wait for room on a connection, as
    /// [`Client::call`] does.
    ///
    /// Cancel safe: a future that is dropped early loses the answer. The request is sent in any case.
    ///
    /// # Errors
    /// If there are such goals and none of them is canceling now, because the server refused or they have just ended,
    /// or if the call fails.
    pub fn cancel_all(&self) -> impl Future<Output = Result<Vec<GoalId>, CancelError>> + Send + use<A> {
        self.cancel(GoalInfo::default())
    }

    /// Asks the server to cancel the goals of all clients that it accepted at that ROS time or before, see
    /// [`cancel_all`](Self::cancel_all). A time of zero means all goals.
    ///
    /// Cancel safe: a future that is dropped early loses the answer. The request is sent in any case.
    ///
    /// # Errors
    /// If there are such goals and none of them is canceling now, because the server refused or they have just ended,
    /// or if the call fails.
    pub fn cancel_accepted_until(
        &self,
        stamp: Time,
    ) -> impl Future<Output = Result<Vec<GoalId>, CancelError>> + Send + use<A> {
        self.cancel(GoalInfo { stamp, ..GoalInfo::default() })
    }

    /// Sends a request to cancel. The server decides which goals the request means.
    pub(crate) fn cancel(
        &self,
        goal_info: GoalInfo,
    ) -> impl Future<Output = Result<Vec<GoalId>, CancelError>> + Send + use<A> {
        let call = self.0.cancel_goal.call(CancelGoalRequest { goal_info });
        let action = self.0.action.clone();
        let goals = self.0.goals.clone();
        let asked = GoalId::from(goal_info.goal_id);
        let until = goal_info.stamp;
        async move {
            let CancelGoalResponse { return_code, goals_canceling } = call.await?;
            match return_code {
                CancelGoalResponse::ERROR_NONE => {
                    let canceling: Vec<GoalId> = goals_canceling.iter().map(|goal| goal.goal_id.into()).collect();
                    goals.begin_to_cancel(&canceling);
                    let is_refused = match asked {
                        GoalId::ZERO => canceling.is_empty() && goals.can_cancel(until),
                        one => !canceling.contains(&one),
                    };
                    if is_refused { Err(CancelError::Rejected { action }) } else { Ok(canceling) }
                }
                // Servers of rclcpp and rclpy answer so if the goal is canceling already.
                CancelGoalResponse::ERROR_GOAL_TERMINATED if goals.is_canceling(asked) => Ok(vec![asked]),
                CancelGoalResponse::ERROR_REJECTED => Err(CancelError::Rejected { action }),
                CancelGoalResponse::ERROR_UNKNOWN_GOAL_ID => Err(CancelError::Unknown { action }),
                CancelGoalResponse::ERROR_GOAL_TERMINATED => Err(CancelError::Terminated { action }),
                code => Err(CancelError::Other { action, code }),
            }
        }
    }

    pub(crate) fn servers(&self) -> &Servers {
        self.0.goals.servers()
    }

    pub(crate) fn result_client(&self) -> &Client<GetResult<A>> {
        &self.0.get_result
    }

    /// Publishes this client's calls of the action's three services on the topics `_service_event` below their names, see
    /// [`Client::configure_introspection`](crate::Client::configure_introspection).
    ///
    /// ```
    /// use rospin::action::{CancelResponse, GoalHandle, GoalResponse};
    /// use rospin::dynamic::DynamicMessage;
    /// use rospin::monitoring::ServiceIntrospectionState;
    /// use rospin::msgs::example_interfaces::action::{Fibonacci, FibonacciGoal, FibonacciResult};
    /// use rospin::{Context, ContextOptions, Qos, Ros, SpinOptions};
    ///
    /// let ros = Ros::in_process(&Context::new(ContextOptions::new()));
    /// let node = ros.create_node("counter")?;
    /// let _server = node.create_action_server(
    ///     "fibonacci",
    ///     |_, _: &FibonacciGoal| GoalResponse::AcceptAndExecute,
    ///     |_, _| CancelResponse::Accept,
    ///     async |goal: GoalHandle<Fibonacci>| goal.succeed(FibonacciResult { sequence: vec![0, 1] }),
    /// )?;
    /// let client = node.create_action_client::<Fibonacci>("fibonacci")?;
    /// client.configure_introspection(Qos::default(), ServiceIntrospectionState::Contents)?;
    ///
    /// let topic = "fibonacci/_action/send_goal/_service_event";
    /// let event = ros.spin_until(node.message_type_of(&ros.executor().handle(), topic))??;
    /// let seen = node.create_group("seen", Vec::new())?;
    /// let _subscription =
    ///     seen.create_dynamic_subscription(topic, &event, |seen: &mut Vec<DynamicMessage>, event: DynamicMessage| {
    ///         seen.push(event);
    ///     })?;
    /// let goal = ros.spin_until(client.send_goal(FibonacciGoal { order: 2 }))??;
    /// ros.spin_until(goal.result())??;
    /// ros.executor().spin(SpinOptions::spin_all())?;
    /// assert_eq!(seen.into_payload().unwrap()[0].get::<i32>("request[0].goal.order")?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the middleware refuses a publisher. The publishers before it are there then.
    pub fn configure_introspection(&self, qos: Qos, state: ServiceIntrospectionState) -> Result<(), TopicError> {
        let inner = &*self.0;
        inner.send_goal.configure_introspection(qos, state)?;
        inner.cancel_goal.configure_introspection(qos, state)?;
        inner.get_result.configure_introspection(qos, state)
    }

    /// Returns true if each of the action's five parts (three services, two topics) is matched with a server's, as far
    /// as discovery knows at this moment.
    #[must_use]
    pub fn server_is_ready(&self) -> bool {
        let inner = &*self.0;
        inner.send_goal.service_is_ready()
            && inner.cancel_goal.service_is_ready()
            && inner.get_result.service_is_ready()
            && inner.feedback_matches.count() > 0
            && inner.status_matches.count() > 0
    }

    /// Returns a future that resolves once each of the action's five parts is matched, see
    /// [`server_is_ready`](Self::server_is_ready).
    ///
    /// Cancel safe: a future that is dropped early has no effect.
    pub fn wait_for_server(&self) -> impl Future<Output = ()> + Send + use<A> {
        let client = self.clone();
        async move {
            // Another part may disappear while this one is waited for.
            while !client.server_is_ready() {
                let inner = &*client.0;
                inner.send_goal.wait_for_service().await;
                inner.cancel_goal.wait_for_service().await;
                inner.get_result.wait_for_service().await;
                inner.feedback_matches.wait().await;
                inner.status_matches.wait().await;
            }
        }
    }

    /// Returns the number of messages that were lost for that cause. [`QueueFull`](LossCause::QueueFull) counts
    /// feedback and status that the middleware lost, or that newer messages displaced before the executor took them,
    /// whatever goal they were for. It also counts feedback that newer feedback displaced from a
    /// [`FeedbackStream`](super::FeedbackStream).
    #[must_use]
    pub fn lost(&self, cause: LossCause) -> u64 {
        self.0.entity.lost(cause)
    }

    /// Returns the number of deliveries of feedback and status that ended after their deadlines: the one that the
    /// options or a deployment file set. They are counted under every policy.
    #[must_use]
    pub fn missed_deadlines(&self) -> u64 {
        self.0.entity.missed_deadlines()
    }
}

impl<A: Action> Clone for ActionClient<A> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<A: Action> fmt::Debug for ActionClient<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActionClient").field("action", &self.action()).finish_non_exhaustive()
    }
}
