//! Sessions that meet over the loopback interface: one program, because linking one takes longer than compiling most of
//! these files. Tests that install a logger or need networks of their own are programs of their own.

#[path = "../common/mod.rs"]
mod common;
mod discovery;
mod gone;
mod graph;
mod killed;
mod malformed;
mod python;
mod restart;
mod ros2_client;
mod router;
mod services;
mod topics;
