//! Commands of `rospin`, run as users run them: one program, because linking one takes longer than compiling most of
//! these files.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/pages.rs"]
mod pages;

mod analyze;
mod analyze_acts;
mod broken;
mod browser;
mod demo;
mod launch;
mod lttng;
mod program;
mod replay;
mod scenarios;
mod theorems;
mod top;
mod trace_model;
mod web;
