//! The engine's tests that can share a process, in one program instead of one for each file.
//!
//! Tests that fork, count allocations, look at the threads of their process or need another build have programs of
//! their own.

#[path = "../common/mod.rs"]
mod common;

mod asked_again;
mod async_callbacks;
mod calls;
mod churn;
mod companions;
mod descriptors;
mod destructors;
mod examples;
mod foreign_code;
mod groups;
mod held_up;
mod inheritance;
mod jump_barriers;
mod jumps;
mod known_order;
mod limits;
mod losses;
mod missed_deadlines;
mod mixed_topics;
mod next_item;
mod own_policies;
mod panics;
mod prefetching;
mod priorities;
mod publishing;
mod rates;
mod rclcpp_order;
mod recording;
mod recycled;
mod releases;
mod removal;
mod ros_time;
mod ros_time_awake;
mod services;
mod set_back;
mod several_threads;
mod sleeps;
mod sleeps_on_ros_time;
mod sources;
mod spin_contract;
mod spin_ends;
mod streams;
mod stress_engine;
mod timer_handles;
mod timers;
mod tokio_callbacks;
mod topics;
mod trace;
mod wakers;
