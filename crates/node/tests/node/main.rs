//! Nodes of one process: one program, because linking one takes longer than compiling most of these files. Tests that
//! install a logger are programs of their own.

mod actions;
mod blob;
mod callbacks;
mod clocks;
mod derive_parameters;
mod devices;
mod dynamic;
mod events;
mod hostile;
mod in_process;
mod introspection;
mod late_subscriptions;
mod lifecycle;
mod local_topics;
mod one_queue;
mod parameter_services;
mod parameters;
mod random;
mod room;
mod statistics;
mod type_descriptions;
mod wait_for_message;
mod way_in;
