//! Commands of `rospin`, run as users run them: one program, because linking one takes longer than compiling most of
//! these files.

#[path = "../common/mod.rs"]
mod common;

mod analyze;
mod analyze_acts;
mod broken;
mod latency;
mod lttng;
mod replay;
mod scenarios;
mod trace_model;
