//! The conformance suite: the required behaviour of every middleware of [`rospin_node`], written from its
//! documentation.
//!
//! A middleware's tests implement [`Fixture`] and call [`conformance!`](macro@crate::conformance), which makes a
//! `#[test]` of every case. Cases wait for events, with patience. To show that nothing happened, a case sends
//! something later and waits for that. No case sleeps for luck. No case assumes that a sent message has arrived,
//! because not every middleware delivers only to subscriptions that existed when it was sent.
//!
//! A case is a public function, generic over the fixture, in the file of its subject, and is entered in the list at the
//! end of this file. Its name is the rule.

mod acting;
pub mod actions;
pub mod callbacks;
pub mod contract;
pub mod depth;
pub mod devices;
pub mod dynamic;
pub mod events;
mod fixture;
pub mod graph;
pub mod info;
pub mod introspection;
pub mod matching;
pub mod messages;
pub mod order;
pub mod parameters;
pub mod removal;
pub mod seen;
pub mod serialized;
pub mod services;
pub mod sim_time;
pub mod times;
pub mod world;

pub use fixture::{Fixture, run};

/// Makes a test of every case, for the middleware of that [`Fixture`]. The tests are in modules that are called as the
/// files of the cases.
///
/// ```ignore
/// mod in_one_process {
///     rospin_testkit::conformance!(super::Loopback);
/// }
/// ```
#[macro_export]
macro_rules! conformance {
    ($fixture:ty) => {
        $crate::conformance! {
            @cases $fixture;
            order {
                reliable_messages_come_complete_and_in_order
                messages_kept_without_limit_are_heard_completely
                each_publisher_keeps_its_order
                every_subscription_hears_everything
                those_here_and_those_elsewhere_hear_everything_once
                a_callback_publishes_to_its_own_topic
                two_nodes_answer_each_other_from_inside_callbacks
                names_meet_as_ros_resolves_them
                large_and_empty_messages_come_as_they_were
                best_effort_ends_talk
                a_best_effort_subscription_hears_a_reliable_publisher
            }
            depth {
                the_newest_are_kept_and_the_rest_is_counted
                far_behind_nothing_is_lost_uncounted
                nothing_kept_without_limit_is_lost_uncounted
                what_has_no_room_is_returned
                the_deployment_file_says_the_depth
                a_late_subscription_hears_only_what_follows
                a_successor_hears_only_what_follows
                a_successor_hears_nothing_that_was_left
                a_late_subscription_hears_what_was_latched
                no_more_is_latched_than_the_depth_says
                latched_messages_are_there_for_everyone
                latched_messages_are_only_for_those_that_ask
            }
            devices {
                bytes_on_a_device_are_copied_once_and_heard_everywhere
            }
            contract {
                nothing_runs_before_spin_or_after_it
                spin_once_runs_one_callback
                halt_while_messages_pour_in
                a_callback_halts_its_executor
                an_executor_is_dropped_while_another_thread_publishes
                one_executor_blocks_and_the_other_goes_on
                each_message_runs_one_callback_over_many_spins
            }
            removal {
                a_subscription_is_dropped_while_its_callback_runs
                a_subscription_is_dropped_while_messages_wait
                a_subscription_is_dropped_by_its_own_callback
                a_publisher_is_dropped_with_messages_on_their_way
                entities_outlive_the_handle_of_their_node
                a_group_is_removed_while_messages_wait
                subscriptions_come_and_go_while_messages_pour_in
                bytes_outlive_the_network_that_they_came_through
            }
            info {
                a_message_tells_when_it_was_sent_and_received
                a_message_tells_its_publisher_and_its_number
                a_message_that_was_kept_tells_when_it_was_sent
                callbacks_of_every_form_can_ask
            }
            matching {
                counts_follow_who_comes_and_goes
                a_waiter_for_the_other_end_is_told
                other_topics_do_not_match
                nobody_need_listen
            }
            events {
                matches_are_told
                a_dropped_event_callback_is_not_told
                incompatible_ends_are_told
                lost_messages_are_told
            }
            times {
                missed_deadlines_are_told
                deadlines_that_were_missed_before_are_told
                times_that_do_not_fit_are_told
                expired_messages_are_not_heard
                expired_messages_are_not_kept
                publishers_are_alive_while_they_exist
                a_silent_publisher_is_not_alive
                a_publisher_that_asserts_to_be_alive_is_alive
                times_are_in_the_graph
            }
            graph {
                nodes_see_each_other_and_what_they_have
                changes_are_a_callback
                a_waiter_for_a_change_is_told
                a_shared_name_is_there_until_its_last_node_goes
            }
            callbacks {
                asynchronous_callbacks_hold_their_group
                a_group_can_be_released_at_await
                reentrant_callbacks_run_at_once
                reentrant_asynchronous_callbacks_are_under_way_at_once
                exclusive_callbacks_never_overlap
                a_panic_is_reported_and_the_next_message_is_heard
                a_panic_removes_the_subscription_where_its_group_says_so
                a_panic_halts_the_executor_where_its_group_says_so
            }
            services {
                a_service_answers
                without_a_server_a_call_is_refused
                a_waiter_for_a_service_is_told
                a_call_is_awaited_inside_a_callback
                a_server_asks_another_service
                clients_get_their_own_answers
                many_calls_are_under_way
                requests_beyond_the_depth_are_counted
                asynchronous_and_reentrant_servers_answer
                a_panic_of_a_server_costs_one_call
                a_server_is_dropped_with_a_call_under_way
                a_client_is_dropped_with_a_call_under_way
                a_call_is_given_up
                calls_wait_for_an_executor_that_was_halted
            }
            introspection {
                a_call_is_told_by_both_ends
                requests_without_a_server_are_not_told
                contents_are_told_only_if_asked_for
                each_end_tells_its_own_events
                dynamic_ends_tell_their_calls
                goals_are_told_by_both_ends
            }
            sim_time {
                timers_follow_the_clock
                a_pause_stops_the_timers
                a_jump_forward_is_dealt_with_as_the_timer_says
                a_jump_back_tells_its_callbacks_before_time_moves
                sleeps_follow_the_clock
                time_stands_still_when_nobody_follows
            }
            dynamic {
                every_kind_of_field_comes_as_it_was
                dynamic_and_typed_ends_hear_each_other
                dynamic_subscriptions_are_of_any_group
                dynamic_messages_beyond_the_depth_are_counted
                messages_of_another_type_than_the_dynamic_one_are_counted
                dynamic_and_typed_ends_call_each_other
                a_type_is_learned_from_who_publishes_it
                dynamic_ends_meet_types_without_a_hash
                a_node_that_does_not_tell_a_type_is_named
            }
            serialized {
                serialized_and_typed_ends_hear_each_other
                serialized_messages_are_latched
                messages_of_another_type_are_lost_and_counted
            }
            actions {
                without_a_server_no_goal_is_sent
                goals_are_accepted_or_rejected
                feedback_comes_in_order_and_then_the_result
                a_goal_is_canceled_while_it_executes_on_one_thread
                a_server_refuses_to_cancel
                a_goal_that_has_ended_is_not_canceled
                clients_hear_their_own_feedback_only
                results_are_kept_after_the_end
                results_are_forgotten_in_time
                a_panic_of_an_execution_aborts_its_goal
                a_server_is_dropped_while_a_goal_executes
                a_client_is_dropped_with_goals_under_way
                a_callback_awaits_an_action_of_its_own_executor
            }
            parameters {
                another_node_reads_lists_and_describes
                another_node_sets_one_by_one
                values_that_do_not_fit_are_refused
                all_are_set_or_none
                changes_are_heard_in_their_order
                a_callback_sets_a_parameter_of_its_own_executor
                parameters_end_with_their_server
                use_sim_time_is_switched_on_and_off_by_another_node
            }
        }
    };
    (@cases $fixture:ty; $($topic:ident { $($case:ident)* })*) => {
        $($crate::conformance!(@topic $fixture; $topic $($case)*);)*
    };
    (@topic $fixture:ty; $topic:ident $($case:ident)*) => {
        mod $topic {
            $(
                #[test]
                fn $case() {
                    $crate::conformance::run::<$fixture>(stringify!($case), $crate::conformance::$topic::$case::<$fixture>);
                }
            )*
        }
    };
}
